package settings

import (
	"strings"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/plaintext"
	"svc/pkg/data/table"
)

// Zone is a dispatch zone.
type Zone struct {
	ID       string `json:"id" doc:"Identifier of the zone."`
	Name     string `json:"name" doc:"Name of the zone."`
	Active   bool   `json:"active" doc:"Whether the zone is in use."`
	Priority int    `json:"priority" doc:"Where zones overlap, apps show the zone with the highest priority. The service itself treats all zones alike."`
	Area     Area   `json:"area" doc:"The zone's outline: a GeoJSON Polygon or, if it has several parts, a MultiPolygon. A zone across the 180th meridian is cut there."`
}

// ZoneKey returns the key of a zone.
func ZoneKey(t table.Tenant, id string) table.Key { return t.Key("SETTINGS", "ZONE#"+id) }

// storedZone is the stored form of a zone. Older builds know zones of one polygon only.
// So Area has the largest polygon, which they show, and MoreParts the others, which they
// keep.
type storedZone struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Active    bool   `json:"active"`
	Priority  int    `json:"priority"`
	Area      Area   `json:"area"`
	MoreParts Area   `json:"moreParts"`
}

// ZoneKind stores zones.
var ZoneKind = table.Kind[Zone]{Type: "zone", Personal: "nothing",
	Row: func(t table.Tenant, _ string, z Zone) table.Item {
		return table.Item{Key: ZoneKey(t, z.ID), Version: 1,
			Doc: storedZone{z.ID, z.Name, z.Active, z.Priority, z.Area[:1], z.Area[1:]}}
	},
	Read: func(it table.Item) (Zone, error) {
		s, err := table.DecodeDoc[storedZone](it)
		return Zone{s.ID, s.Name, s.Active, s.Priority, append(s.Area, s.MoreParts...)}, err
	}}

// normalize trims the name of a zone and checks its members. Errors: a 400 with every
// fault.
func (z *Zone) normalize() error {
	z.Name = strings.TrimSpace(z.Name)
	var wrong fault.Faults
	wrong.Unless(ids.Valid(ids.Zone, z.ID), "id", "expected the id of a zone")
	wrong.Unless(plaintext.IsLine(z.Name, 100), "name", "expected %s", plaintext.Rule(100))
	wrong.Unless(len(z.Area) > 0, "area", "expected an area")
	return wrong.Err()
}
