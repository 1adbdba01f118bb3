package settings

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/money"
	"svc/pkg/table"
)

// Zone is a dispatch zone (decisions, "Shapes not shown").
type Zone struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Active   bool   `json:"active"`
	Priority int    `json:"priority" doc:"Of overlapping zones the one with the higher number holds."`
	Area     Area   `json:"area"`
}

// Area is a GeoJSON Polygon (RFC 7946 section 3.1.6): rings of positions, each
// [longitude, latitude] in degrees, the first ring the outer one.
type Area struct {
	Type        string            `json:"type" enum:"Polygon"`
	Coordinates [][][]json.Number `json:"coordinates"`
}

// ZoneKey is the key of a zone.
func ZoneKey(t table.Tenant, id string) table.Key { return t.Key("ZONE#"+id, "SETTINGS") }

// ZoneOf reads a zone of its item; fault.NotFound when there is none.
func ZoneOf(it table.Item) (Zone, error) {
	if !it.Found() {
		return Zone{}, fault.NotFound()
	}
	var z Zone
	return z, it.Decode(&z)
}

// ZoneItem is the stored form of a zone.
func ZoneItem(t table.Tenant, z Zone) table.Item {
	return table.Item{Key: ZoneKey(t, z.ID), Type: "zone", Version: 1, Doc: z}
}

func (z *Zone) normal() error {
	z.Name = strings.TrimSpace(z.Name)
	if !ids.Valid(ids.Zone, z.ID) || z.Name == "" || utf8.RuneCountInString(z.Name) > 100 {
		return fault.Field("name", "expected 1 to 100 characters")
	}
	points := 0
	if z.Area.Type != "Polygon" || len(z.Area.Coordinates) == 0 {
		return fault.Field("area", "expected a GeoJSON Polygon")
	}
	for _, ring := range z.Area.Coordinates {
		if len(ring) < 4 || !slices.Equal(ring[0], ring[len(ring)-1]) {
			return fault.Field("area", "expected rings of at least four positions that end where they begin")
		}
		for _, position := range ring {
			if points++; points > 2000 {
				return fault.Field("area", "expected at most 2,000 positions")
			}
			if len(position) != 2 || !degrees(&position[0], 180) || !degrees(&position[1], 90) {
				return fault.Field("area", "expected positions of longitude and latitude in degrees")
			}
		}
	}
	return nil
}

func degrees(n *json.Number, bound int64) bool {
	d, err := money.Parse(*n)
	if err != nil || d.Abs().GreaterThan(decimal.NewFromInt(bound)) {
		return false
	}
	*n = money.Number(d)
	return true
}
