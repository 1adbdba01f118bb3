// Package estimate owns what a ride would cost: the fares of one journey for each
// service type, valid for five minutes. A ride that names an estimate gets its
// fare. The package must not know trips.
package estimate

import (
	"encoding/json"
	"strings"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/fare"
	"svc/pkg/domain/settings"
)

// valid is how long a rider may use an estimate.
const valid = 5 * time.Minute

// Journey is where a ride begins and ends, in degrees.
type Journey struct {
	OriginLat json.Number `json:"originLat" minimum:"-90" maximum:"90" example:"40.7128" doc:"Latitude of the origin in degrees. Rounded to nine decimals."`
	OriginLng json.Number `json:"originLng" minimum:"-180" maximum:"180" example:"-74.006" doc:"Longitude of the origin in degrees. Rounded to nine decimals."`
	DestLat   json.Number `json:"destLat" minimum:"-90" maximum:"90" example:"40.7306" doc:"Latitude of the destination in degrees. Rounded to nine decimals."`
	DestLng   json.Number `json:"destLng" minimum:"-180" maximum:"180" example:"-73.9866" doc:"Longitude of the destination in degrees. Rounded to nine decimals."`
}

// normalize rounds the coordinates to their stored form. Errors: a 400 with every
// coordinate that is not in degrees.
func (j *Journey) normalize() error {
	var wrong fault.Faults
	for _, c := range []struct {
		field string
		n     *json.Number
		limit int64
	}{{"originLat", &j.OriginLat, 90}, {"originLng", &j.OriginLng, 180}, {"destLat", &j.DestLat, 90},
		{"destLng", &j.DestLng, 180}} {
		wrong.Unless(money.Within(c.n, c.limit), "body."+c.field, "expected degrees")
	}
	return wrong.Err()
}

// JourneyOf returns the journey of a requested ride, to compare it with that of the
// estimate (FromItem). Without the comparison, a rider could get the fare of a short ride
// for a long one. Errors: a 400 if the ride has no destination, or with every wrong
// coordinate.
func JourneyOf(originLat, originLng json.Number, destLat, destLng *json.Number) (Journey, error) {
	if destLat == nil || destLng == nil {
		return Journey{}, fault.Field("body.destLat", "is required with estimateId, as is destLng")
	}
	j := Journey{originLat, originLng, *destLat, *destLng}
	return j, j.normalize()
}

// Offer is the estimated fare for one service type.
type Offer struct {
	ServiceTypeID string       `json:"serviceTypeId" doc:"The service type."`
	Name          string       `json:"name" doc:"Name of the service type."`
	Distance      money.Amount `json:"distance" example:"3.412" doc:"Kilometres."`
	Duration      money.Amount `json:"duration" example:"540" doc:"Seconds."`
	Routed        bool         `json:"routed" doc:"Whether a routing engine measured distance and duration. Else they follow from the straight line."`
	Fare          money.Amount `json:"fare" example:"9.8" doc:"The estimated fare, currency units."`
	Currency      string       `json:"currency" example:"USD" doc:"ISO 4217 code."`
	EstimateID    string       `json:"estimateId" example:"est_01JT7M4C6Q8V2N5X9B3D1F7H00" doc:"Request a ride with it to get this fare as the estimated fare."`
	ExpiresAt     string       `json:"expiresAt" format:"date-time" doc:"Until when a ride may be requested with the estimate."`
}

// Stored is what the table keeps of an estimate: the journey and the fare for
// each service type.
type Stored struct {
	Journey
	Fares []Fare `json:"fares"`
}

// Fare is the estimated fare for one service type as it is stored.
type Fare struct {
	ServiceTypeID string       `json:"sv"`
	Fare          money.Amount `json:"f"`
}

// digits are the digits of base 32. The estimate of a journey is one item with several
// fares, and each fare has its own estimateId. The last two characters of an estimateId are
// the fare's number in the item, in base 32. The characters before them name the item.
const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// most is the largest number of fares in an estimate.
const most = len(digits) * len(digits)

// numbered returns the estimateId of the fare with number n, counted from 0. id is any
// estimateId of the item.
func numbered(id string, n int) string {
	return id[:len(id)-2] + string([]byte{digits[n/len(digits)], digits[n%len(digits)]})
}

