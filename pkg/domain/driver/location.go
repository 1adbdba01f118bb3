package driver

import (
	"context"
	"encoding/json"
	"slices"

	"svc/pkg/base/panics"
	"svc/pkg/data/table"
)

// Location is where a driver was, as the driver's phone reported it.
type Location struct {
	Lat        json.Number  `json:"lat" minimum:"-90" maximum:"90" example:"40.7128" doc:"Latitude, WGS 84 degrees. Rounded to nine decimals."`
	Lng        json.Number  `json:"lng" minimum:"-180" maximum:"180" example:"-74.006" doc:"Longitude, WGS 84 degrees. Rounded to nine decimals."`
	Heading    *json.Number `json:"heading,omitempty" nullable:"true" minimum:"-1" maximum:"360" example:"270" doc:"Degrees clockwise from north. A negative number counts as unknown."`
	Speed      *json.Number `json:"speed,omitempty" nullable:"true" minimum:"-1" maximum:"1000" example:"8.3" doc:"Metres per second. A negative number counts as unknown."`
	Accuracy   *json.Number `json:"accuracy,omitempty" nullable:"true" minimum:"-1" maximum:"10000000" example:"12" doc:"Radius of the likely error, metres. A negative number counts as unknown."`
	RecordedAt string       `json:"recordedAt" maxLength:"100" example:"2026-01-31T08:00:00Z" doc:"When the phone measured the position: ISO 8601, in UTC if it has no offset. It may be at most a minute in the future."`
}

// LocationKey returns the key of a driver's last known location. The location is not in
// the driver's record, because it changes every few seconds.
func LocationKey(t table.Tenant, id string) table.Key { return t.Key("DRIVER", id, "LOCATION") }

// Located is the attribute of a driver's item that says that the driver has a stored
// location. The first report of a location sets it. The list of drivers reads only the
// locations of drivers with this attribute.
const Located = "located"

// LocationFromItem decodes the item at LocationKey. ok is false if there is no such item.
func LocationFromItem(it table.Item) (l Location, ok bool, err error) {
	if !it.Found() {
		return l, false, nil
	}
	l, err = table.DecodeDoc[Location](it)
	return l, err == nil, err
}

// Locate sets the driver's position to the location in the item, unless the driver has a
// newer one. It does nothing if the item is absent.
func (d *Driver) Locate(it table.Item) error {
	l, ok, err := LocationFromItem(it)
	if ok && (d.LocationUpdatedAt == nil || *d.LocationUpdatedAt < l.RecordedAt) {
		d.CurrentLat, d.CurrentLng, d.LocationUpdatedAt = &l.Lat, &l.Lng, &l.RecordedAt
	}
	return err
}

// located is the maximum number of locations that one request to the table reads.
const located = 100

// locate reads the locations of the drivers and sets their positions. It skips drivers
// without the attribute Located. It sends a request for each hundred drivers, all at the
// same time.
func locate(ctx context.Context, t table.Tenant, drivers []listed) error {
	drivers = slices.DeleteFunc(slices.Clone(drivers), func(d listed) bool { return !d.located })
	group, ctx := panics.WithContext(ctx)
	for some := range slices.Chunk(drivers, located) {
		group.Go(func() error {
			keys := make([]table.Key, len(some))
			for i := range some {
				keys[i] = LocationKey(t, some[i].ID)
			}
			items, err := t.BatchEventual(ctx, keys...)
			if err != nil {
				return err
			}
			for i, it := range items {
				if err := some[i].Locate(it); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
