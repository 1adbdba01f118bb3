package settings

import (
	"context"
	"encoding/json"
	"strings"

	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// errOutside is the 409 for a ride that begins in no active zone.
var errOutside = &fault.Error{Kind: fault.KindServiceArea,
	Message: "The company does not serve this place: the ride must begin in one of its zones. Choose another origin."}

// EarlyZones reads the zones for Serves while the checks are under way. If the service
// area was not strict when this process last saw the settings, it reads nothing, so a
// company without a strict area pays for its zones once.
func EarlyZones(ctx context.Context, t table.Tenant, p api.Peek) ([]Zone, error) {
	if last, known := p.Last(Key(t)); known && !strings.Contains(last.Raw(), `"serviceArea":"`+StrictArea+`"`) {
		return nil, nil
	}
	return Zones(ctx, t)
}

// Serves returns a 409 if the company's rides must begin in an active zone and the
// origin, in degrees, lies in none. The zones may change until the ride is stored.
// early are the zones that EarlyZones has read.
//
// Access pattern: T#t#SETTINGS, ZONE#…, strongly consistent, if the settings are
// strict and the zones were not read early.
func (d Document) Serves(ctx context.Context, t table.Tenant, early []Zone, lat, lng json.Number) (err error) {
	if d.Dispatch.ServiceArea != StrictArea {
		return nil
	}
	zones := early
	if zones == nil {
		if zones, err = Zones(ctx, t); err != nil {
			return err
		}
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
