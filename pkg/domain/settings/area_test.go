package settings_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"svc/pkg/domain/settings"
)

const square = `[[[13,52],[14,52],[14,53],[13,53],[13,52]]]`

func polygon(coordinates string) string {
	return `{"type":"Polygon","coordinates":` + coordinates + `}`
}

// Cities publish areas in many forms. Each form is read, and shown as a Polygon or
// MultiPolygon with the outer ring counterclockwise.
func TestParseArea(t *testing.T) {
	one := polygon(square)
	feature := func(geometry string) string {
		return `{"type":"Feature","bbox":[13,52,14,53],"id":7,"properties":{"name":"Mitte","type":"Point"},"geometry":` +
			geometry + `}`
	}
	for name, c := range map[string]struct{ text, want string }{
		"a Polygon":         {one, one},
		"a byte order mark": {"\ufeff" + one, one},
		"members of others": {`{"crs":null,"bbox":[1],"x":{},` + one[1:], one},
		"a Feature":         {feature(one), one},
		"a FeatureCollection": {`{"type":"FeatureCollection","name":"zones","features":[` + feature(one) + `]}`,
			one},
		"a GeometryCollection":  {`{"type":"GeometryCollection","geometries":[` + one + `]}`, one},
		"a MultiPolygon of one": {`{"type":"MultiPolygon","coordinates":[` + square + `]}`, one},
		"altitudes":             {polygon(`[[[13,52,34.5],[14,52,0],[14,53,1],[13,53,2],[13,52,34.5]]]`), one},
		"a ring that runs clockwise": {polygon(`[[[13,52],[13,53],[14,53],[14,52],[13,52]]]`),
			polygon(`[[[13,52],[13,53],[14,53],[14,52],[13,52]]]`)},
		"other digits":       {polygon(`[[[13.0,52],[1.4e1,52.0000000001],[14,53],[13,53],[13,52.0]]]`), one},
		"repeated positions": {polygon(`[[[13,52],[13,52],[14,52],[14,53],[13,53],[13,53],[13,52]]]`), one},
		"parts, the largest first": {`{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]],` +
			`[[[5,5],[9,5],[9,9],[5,5]]]]}`,
			`{"type":"MultiPolygon","coordinates":[[[[5,5],[9,5],[9,9],[5,5]]],[[[0,0],[1,0],[1,1],[0,0]]]]}`},
		"parts beside the 180th meridian": {`{"type":"MultiPolygon","coordinates":[[[[179,0],[180,0],[180,2],[179,0]]],` +
			`[[[-180,0],[-179,0],[-180,1],[-180,0]]]]}`, `{"type":"MultiPolygon","coordinates":[[[[179,0],[180,0],[180,2],` +
			`[179,0]]],[[[-180,0],[-179,0],[-180,1],[-180,0]]]]}`},
		"a hole": {polygon(`[[[0,0],[9,0],[9,9],[0,9],[0,0]],[[2,2],[3,2],[3,3],[2,2]]]`),
			polygon(`[[[0,0],[9,0],[9,9],[0,9],[0,0]],[[2,2],[3,3],[3,2],[2,2]]]`)},
	} {
		t.Run(name, func(t *testing.T) {
			area, err := settings.ParseArea([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(area)
			if err != nil || !sameRings(string(got), c.want) {
				t.Errorf("%s, %v\nwant %s", got, err, c.want)
			}
			var back settings.Area
			if err := json.Unmarshal(got, &back); err != nil || fmt.Sprint(back) != fmt.Sprint(area) {
				t.Errorf("%s is read as %v, %v", got, back, err)
			}
		})
	}
}

// sameRings reports whether two areas are equal. In one case of the test it also
// accepts a ring in the other direction.
func sameRings(got, want string) bool {
	return got == want || want == polygon(`[[[13,52],[13,53],[14,53],[14,52],[13,52]]]`) &&
		got == polygon(`[[[13,52],[14,52],[14,53],[13,53],[13,52]]]`)
}

// An area that continues beyond 180 degrees is cut at the meridian. Its parts
// have the size of the whole.
func TestParseAreaBeyond180(t *testing.T) {
	for _, text := range []string{polygon(`[[[178,-18],[182,-18],[182,-16],[178,-16],[178,-18]]]`),
		polygon(`[[[-182,-18],[-178,-18],[-178,-16],[-182,-16],[-182,-18]]]`),
		polygon(`[[[177,-18],[180,-16.6],[181,-18],[181,-16],[177,-16],[177,-18]]]`),
		polygon(`[[[178,-18],[182,-18],[182,-16],[178,-16],[178,-18]],[[179,-17.5],[181,-17.5],[180,-17],[179,-17.5]]]`)} {
		area, err := settings.ParseArea([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var whole settings.Area
		if err := json.Unmarshal([]byte(text), &whole); err != nil {
			t.Fatal(err)
		}
		if len(area) < 2 || math.Abs(size(t, area)-size(t, whole)) > 1e-9 {
			t.Errorf("%s is cut into %v", text, area)
		}
		for _, rings := range area {
			for _, position := range rings[0] {
				if x, _ := position[0].Float64(); x < -180 || x > 180 {
					t.Errorf("%s: longitude %v", text, x)
				}
			}
		}
	}
}

// size returns the area in square degrees by the shoelace formula; holes count
// negative.
func size(t *testing.T, area settings.Area) (sum float64) {
	t.Helper()
	for _, rings := range area {
		for i, ring := range rings {
			one := 0.0
			for j := range len(ring) - 1 {
				var at [4]float64
				for k, n := range []json.Number{ring[j][0], ring[j][1], ring[j+1][0], ring[j+1][1]} {
					var err error
					if at[k], err = n.Float64(); err != nil {
						t.Fatal(err)
					}
				}
				one += (at[0]*at[3] - at[2]*at[1]) / 2
			}
			if one = math.Abs(one); i > 0 {
				one = -one
			}
			sum += one
		}
	}
	return sum
}

func TestParseAreaRefuses(t *testing.T) {
	many := make([]string, 5001)
	for i := range many {
		many[i] = fmt.Sprintf("[%v,%v]", 10*math.Cos(float64(i)*2*math.Pi/5000), 10*math.Sin(float64(i)*2*math.Pi/5000))
	}
	many[5000] = many[0]
	for name, c := range map[string]struct{ text, want string }{
		"no JSON":      {`<kml/>`, "expected GeoJSON"},
		"a Point":      {`{"type":"Point","coordinates":[1,2]}`, `not "Point"`},
		"no geometry":  {`{"type":"Feature","geometry":null}`, `not "Feature"`},
		"two features": {`{"type":"FeatureCollection","features":[{},{}]}`, "one member, not 2"},
		"no feature":   {`{"type":"FeatureCollection","features":[]}`, "one member, not 0"},
		"endless": {`{"type":"Feature","geometry":{"type":"Feature","geometry":{"type":"Feature",` +
			`"geometry":{"type":"Feature","geometry":{}}}}}`,
			`not "Feature"`},
		"no rings":         {polygon(`[]`), "no positions"},
		"no polygons":      {`{"type":"MultiPolygon","coordinates":[]}`, "no positions"},
		"depth of a ring":  {polygon(`[[1,2],[3,4]]`), "malformed"},
		"a lone number":    {polygon(`[[[1],[2],[3],[1]]]`), "longitude and latitude"},
		"not closed":       {polygon(`[[[0,0],[1,0],[1,1],[0,1]]]`), "end where they begin"},
		"no area":          {polygon(`[[[0,0],[1,1],[2,2],[0,0]]]`), "lie on a line"},
		"one point":        {polygon(`[[[1,1],[1,1],[1,1],[1,1]]]`), "lie on a line"},
		"crossed":          {polygon(`[[[0,0],[1,1],[1,0],[0,1],[0,0]]]`), "crosses or touches itself"},
		"crossed, unequal": {polygon(`[[[0,0],[4,3],[4,0],[0,1],[0,0]]]`), "crosses or touches itself"},
		"a hole outside": {polygon(`[[[0,0],[1,0],[1,1],[0,0]],[[5,5],[6,5],[6,6],[5,5]]]`),
			"a hole lies outside"},
		"a hole across": {polygon(`[[[0,0],[4,0],[4,4],[0,0]],[[3,1],[6,1],[6,2],[3,1]]]`), "a hole crosses"},
		"a hole in a hole": {polygon(`[[[0,0],[9,0],[9,9],[0,9],[0,0]],[[1,1],[8,1],[8,8],[1,1]],[[4,2],[6,2],[6,3],[4,2]]]`),
			"in another hole"},
		"swapped, Tokyo":    {polygon(`[[[35,139],[36,139],[36,140],[35,139]]]`), "longitude first"},
		"swapped, New York": {polygon(`[[[40.7,-74],[40.8,-74],[40.8,-73.9],[40.7,-74]]]`), "longitude first"},
		"metres":            {polygon(`[[[500000,40],[500001,40],[500001,41],[500000,40]]]`), "in degrees"},
		"around the globe":  {polygon(`[[[179,0],[-179,0],[-179,1],[179,1],[179,0]]]`), "180th meridian"},
		"a second part is crossed": {`{"type":"MultiPolygon","coordinates":[` + square +
			`,[[[0,0],[1,1],[1,0],[0,1],[0,0]]]]}`,
			"crosses or touches itself"},
		"too many": {polygon(`[[` + strings.Join(many, ",") + `]]`), "5001 positions"},
	} {
		if area, err := settings.ParseArea([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; want %q", name, area, err, c.want)
		}
	}
}

func TestBox(t *testing.T) {
	for sides, parts := range map[[4]json.Number]int{
		{"13", "52", "14", "53"}: 1, {"-180", "-90", "180", "90"}: 1, {"179", "-18", "-179", "-16"}: 2,
		{"170", "0", "180", "1"}:  1,
		{"180", "0", "-170", "1"}: 1, {"170", "0", "-180", "1"}: 1,
		{"14.00", "52", "14", "53"}: 0, {"13", "53", "14", "52"}: 0,
		{"13", "52", "14", "52.0"}: 0, {"13", "52", "14", ""}: 0, {"13", "52", "181", "53"}: 0, {"180", "0", "-180", "1"}: 0,
	} {
		area, err := settings.Box(sides[0], sides[1], sides[2], sides[3])
		if len(area) != parts || (err == nil) != (parts > 0) {
			t.Errorf("%v: %v, %v", sides, area, err)
		}
	}
}
