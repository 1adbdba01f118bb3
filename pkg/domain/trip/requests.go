package trip

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/estimate"
	"svc/pkg/domain/settings"
)

// Ride is a rider's request for a ride (specification, "POST /api/v1/me/trips").
type Ride struct {
	OriginAddress string       `json:"originAddress" minLength:"1" maxLength:"300" example:"12 Harbour Street" doc:"Where the ride begins."`
	OriginLat     json.Number  `json:"originLat" minimum:"-90" maximum:"90" example:"40.7128" doc:"Latitude of the origin in degrees. Rounded to nine decimals."`
	OriginLng     json.Number  `json:"originLng" minimum:"-180" maximum:"180" example:"-74.006" doc:"Longitude of the origin in degrees. Rounded to nine decimals."`
	DestAddress   *string      `json:"destAddress,omitempty" maxLength:"300" example:"1 Station Square" doc:"Where the ride ends."`
	DestLat       *json.Number `json:"destLat,omitempty" minimum:"-90" maximum:"90" example:"40.7306" doc:"Latitude of the destination in degrees. Rounded to nine decimals."`
	DestLng       *json.Number `json:"destLng,omitempty" minimum:"-180" maximum:"180" example:"-73.9866" doc:"Longitude of the destination in degrees. Rounded to nine decimals."`
	ServiceTypeID *string      `json:"serviceTypeId,omitempty" maxLength:"100" doc:"An active service type of the tenant. Without one no commission is known, and the driver's wallet is credited 0."`
	PaymentType   string       `json:"paymentType,omitempty" enum:"CASH,CARD,WALLET" default:"CASH" doc:"How the rider pays."`
	Notes         *string      `json:"notes,omitempty" maxLength:"1000" doc:"The rider's words to the driver."`
	EstimateID    *string      `json:"estimateId,omitempty" maxLength:"100" doc:"An estimate of this journey, of POST /api/v1/me/estimates. Its fare becomes the estimated fare, and its service type that of the ride. An extension of the specification."`
}

// Terms has what a tenant offers to a rider who requests a ride.
type Terms struct {
	Currency string
	Service  table.Item // the service type that the ride names; not Found if there is none
	Settings settings.Document
	MaxFare  money.Amount  // the tenant's largest fare; "" for money.DefaultMaxFare
	Fare     *money.Amount // the fare of the ride's estimate; nil without an estimate
}

// New converts a request for a ride to a trip of the rider: pending, not yet dispatched,
// and without a fare unless an estimate gives one. Errors: a 400 with every fault, or a
// 409 for a payment type that the company does not accept.
func (r Ride) New(rider string, terms Terms, now time.Time) (Trip, error) {
	var wrong fault.Faults
	service := terms.Service
	coordinate := func(field string, n json.Number, limit int64) json.Number {
		wrong.Unless(money.Within(&n, limit), "body."+field, "expected degrees")
		return n
	}
	optional := func(field string, n *json.Number, limit int64) *json.Number {
		if n == nil {
			return nil
		}
		exact := coordinate(field, *n, limit)
		return &exact
	}
	at := timestamp.Format(now)
	t := Trip{ID: ids.New(ids.Trip, now), TripCode: ids.Code(), Status: Pending, CustomerID: rider, Version: 1,
		OriginAddress: r.OriginAddress, OriginLat: coordinate("originLat", r.OriginLat, 90),
		OriginLng:   coordinate("originLng", r.OriginLng, 180),
		DestAddress: r.DestAddress, DestLat: optional("destLat", r.DestLat, 90), DestLng: optional("destLng", r.DestLng, 180),
		ServiceTypeID: r.ServiceTypeID, PaymentType: r.PaymentType, Notes: r.Notes, Currency: terms.Currency, RequestedAt: at,
		UpdatedAt: at, EstimatedFare: terms.Fare}
	if t.PaymentType == "" {
		t.PaymentType = "CASH"
	}
	t.CancellationFee, t.NoShowFee = terms.cancellationFee(), terms.noShowFee()
	t.Dispatched = terms.Settings.Dispatch.Mode != settings.Manual
	if r.ServiceTypeID != nil {
		wrong.Unless(service.Found() && service.Flag("active"), "body.serviceTypeId",
			"expected an active service type of this tenant")
		if service.Has("commissionRate") {
			rate := service.Number("commissionRate")
			t.CommissionRate = &rate
		}
		if s, err := settings.ServiceKind.FromItem(service); err == nil {
			t.Prices = estimate.PricesOf(s.ServiceType, terms.Settings.Pricing).Snapshot()
		}
	}
	if err := wrong.Err(); err != nil {
		return t, err
	}
	return t, payable(t.PaymentType, terms.Settings.Payments)
}

