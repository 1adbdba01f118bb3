package settings

import (
	"context"
	"encoding/json"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/money"
	"svc/pkg/data/table"
	"svc/pkg/domain/location"
	"svc/pkg/edge/api"
)

// errOutside is the 409 for a ride that begins in no active zone.
var errOutside = &fault.Error{Kind: fault.KindServiceArea,
	Message: "The company does not serve this place: the ride must begin in one of its zones. Choose another origin."}

// Origin is the origin of a ride, and whether it is in an active zone according to the
// zones' covers, the stored cells of each zone.
type Origin struct {
	lat, lng json.Number // "" if the covers were not read
	in       bool
}

// EarlyOrigin looks up the origin of the request in the zones' covers, their stored
// cells, while the checks of the request run. It reads nothing if the service area was
// not strict when this process last read the settings.
func EarlyOrigin(ctx context.Context, t table.Tenant, p api.Peek) (o Origin, err error) {
	if last, known := p.Last(Key(t)); known && !strings.Contains(last.Raw(), `"serviceArea":"`+StrictArea+`"`) {
		return o, nil
	}
	lat, lng := p.Number("originLat"), p.Number("originLng")
	if lat == "" || lng == "" {
		return o, nil
	}
	if _, err := location.Sides(lat, lng); err != nil {
		return o, nil //nolint:nilerr // validation says what is wrong with the number
	}
	in, err := inCover(ctx, t, lat, lng)
	return Origin{lat, lng, in}, err
}

// Serves returns a 409 if the company's rides must begin in an active zone and the
// origin, in degrees, lies in none. The zones may change until the ride is stored. flags
// is any copy of the tenant's flags, and early is the result of EarlyOrigin. If a zone
// may lack its cover, because an older build wrote it, Serves reads the zones themselves.
func (d Document) Serves(
	ctx context.Context, t table.Tenant, flags table.Item, early Origin, lat, lng json.Number,
) error {
	if d.Dispatch.ServiceArea != StrictArea {
		return nil
	}
	in, err := early.in, error(nil)
	switch {
	case !flags.Flag(authz.ZonesCovered):
		in, err = inZones(ctx, t, lat, lng)
	case !early.isAt(lat, lng):
		in, err = inCover(ctx, t, lat, lng)
	}
	if err == nil && !in {
		err = errOutside
	}
	return err
}

// isAt reports whether o is the result of EarlyOrigin for these coordinates, which may be
// rounded.
func (o Origin) isAt(lat, lng json.Number) bool {
	return money.Within(&o.lat, 90) && money.Within(&o.lng, 180) && o.lat == lat && o.lng == lng
}

// inZones reports whether an active zone contains the point. It reads all zones.
func inZones(ctx context.Context, t table.Tenant, lat, lng json.Number) (bool, error) {
	zones, err := Zones(ctx, t)
	if err != nil {
		return false, err
	}
	for _, z := range zones {
		if !z.Active {
			continue
		}
		if in, err := z.Area.contains(lat, lng); in || err != nil {
			return in, err
		}
	}
	return false, nil
}