// Key returns the key of the item that holds a rider's estimate. id is the estimateId of
// any of its fares. ok is false if id is no identifier of an estimate.
func Key(t table.Tenant, rider, id string) (key table.Key, ok bool) {
	if !ids.Valid(ids.Estimate, id) {
		return table.Key{}, false
	}
	return t.Key("ESTIMATES", rider, "ESTIMATE#"+id[:len(id)-2]), true
}

// Partition returns the partition of a rider's estimates.
func Partition(t table.Tenant, rider string) string { return t.Partition("ESTIMATES", rider) }

// The declaration of the items that hold estimates (table.Kind).
var _ = table.Kind[any]{Type: "estimate", Personal: "saved addresses, places, cards", Erasure: "deletes",
	Once: "written once, valid for five minutes"}

// Item returns the stored form of a rider's estimate. It expires after five minutes.
func Item(t table.Tenant, rider, id string, s Stored, now time.Time) table.Item {
	key, _ := Key(t, rider, id)
	return table.Item{Key: key, Type: "estimate", Doc: s, Expires: now.Add(valid)}
}

// ErrExpired is the 409 for an estimate that is not the rider's, or not valid any
// more.
var ErrExpired = &fault.Error{Kind: fault.KindEstimate,
	Message: "The estimate has expired, or is not the rider's. Ask for a new one with POST /api/v1/me/estimates."}

// FromItem returns the fare that the estimateId id names. it is the item at Key. j is the
// journey of the ride that is requested, and service its service type, "" if the request
// names none. Errors: ErrExpired, and a 400 if the estimate is for another journey or
// service type.
func FromItem(it table.Item, id string, j Journey, service string, now time.Time) (Fare, error) {
	s, err := table.DecodeDoc[Stored](it)
	if !it.Live(now) {
		return Fare{}, ErrExpired
	}
	if err != nil {
		return Fare{}, err
	}
	high, low := strings.IndexByte(digits, id[len(id)-2]), strings.IndexByte(digits, id[len(id)-1])
	n := high*len(digits) + low
	if high < 0 || low < 0 || n >= len(s.Fares) {
		return Fare{}, ErrExpired
	}
	switch f := s.Fares[n]; {
	case s.Journey != j:
		return Fare{}, fault.Field("body.estimateId", "the estimate is for another origin or destination; send the "+
			"coordinates of the estimate, or ask for a new one")
	case service != "" && service != f.ServiceTypeID:
		return Fare{}, fault.Field("body.estimateId", "the estimate is for the service type %s", f.ServiceTypeID)
	default:
		return f, nil
	}
}

// PricesOf returns the prices of the service type, with the company's rules for waiting
// and rounding.
func PricesOf(s settings.ServiceType, p settings.Pricing) fare.Prices {
	return fare.Prices{Base: s.BaseFare, PerKm: s.PerKm, PerMin: s.PerMinute, Minimum: s.MinimumFare,
		Waiting: p.WaitingPerMinute, Free: p.FreeWaitingMinutes, Step: p.RoundFareToMultiple}
}

// offers returns the offer of each active service type with prices for a ride along the
// route r, and the fares to store, in the same order. It omits a service type whose fare is
// above largest.
func offers(services []settings.Service, d settings.Document, r route, currency string, largest money.Amount,
	now time.Time) (out []Offer, fares []Fare) {
	id, until := ids.New(ids.Estimate, now), timestamp.Format(now.Add(valid))
	limit := largest.Decimal()
	out = []Offer{}
	for _, s := range services {
		prices := PricesOf(s.ServiceType, d.Pricing)
		if !s.Active || prices.Snapshot() == "" || len(out) == most {
			continue
		}
		amount, ok := prices.Of(fare.Measures{Kilometres: &r.kilometres, Seconds: &r.seconds}, currency)
		if !ok || amount.GreaterThan(limit) {
			continue
		}
		out = append(out, Offer{ServiceTypeID: s.ID, Name: s.Name, Distance: money.Of(r.kilometres),
			Duration: money.Of(r.seconds), Routed: r.routed, Fare: money.Of(amount), Currency: currency,
			EstimateID: numbered(id, len(out)), ExpiresAt: until})
		fares = append(fares, Fare{s.ID, money.Of(amount)})
	}
	return out, fares
}
