package settings

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/peterstace/simplefeatures/geom"

	"svc/pkg/domain/location"
)

// star returns a ring around a point. Its radius varies by the angle.
func star(r *rand.Rand, x, y, radius float64, corners int) string {
	at := make([]string, corners+1)
	for i := range corners {
		angle, far := 2*math.Pi*float64(i)/float64(corners), radius*(0.6+0.4*r.Float64())
		at[i] = fmt.Sprintf("[%.9f,%.9f]", x+far*math.Cos(angle), y+far*math.Sin(angle))
	}
	at[corners] = at[0]
	return "[" + strings.Join(at, ",") + "]"
}

// TestCoverAgreesWithTheArea: whatever the size and the place of an area with holes and
// parts, the entries of a point's cells hold the point exactly if the area does.
func TestCoverAgreesWithTheArea(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	for _, at := range []struct{ x, y, radius float64 }{{13.4, 52.5, 0.005}, {13.4, 52.5, 0.2}, {0, 0, 0.01}, {0, 0, 40},
		{179.99, -17, 0.5}, {-180, 0, 3}, {-45, 35.2, 2}, {90, 45, 0.3}, {10, 80, 4}, {-70, -55, 9}, {45, 0, 0.0001}} {
		shape := geom.Geometry{}
		text := `{"type":"MultiPolygon","coordinates":[[` + star(r, at.x, at.y, at.radius, 300) + `,` +
			star(r, at.x, at.y, at.radius/3, 20) + `],[` + star(r, at.x+3*at.radius, at.y, at.radius/2, 5) + `]]}`
		area, err := ParseArea([]byte(text))
		if err != nil {
			t.Fatalf("%v: %v", at, err)
		}
		o, err := area.outline()
		if err != nil {
			t.Fatal(err)
		}
		shown, err := json.Marshal(area)
		if err == nil {
			shape, err = geom.UnmarshalGeoJSON(shown)
		}
		if err != nil {
			t.Fatal(err)
		}
		cells := map[string]outline{}
		for _, c := range location.Cover(o, mostCells) {
			cells[c.Token] = c.Part.(outline)
		}
		if len(cells) > mostCells {
			t.Errorf("%v: %d cells, expected at most %d", at, len(cells), mostCells)
		}
		in := 0
		for range 3000 {
			x, y := at.x+at.radius*(6*r.Float64()-2), at.y+at.radius*(3*r.Float64()-1.5)
			x = math.Mod(x+540, 360) - 180
			x, y = math.Round(x*1e9)/1e9, math.Round(y*1e9)/1e9
			want, have := geom.Intersects(shape, geom.XY{X: x, Y: y}.AsPoint().AsGeometry()), false
			for _, token := range location.Coverings([2]float64{x, y}) {
				have = have || cells[token].contains([2]float64{x, y})
			}
			if have != want {
				t.Errorf("%v: %v %v is in the area: %v, by its cover: %v", at, x, y, want, have)
			}
			if want {
				in++
			}
		}
		if in < 200 {
			t.Errorf("%v: only %d points are in the area", at, in)
		}
	}
}

// TestCoverOfTheLargestArea: an area of 5,000 positions and its cover fit into items and
// into a transaction, beside the cover that they replace.
func TestCoverOfTheLargestArea(t *testing.T) {
	for _, radius := range []float64{0.001, 0.3, 50} {
		area, err := ParseArea([]byte(polygonOf(star(rand.New(rand.NewPCG(3, 4)), -73.987654321, 10, radius,
			mostPositions-1))))
		if err != nil {
			t.Fatal(err)
		}
		o, err := area.outline()
		if err != nil {
			t.Fatal(err)
		}
		all, err := json.Marshal(area)
		if err != nil {
			t.Fatal(err)
		}
		covered := 0
		for _, c := range location.Cover(o, mostCells) {
			one, err := json.Marshal(c.Part)
			if err != nil {
				t.Fatal(err)
			}
			covered += len(one)
		}
		if len(all) > 350<<10/2 || covered > 4*len(all) {
			t.Errorf("radius %s: the area has %d bytes and its cover %d", strconv.FormatFloat(radius, 'g', -1, 64), len(all),
				covered)
		}
	}
}

func polygonOf(ring string) string { return `{"type":"Polygon","coordinates":[` + ring + `]}` }
