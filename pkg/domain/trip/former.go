package trip

import (
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/plaintext"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/external"
	"svc/pkg/domain/settings"
)

// Former is a ride of another system, which has ended.
type Former struct {
	Ride
	Reference   string // the ride's identifier there
	Status      Status // Completed or Cancelled
	RequestedAt time.Time
	CompletedAt *time.Time // of a completed ride
	Fare        *money.Amount
	Rider       string
	Driver      *string
	By          string // who brings it
}

// FormerID returns the identifier of the trip that a former ride becomes. A reference
// has one trip, whatever else is known of it.
func FormerID(t table.Tenant, reference string) string {
	return ids.Derived(ids.Trip, time.UnixMilli(0), t.ID()+"#"+reference)
}

// New returns the trip. It is imported, so it moves no money. Errors: a 400 with
// every fault; its fields are those of the trip.
func (f Former) New(t table.Tenant, terms Terms, now time.Time) (Trip, error) {
	var wrong fault.Faults
	line := func(field string, text *string, most int, required bool) {
		ok := text == nil || plaintext.IsOptional(*text, most)
		wrong.Unless(ok && (!required || plaintext.IsLine(*text, most)), "body."+field, "expected %s",
			plaintext.Rule(most))
	}
	wrong.Unless(external.Valid(f.Reference), "body.tripId", "expected %s", external.Rule)
	line("originAddress", &f.OriginAddress, 300, true)
	line("destAddress", f.DestAddress, 300, false)
	wrong.Unless(f.Notes == nil || plaintext.IsText(*f.Notes, 1000), "body.notes", "expected at most 1,000 characters")
	wrong.Unless(f.PaymentType == "CASH" || f.PaymentType == "CARD", "body.paymentType",
		"expected CASH or CARD; the wallets here know nothing of a former ride")
	wrong.Unless(!f.RequestedAt.Before(time.Unix(0, 0)), "body.requestedAt", "expected a time from 1970 on; "+
		"programs write the year 1, 1753, 1899 or 1900 for an empty cell and for a time without a date")
	wrong.Unless(f.RequestedAt.Before(now), "body.requestedAt", "expected a time in the past")
	at := f.RequestedAt
	switch f.Status {
	case Completed:
		if wrong.Unless(f.CompletedAt != nil, "body.completedAt", "a completed ride needs it"); f.CompletedAt != nil {
			at = *f.CompletedAt
			wrong.Unless(!at.Before(f.RequestedAt) && at.Before(now), "body.completedAt",
				"expected a time after requestedAt, in the past")
		}
		wrong.Unless(f.Fare != nil, "body.fare", "a completed ride needs it; it may be 0")
	case Cancelled:
		wrong.Unless(f.Fare == nil && f.CompletedAt == nil, "body.fare", "a cancelled ride has neither fare nor completedAt")
	default:
		wrong.Add("body.status", "expected COMPLETED or CANCELLED")
	}
	terms.Settings = settings.Document{Payments: settings.Payments{Cash: true, Card: true}}
	tr, err := f.Ride.New(f.Rider, terms, f.RequestedAt)
	if err != nil {
		wrong = append(wrong, fault.Of(err).Details...)
	}
	if f.Fare != nil {
		fare, err := AcceptFare(*f.Fare, terms.Currency, terms.MaxFare)
		wrong.Unless(err == nil, "body.fare", "%v", err)
		tr.FinalFare = &fare
	}
	tr.ID, tr.Imported, tr.Status, tr.DriverID, tr.Dispatched = FormerID(t, f.Reference), true, f.Status, f.Driver, false
	tr.ExternalID = f.Reference
	tr.Operators = map[Event]string{EventCompleted: f.By, EventCancelled: f.By}
	tr.UpdatedAt = timestamp.Format(at)
	if f.CompletedAt != nil {
		tr.CompletedAt = &tr.UpdatedAt
	}
	return tr, wrong.Err()
}

// SameFormer reports whether two imported trips tell of the same ride.
func (t Trip) SameFormer(other Trip) bool {
	same := func(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }
	return t.Status == other.Status && t.CustomerID == other.CustomerID && same(t.DriverID, other.DriverID) &&
		t.RequestedAt == other.RequestedAt && same(t.CompletedAt, other.CompletedAt) &&
		same((*string)(t.FinalFare), (*string)(other.FinalFare)) && t.Currency == other.Currency
}
