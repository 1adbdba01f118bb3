package settings

import (
	"encoding/json"
	"slices"
	"strings"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/plaintext"
	"svc/pkg/data/table"
)

// Zone is a dispatch zone.
type Zone struct {
	ID       string `json:"id" doc:"Identifier of the zone. Zones are for your dispatch; the service applies none."`
	Name     string `json:"name" doc:"Name of the zone."`
	Active   bool   `json:"active" doc:"Whether the zone is in use."`
	Priority int    `json:"priority" doc:"Where zones overlap, the zone with the highest priority applies."`
	Area     Area   `json:"area" doc:"The zone's outline."`
}

// Area is a GeoJSON Polygon (RFC 7946 section 3.1.6): rings of positions, each
// [longitude, latitude] in degrees, the first ring the outer one.
type Area struct {
	Type        string            `json:"type" enum:"Polygon" doc:"Always Polygon (GeoJSON, RFC 7946)."`
	Coordinates [][][]json.Number `json:"coordinates" doc:"Rings of [longitude, latitude] in degrees, the outer ring first."`
}

// ZoneKey returns the key of a zone.
func ZoneKey(t table.Tenant, id string) table.Key { return t.Key("ZONE#"+id, "SETTINGS") }

// ZoneFromItem decodes a zone from its item. It returns fault.NotFound if there
// is none.
func ZoneFromItem(it table.Item) (Zone, error) { return table.DecodeDoc[Zone](it) }

// ZoneItem returns the stored form of a zone.
func ZoneItem(t table.Tenant, z Zone) table.Item {
	return table.Item{Key: ZoneKey(t, z.ID), Type: "zone", Version: 1, Doc: z}
}

// normalize checks the zone and writes its numbers in their canonical form. It
// does not change the caller's slices.
func (z *Zone) normalize() error {
	z.Name = strings.TrimSpace(z.Name)
	var wrong fault.Faults
	wrong.Unless(ids.Valid(ids.Zone, z.ID), "id", "expected the id of a zone")
	wrong.Unless(plaintext.IsLine(z.Name, 100), "name", "expected %s", plaintext.Rule(100))
	message := z.normalizeArea()
	wrong.Unless(message == "", "area", "%s", message)
	return wrong.Err()
}

// normalizeArea normalizes the area's numbers. It returns what is wrong with the
// area, "" if nothing is.
func (z *Zone) normalizeArea() string {
	points := 0
	if z.Area.Type != "Polygon" || len(z.Area.Coordinates) == 0 {
		return "expected a GeoJSON Polygon"
	}
	z.Area.Coordinates = slices.Clone(z.Area.Coordinates)
	for i, ring := range z.Area.Coordinates {
		ring = slices.Clone(ring)
		z.Area.Coordinates[i] = ring
		for j, position := range ring {
			position = slices.Clone(position)
			ring[j] = position
			if points++; points > 2000 {
				return "expected at most 2,000 positions"
			}
			if len(position) != 2 || !money.Within(&position[0], 180) || !money.Within(&position[1], 90) {
				return "expected positions of longitude and latitude in degrees"
			}
		}
		if len(ring) < 4 || !slices.Equal(ring[0], ring[len(ring)-1]) {
			return "expected rings of at least four positions that end where they begin"
		}
	}
	return ""
}
