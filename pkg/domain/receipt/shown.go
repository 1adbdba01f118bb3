package receipt

import (
	"context"

	"github.com/shopspring/decimal"

	"svc/pkg/access/authz"
	"svc/pkg/base/money"
	"svc/pkg/data/table"
	"svc/pkg/domain/external"
	"svc/pkg/domain/trip"
	"svc/pkg/edge/api"
)

// Shown is a receipt as the API shows it. Amounts are in units of Currency.
type Shown struct {
	ID            string            `json:"id" doc:"Identifier of the receipt."`
	TripID        string            `json:"tripId" doc:"The trip."`
	TripCode      string            `json:"tripCode" example:"7K3M9QXZ" doc:"The trip's short code."`
	Version       int               `json:"version" doc:"1 for the first receipt of the trip. Each correction of the fare adds one."`
	IssuedAt      string            `json:"issuedAt" format:"date-time" doc:"When this version was issued."`
	CompletedAt   *string           `json:"completedAt" format:"date-time" doc:"When the ride ended, or was cancelled."`
	OriginAddress string            `json:"originAddress" example:"12 Harbour Street" doc:"Where the ride began."`
	DestAddress   *string           `json:"destAddress" doc:"Where the ride ended."`
	Currency      string            `json:"currency" example:"USD" doc:"ISO 4217 code."`
	Total         *money.Amount     `json:"total" nullable:"true" doc:"The final fare, or the cancellation fee; null if the trip has none. It is the sum of the lines."`
	Lines         []Portion         `json:"lines" doc:"What the total consists of."`
	Tax           api.Nullable[Tax] `json:"tax" doc:"The tax in the total; null if the company had no tax rate."`
	Payment       Payment           `json:"payment" doc:"How the rider paid."`
	Driver        api.Nullable[Pay] `json:"driver" doc:"What the driver got. null for riders."`
	Corrections   []Change          `json:"corrections" maxItems:"100" doc:"The corrections of the fare, oldest first: the last 100."`
	external.Members
}

// Portion is a part of the total.
type Portion struct {
	Type        string       `json:"type" enum:"FARE,CANCELLATION_FEE,TAX" doc:"What it is."`
	Description string       `json:"description" example:"Ride" doc:"What it is, in words."`
	Amount      money.Amount `json:"amount" doc:"Currency units."`
}

// Tax is the tax in a total.
type Tax struct {
	Rate   money.Amount `json:"rate" example:"0.08875" doc:"Share of the total that is tax: the company's taxRate when the trip was settled."`
	Amount money.Amount `json:"amount" doc:"The tax, rounded half to even."`
	Net    money.Amount `json:"net" doc:"The total without the tax."`
}

// Payment says how a rider paid.
type Payment struct {
	Type     string       `json:"type" enum:"CASH,CARD,WALLET" doc:"How the rider paid."`
	Refunded money.Amount `json:"refunded" doc:"Sum of the refunds to the rider's wallet."`
}

// Pay is what a driver got for a trip.
type Pay struct {
	Commission *money.Amount `json:"commission" nullable:"true" doc:"What the company kept; null if no rate is known."`
	Amount     *money.Amount `json:"amount" nullable:"true" doc:"What was posted to the driver's wallet; null without a driver. Negative for a cash fare, because the driver holds the money."`
}

// mostCorrections is how many corrections a receipt shows.
const mostCorrections = 100

// Change is a correction of a fare.
type Change struct {
	Version int           `json:"version" doc:"Version of the receipt that it issued."`
	At      string        `json:"at" format:"date-time" doc:"When it was made."`
	Reason  string        `json:"reason" doc:"Why."`
	Was     *money.Amount `json:"was" nullable:"true" doc:"The total before."`
	Total   *money.Amount `json:"total" nullable:"true" doc:"The total after."`
}

// shownTo returns the receipt for an audience. earlier are the versions before it.
func shownTo(it table.Item, tr trip.Trip, earlier []Receipt, a authz.Audience) (*Shown, error) {
	r, err := FromItem(it)
	if err != nil {
		return nil, err
	}
	out := &Shown{ID: r.ID, TripID: r.TripID, TripCode: r.TripCode, Version: r.Version, IssuedAt: r.IssuedAt,
		CompletedAt: r.CompletedAt, OriginAddress: tr.OriginAddress, DestAddress: tr.DestAddress, Currency: r.Currency,
		Total: r.Total, Lines: []Portion{}, Corrections: []Change{},
		Payment: Payment{Type: r.PaymentType, Refunded: it.Number(refunded)}}
	if out.Payment.Type == "" {
		out.Payment.Type = "CASH" // as settlement counts it
	}
	if a == authz.Dashboard {
		out.Members = tr.Members
	}
	if a != authz.Rider {
		out.Driver.Value = &Pay{r.Commission, r.DriverAmount}
	}
	for _, v := range append(earlier, r) {
		if c := v.Correction; c != nil {
			out.Corrections = append(out.Corrections, Change{v.Version, v.IssuedAt, c.Reason, c.Was, v.Total})
		}
	}
	if r.Total != nil {
		first := Portion{Type: "FARE", Description: "Ride"}
		if tr.Owes() {
			first = Portion{Type: "CANCELLATION_FEE", Description: "Cancellation fee"}
		}
		out.lines(first, r.Total.Decimal(), r.TaxRate)
	}
	return out, nil
}

// lines splits the total, so that the lines add up to it whatever was rounded. The
// tax is a part of the total.
func (s *Shown) lines(first Portion, total decimal.Decimal, rate *money.Amount) {
	net := total
	if rate != nil {
		tax := money.Commission(total, rate.Decimal(), s.Currency)
		net = total.Sub(tax)
		s.Tax.Value = &Tax{*rate, money.Of(tax), money.Of(net)}
	}
	first.Amount = money.Of(net)
	s.Lines = append(s.Lines, first)
	if t := s.Tax.Value; t != nil {
		percent := t.Rate.Decimal().Shift(2)
		s.Lines = append(s.Lines, Portion{"TAX", "Tax, " + percent.String() + " % of the total", t.Amount})
	}
}

// Show reads the receipt of a trip. it and r are the items of the trip and of its
// receipt. Errors: a 409 if the trip has no receipt or is not settled yet.
func Show(ctx context.Context, t table.Tenant, it, r table.Item, a authz.Audience) (*Shown, error) {
	tr, err := trip.FromItem(it)
	if err != nil {
		return nil, err
	}
	if !r.Found() {
		return nil, unsettled(tr)
	}
	newest, err := FromItem(r)
	if err != nil {
		return nil, err
	}
	var before []Receipt
	if newest.Version > 1 {
		// The newest version is a correction too.
		q := table.Query{Prefix: earlier, Backward: true, Limit: mostCorrections - 1, Consistent: true}
		page, err := t.Query(ctx, it.PK, q)
		if err != nil {
			return nil, err
		}
		for _, one := range page.Items { // newest first
			v, err := FromItem(one)
			if err != nil {
				return nil, err
			}
			before = append([]Receipt{v}, before...)
		}
	}
	return shownTo(r, tr, before, a)
}
