package address

import (
	"encoding/json"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/money"
	"svc/pkg/table"
	"svc/pkg/timestamp"
)

// Address is a saved address (specification, "Saved address").
type Address struct {
	ID         string      `json:"id"`
	Address    string      `json:"address"`
	Lat        json.Number `json:"lat" minimum:"-90" maximum:"90" doc:"Degrees."`
	Lng        json.Number `json:"lng" minimum:"-180" maximum:"180" doc:"Degrees."`
	Label      *string     `json:"label"`
	Notes      *string     `json:"notes"`
	UsageCount int64       `json:"usageCount" minimum:"1" doc:"How often it was saved."`
	LastUsedAt string      `json:"lastUsedAt" format:"date-time"`
}

// Save is what a rider saves.
type Save struct {
	Address string      `json:"address" minLength:"1" maxLength:"300" example:"12 Harbour Street"`
	Lat     json.Number `json:"lat" minimum:"-90" maximum:"90" example:"40.7128" doc:"Degrees."`
	Lng     json.Number `json:"lng" minimum:"-180" maximum:"180" example:"-74.006" doc:"Degrees."`
	Label   *string     `json:"label,omitempty" maxLength:"100" example:"Home"`
	Notes   *string     `json:"notes,omitempty" maxLength:"1000" example:"Ring twice"`
}

// place puts the coordinates into the one form of their exact value: 1.10 is
// 1.1, -0 is 0. Errors: a 400 with every fault.
func (s *Save) place() error {
	var faults []fault.Detail
	for _, c := range []struct {
		field string
		n     *json.Number
		bound int64
	}{{"body.lat", &s.Lat, 90}, {"body.lng", &s.Lng, 180}} {
		d, err := money.Parse(*c.n)
		if err != nil || d.Abs().GreaterThan(decimal.NewFromInt(c.bound)) {
			faults = append(faults, fault.Detail{Field: c.field, Message: "expected degrees"})
			continue
		}
		*c.n = money.Number(d)
	}
	if faults != nil {
		return fault.Invalid(faults...)
	}
	return nil
}

// after gives the address once it is saved at now; was is nil the first time.
// The text of the first save stays; label and notes are the last one's. The
// time of use never goes back.
func (s Save) after(was *Address, now time.Time) Address {
	at := timestamp.Format(now)
	if was == nil {
		return Address{ID: ids.New(ids.Address, now), Address: s.Address, Lat: s.Lat, Lng: s.Lng, Label: s.Label, Notes: s.Notes,
			UsageCount: 1, LastUsedAt: at}
	}
	next := *was
	next.Label, next.Notes, next.UsageCount, next.LastUsedAt = s.Label, s.Notes, was.UsageCount+1, max(was.LastUsedAt, at)
	return next
}

// Of reads an address of its item; fault.NotFound when there is none.
func Of(it table.Item) (Address, error) {
	if !it.Found() {
		return Address{}, fault.NotFound()
	}
	var a Address
	return a, it.Decode(&a)
}
