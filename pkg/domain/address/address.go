package address

import (
	"encoding/json"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/edge/api"
)

// Address is an address that a rider has saved, as the API shows it (specification,
// "Saved address").
type Address struct {
	ID         string      `json:"id" doc:"Identifier of the saved address."`
	Address    string      `json:"address" doc:"The address as text."`
	Lat        json.Number `json:"lat" minimum:"-90" maximum:"90" doc:"Degrees."`
	Lng        json.Number `json:"lng" minimum:"-180" maximum:"180" doc:"Degrees."`
	Label      *string     `json:"label" doc:"The rider's own name for the address, such as Home."`
	Notes      *string     `json:"notes" doc:"The rider's notes, such as Ring twice."`
	UsageCount int64       `json:"usageCount" minimum:"1" doc:"How often the rider saved the address."`
	LastUsedAt string      `json:"lastUsedAt" format:"date-time" doc:"When the rider last saved the address."`
}

// Save is a rider's request to save an address.
type Save struct {
	Address string      `json:"address" minLength:"1" maxLength:"300" example:"12 Harbour Street" doc:"The address as text."`
	Lat     json.Number `json:"lat" minimum:"-90" maximum:"90" example:"40.7128" doc:"Latitude in degrees. Rounded to nine decimals."`
	Lng     json.Number `json:"lng" minimum:"-180" maximum:"180" example:"-74.006" doc:"Longitude in degrees. Rounded to nine decimals."`
	Label   api.Field   `json:"label,omitempty" maxLength:"100" example:"Home" doc:"null clears the label. Without this field the saved label stays."`
	Notes   api.Field   `json:"notes,omitempty" maxLength:"1000" example:"Ring twice" doc:"null clears the notes. Without this field the saved notes stay."`
}

// normalize rounds the coordinates to nine decimals and writes them in canonical
// form: 1.10 becomes 1.1, -0 becomes 0. Errors: a 400 with every fault.
func (s *Save) normalize() error {
	var wrong fault.Faults
	wrong.Unless(money.Within(&s.Lat, 90), "body.lat", "expected degrees")
	wrong.Unless(money.Within(&s.Lng, 180), "body.lng", "expected degrees")
	return wrong.Err()
}

// after returns the address as it is stored after a save at the time now. was is the
// stored address, nil the first time. The text of the address is that of the last save.
// Label and notes change only if they are given. LastUsedAt never goes back.
func (s Save) after(was *Address, now time.Time) Address {
	at := timestamp.Format(now)
	if was == nil {
		return Address{ID: ids.New(ids.Address, now), Address: s.Address, Lat: s.Lat, Lng: s.Lng, Label: s.Label.Value,
			Notes: s.Notes.Value, UsageCount: 1, LastUsedAt: at}
	}
	next := *was
	next.Address = s.Address
	if s.Label.Set {
		next.Label = s.Label.Value
	}
	if s.Notes.Set {
		next.Notes = s.Notes.Value
	}
	next.UsageCount, next.LastUsedAt = was.UsageCount+1, max(was.LastUsedAt, at)
	return next
}