// cancellationFee returns the fee that the rider would owe for a cancellation; nil for
// none.
func (terms Terms) cancellationFee() *money.Amount {
	fee := terms.fee(terms.Settings.Pricing.CancellationFee)
	if fee == nil || *fee == "0" || !terms.Settings.Pricing.ChargeCancellation {
		return nil
	}
	return fee
}

// fee returns a fee of the settings, rounded to the currency's decimals and at most the
// company's largest fare, because builds up to 2026-11 stored any amount. It returns nil
// for a negative fee.
func (terms Terms) fee(n money.Amount) *money.Amount {
	fee := n.Decimal()
	if fee.IsNegative() {
		return nil
	}
	return money.Ptr(decimal.Min(money.Commission(fee, decimal.NewFromInt(1), terms.Currency),
		money.MaxFare(terms.MaxFare, terms.Currency).Decimal()))
}

// payable returns a 409 if the company does not accept the payment type kind.
func payable(kind string, p settings.Payments) error {
	if map[string]bool{"CASH": p.Cash, "CARD": p.Card, "WALLET": p.Wallet}[kind] {
		return nil
	}
	var taken []string
	for _, one := range []struct {
		kind string
		on   bool
	}{{"CASH", p.Cash}, {"CARD", p.Card}, {"WALLET", p.Wallet}} {
		if one.on {
			taken = append(taken, one.kind)
		}
	}
	return &fault.Error{Kind: fault.KindPaymentType, Message: fmt.Sprintf("The company does not take %s. It takes: %s.",
		kind, cmp.Or(strings.Join(taken, ", "), "no payment at the moment"))}
}

// Reason is the request body of a cancellation, or of taking a trip from its driver.
type Reason struct {
	Reason *string `json:"reason,omitempty" maxLength:"1000" example:"Plans changed" doc:"Why the trip is cancelled, or taken from its driver."`
}

// Measurements is the request body of a completion.
type Measurements struct {
	FinalFare      *money.Amount `json:"finalFare,omitempty" minimum:"0" maximum:"1000000000000" example:"18.5" doc:"The final fare in currency units, with no more decimals than the currency has, and at most the company's largest fare. Without it the fare follows from the prices of the service type and the measured values, else it is the estimated fare."`
	ActualDistance *money.Amount `json:"actualDistance,omitempty" minimum:"0" maximum:"1000000000" example:"6.4" doc:"Kilometres."`
	ActualDuration *money.Amount `json:"actualDuration,omitempty" minimum:"0" maximum:"1000000000" example:"1260" doc:"Seconds."`
}

// largest is the maximum measured distance (kilometres) or duration (seconds).
var largest = decimal.New(1, 9)

// AcceptFare checks a final fare that a client sends, and returns it in its stored form.
// maxFare is the tenant's largest fare; "" means money.DefaultMaxFare. The limit catches
// a mistyped zero. The text of an error is safe to show.
func AcceptFare(n money.Amount, currency string, maxFare money.Amount) (money.Amount, error) {
	fare, err := money.Accept(n, currency)
	if err != nil {
		return "", err
	}
	if most := money.MaxFare(maxFare, currency).Decimal(); fare.GreaterThan(most) {
		return "", fmt.Errorf("expected at most %s, the company's largest fare", most)
	}
	return money.Of(fare), nil
}

// Measured decodes the body of a completion without rounding errors. maxFare is the
// tenant's largest fare; "" means money.DefaultMaxFare. Errors: a 400 with every fault.
func (m Measurements) Measured(currency string, maxFare money.Amount) (Measured, error) {
	var wrong fault.Faults
	out := Measured{Largest: money.MaxFare(maxFare, currency)}
	if m.FinalFare != nil {
		if fare, err := AcceptFare(*m.FinalFare, currency, maxFare); err != nil {
			wrong.Add("body.finalFare", err.Error())
		} else {
			out.FinalFare = &fare
		}
	}
	measure := func(field string, n *money.Amount) *money.Amount {
		if n == nil {
			return nil
		}
		d := n.Decimal()
		if d.IsNegative() || d.GreaterThan(largest) {
			wrong.Add("body."+field, "expected a number from 0 to "+largest.String())
			return nil
		}
		return money.Ptr(d)
	}
	out.Distance, out.Duration = measure("actualDistance", m.ActualDistance), measure("actualDuration", m.ActualDuration)
	return out, wrong.Err()
}
