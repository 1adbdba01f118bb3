package settings

import (
	"context"
	"encoding/json"

	"svc/pkg/base/fault"
	"svc/pkg/data/table"
)

// errOutside is the 409 for a ride that begins in no active zone.
var errOutside = &fault.Error{Kind: fault.KindServiceArea,
	Message: "The company does not serve this place: the ride must begin in one of its zones. Choose another origin."}

// Serves returns a 409 if the company's rides must begin in an active zone and the
// origin, in degrees, lies in none. The zones may change until the ride is stored.
//
// Access pattern: T#t#SETTINGS, ZONE#…, strongly consistent, if the settings are
// strict.
func (d Document) Serves(ctx context.Context, t table.Tenant, lat, lng json.Number) error {
	if d.Dispatch.ServiceArea != StrictArea {
		return nil
	}
	zones, err := Zones(ctx, t)
	if err != nil {
		return err
	}
	for _, z := range zones {
		if !z.Active {
			continue
		}
		if in, err := z.Area.contains(lat, lng); in || err != nil {
			return err
		}
	}
	return errOutside
}
