package dispatch

import (
	"encoding/json"
	"strconv"
	"time"

	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/location"
	"svc/pkg/domain/trip"
)

// OpenTrip is what a driver sees of a trip before accepting it.
type OpenTrip struct {
	TripID           string        `json:"tripId" example:"trp_01JT7M4C6Q8V2N5X9B3D1F7H0K" doc:"Identifier of the trip."`
	DistanceToOrigin money.Amount  `json:"distanceToOrigin" example:"1.35" doc:"From the driver to the origin along the great circle, kilometres."`
	OriginAddress    string        `json:"originAddress" doc:"Where the ride begins."`
	OriginLat        json.Number   `json:"originLat" doc:"Degrees."`
	OriginLng        json.Number   `json:"originLng" doc:"Degrees."`
	DestAddress      *string       `json:"destAddress" doc:"Where the ride ends."`
	DestLat          *json.Number  `json:"destLat" nullable:"true" doc:"Degrees."`
	DestLng          *json.Number  `json:"destLng" nullable:"true" doc:"Degrees."`
	ServiceTypeID    *string       `json:"serviceTypeId" doc:"The service type of the trip."`
	PaymentType      string        `json:"paymentType" enum:"CASH,CARD,WALLET" doc:"How the rider pays."`
	EstimatedFare    *money.Amount `json:"estimatedFare" nullable:"true" doc:"Estimated fare, currency units."`
	Currency         string        `json:"currency" example:"USD" doc:"ISO 4217 code."`
	RequestedAt      string        `json:"requestedAt" format:"date-time" doc:"When the rider requested the trip."`
}

// rideOf returns what a driver sees of the trip. kilometres is the distance from the
// driver to the origin.
func rideOf(t trip.Trip, kilometres float64) OpenTrip {
	return OpenTrip{t.ID, distance(kilometres), t.OriginAddress, t.OriginLat, t.OriginLng, t.DestAddress, t.DestLat,
		t.DestLng, t.ServiceTypeID, t.PaymentType, t.EstimatedFare, t.Currency, t.RequestedAt}
}

// distance returns the kilometres as an amount, rounded to metres.
func distance(kilometres float64) money.Amount {
	return money.Amount(strconv.FormatFloat(float64(int64(kilometres*1000+0.5))/1000, 'f', -1, 64))
}

// TripOffer is an offer: a trip that a driver may accept until it expires.
type TripOffer struct {
	OpenTrip
	ExpiresAt string `json:"expiresAt" format:"date-time" doc:"Until when the offer stands."`
}

// OfferKey returns the key of the one offer that a driver may hold.
func OfferKey(t table.Tenant, driver string) table.Key { return t.Key("DRIVER", driver, "OFFER") }

// NewOffer returns an offer of the trip that stands until the given time. kilometres is
// the distance from the driver to the origin.
func NewOffer(tr trip.Trip, kilometres float64, until time.Time) TripOffer {
	return TripOffer{rideOf(tr, kilometres), timestamp.Format(until)}
}

// Item returns the stored form of the offer, for a driver who has no stored offer yet.
func (o TripOffer) Item(t table.Tenant, driver string) table.Item {
	it := o.item(table.Item{Key: OfferKey(t, driver)})
	it.Attrs["until"] = o.ExpiresAt
	return it
}

// Give gives the offer to a driver, in the transaction. was is the item at the driver's
// OfferKey as it was read. The transaction fails with the error otherwise if the item has
// changed since, or if the driver holds an offer of another trip.
func (o TripOffer) Give(tx *table.Tx, was table.Item, now time.Time, otherwise error) {
	it := o.item(was)
	it.Attrs["until"] = o.ExpiresAt
	if !was.Found() {
		tx.Create(it).Else(otherwise)
		return
	}
	tx.Put(it).If("written = ? AND ('until' <= ? OR trip = ?)", was.Text("written"), timestamp.Format(now), o.TripID).
		Else(otherwise)
}

// end ends the driver's offer at the time now, in the transaction. was is the offer's item
// as it was read. The transaction fails with the error otherwise if the item has changed
// since.
func (o TripOffer) end(tx *table.Tx, was table.Item, now time.Time, otherwise error) {
	it := o.item(was)
	it.Attrs["until"] = timestamp.Format(now)
	tx.Put(it).If("written = ?", was.Text("written")).Else(otherwise)
}

// The declaration of the items that hold offers (table.Kind).
var _ = table.Kind[any]{Type: "offer", Personal: "of a driver", Erasure: "deletes"}

// item returns the stored form that replaces was. The caller sets the attribute until, the
// time until which the offer stands. The attribute written is different after each write,
// so a condition on it fails if the item has changed.
func (o TripOffer) item(was table.Item) table.Item {
	written := was.Int("n") + 1
	until, _ := timestamp.Parse(o.ExpiresAt) // cannot fail: NewOffer wrote the time
	return table.Item{Key: was.Key, Type: "offer", Doc: o, Expires: until.Add(time.Hour), Preserve: was.Unknown(),
		Attrs: map[string]any{"trip": o.TripID, "until": nil, "n": written, "written": strconv.FormatInt(written, 10)}}
}

// Held returns the offer in the item at a driver's OfferKey. ok is false if there is none,
// or if it has ended at the time now.
func Held(it table.Item, now time.Time) (o TripOffer, ok bool, err error) {
	if !it.Found() || it.Text("until") <= timestamp.Format(now) {
		return o, false, nil
	}
	o, err = table.DecodeDoc[TripOffer](it)
	return o, err == nil, err
}

// Withdraw ends a driver's offer, in the transaction, if it is an offer of the trip. it is
// the item at the driver's OfferKey as it was read. The transaction fails with the error
// otherwise if the item has changed since.
func Withdraw(tx *table.Tx, it table.Item, tripID string, now time.Time, otherwise error) error {
	o, ok, err := Held(it, now)
	if ok && o.TripID == tripID {
		o.end(tx, it, now, otherwise)
	}
	return err
}

// openTrips is the name of the list of open trips by place. pkg/domain/location describes
// such lists.
const openTrips = "OPENTRIPS"

// OpenKey returns the key of a trip's entry in the list of open trips.
func OpenKey(t table.Tenant, tripID string) table.Key { return t.Key("TRIP", tripID, "OPENTRIP") }

// The declaration of the entries of the list of open trips (table.Kind).
var _ = table.Kind[any]{Type: "opentrip", Personal: "addresses of a ride that waits", Erasure: "deletes",
	Once: "written once, then deleted"}

// OpenItem returns a trip's entry in the list of open trips.
func OpenItem(t table.Tenant, tr trip.Trip) table.Item {
	it := table.Item{Key: OpenKey(t, tr.ID), Type: "opentrip", Doc: rideOf(tr, 0)}
	it.G[0], it.R = location.Entry(t, openTrips, location.At(tr.OriginLat, tr.OriginLng), tr.ID)
	return it
}

// Drives reports whether the driver takes trips of the service type. A driver without
// service types takes all. Everybody takes a trip without a service type (nil).
func Drives(r driver.Record, service *string) bool {
	if len(r.ServiceTypeIDs) == 0 {
		return true
	}
	for _, id := range r.ServiceTypeIDs {
		if service != nil && id == *service {
			return true
		}
	}
	return service == nil
}
