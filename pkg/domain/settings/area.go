package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/peterstace/simplefeatures/geom"

	"svc/pkg/base/money"
)

// Area is the outline of a zone: polygons, the largest first. A polygon is a
// list of rings, the outer ring first. A ring is a list of positions [longitude,
// latitude] in degrees, at most 180 and 90. ParseArea and Box return areas that
// are valid by RFC 7946. In JSON an area is a GeoJSON Polygon, or a MultiPolygon
// if it has several polygons.
type Area [][][][]json.Number

// Polygon is an area of one polygon in JSON.
type Polygon struct {
	Type        string            `json:"type" enum:"Polygon" doc:"Polygon (GeoJSON, RFC 7946)."`
	Coordinates [][][]json.Number `json:"coordinates" doc:"Rings of [longitude, latitude] in degrees, the outer ring first."`
}

// MultiPolygon is an area of several polygons in JSON.
type MultiPolygon struct {
	Type        string              `json:"type" enum:"MultiPolygon" doc:"MultiPolygon (GeoJSON, RFC 7946)."`
	Coordinates [][][][]json.Number `json:"coordinates" doc:"Polygons, the largest first. Each has rings of [longitude, latitude] in degrees, the outer ring first."`
}

// Schema returns the OpenAPI schema of an area.
func (Area) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{r.Schema(reflect.TypeFor[Polygon](), true, ""),
		r.Schema(reflect.TypeFor[MultiPolygon](), true, "")}}
}

// MarshalJSON writes the area as GeoJSON.
func (a Area) MarshalJSON() ([]byte, error) {
	if len(a) == 1 {
		return json.Marshal(Polygon{"Polygon", a[0]})
	}
	return json.Marshal(MultiPolygon{"MultiPolygon", a})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Area) UnmarshalJSON(text []byte) (err error) {
	var g geometry
	if err = json.Unmarshal(text, &g); err == nil {
		*a, err = g.polygons()
	}
	return err
}

// geometry is a GeoJSON object. Other members of a file do not affect the area.
type geometry struct {
	Type        string          `json:"type"`
	Coordinates json.RawMessage `json:"coordinates"`
	Geometry    *geometry       `json:"geometry"`
	Geometries  []geometry      `json:"geometries"`
	Features    []geometry      `json:"features"`
}

// polygons returns the polygons of a Polygon or MultiPolygon as they are, without a
// check.
func (g geometry) polygons() (all Area, err error) {
	switch g.Type {
	case "Polygon":
		all = make(Area, 1)
		err = json.Unmarshal(g.Coordinates, &all[0])
	case "MultiPolygon":
		err = json.Unmarshal(g.Coordinates, (*[][][][]json.Number)(&all))
	default:
		return nil, fmt.Errorf("expected a GeoJSON Polygon or MultiPolygon, not %q", g.Type)
	}
	if err != nil {
		return nil, fmt.Errorf("the coordinates of the %s are malformed", g.Type)
	}
	return all, nil
}

// ParseArea reads an area from GeoJSON as cities publish it: a Polygon or a MultiPolygon,
// alone or as the only geometry of a Feature, FeatureCollection or GeometryCollection. It
// ignores a byte order mark, altitudes and other members. It turns rings into the
// direction of RFC 7946, and cuts an area that continues beyond 180 degrees. Rings that
// are open or cross each other are errors. The text of an error says what is wrong.
func ParseArea(text []byte) (Area, error) {
	var g geometry
	if err := json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &g); err != nil {
		return nil, errors.New("expected GeoJSON, and it is not")
	}
	for range 3 { // the deepest: a FeatureCollection of a Feature of a GeometryCollection
		within := append(g.Features, g.Geometries...)
		switch {
		case g.Type == "Feature" && g.Geometry != nil:
			g = *g.Geometry
		case (g.Type == "FeatureCollection" || g.Type == "GeometryCollection") && len(within) != 1:
			return nil, fmt.Errorf("expected a %s with one member, not %d; a zone has one area", g.Type, len(within))
		case len(within) == 1:
			g = within[0]
		}
	}
	given, err := g.polygons()
	if err != nil {
		return nil, err
	}
	var all []geom.Polygon
	for _, rings := range given {
		parts, err := parsePolygon(rings)
		if err != nil {
			return nil, err
		}
		all = append(all, parts...)
	}
	slices.SortStableFunc(all, func(a, b geom.Polygon) int { return cmp.Compare(b.Area(), a.Area()) })
	return areaOf(all)
}

// mostPositions is the maximum number of positions of an area. The audit entry
// of a change has the area before and after it, and must fit into an item.
const mostPositions = 5000

// areaOf returns the polygons as an area. Errors: no positions, or more than
// mostPositions.
func areaOf(all []geom.Polygon) (Area, error) {
	var area Area
	positions := 0
	for _, p := range all {
		var rings [][][]json.Number
		for _, line := range p.ForceCCW().Coordinates() {
			positions += line.Length()
			ring := make([][]json.Number, line.Length())
			for i := range ring {
				at := line.GetXY(i)
				ring[i] = []json.Number{decimals(at.X), decimals(at.Y)}
				_, _ = money.Within(&ring[i][0], 180), money.Within(&ring[i][1], 90) // round: a cut has more decimals
			}
			rings = append(rings, ring)
		}
		area = append(area, rings)
	}
	if positions == 0 {
		return nil, errors.New("the area has no positions")
	}
	if positions > mostPositions {
		return nil, fmt.Errorf("the area has %d positions, expected at most %d", positions, mostPositions)
	}
	return area, nil
}

// decimals returns the shortest decimal form of a number.
func decimals(x float64) json.Number { return json.Number(strconv.FormatFloat(x, 'f', -1, 64)) }

// parsePolygon returns a polygon, cut at the 180th meridian into polygons from -180 to
// 180 degrees. Errors: the polygon is not valid.
func parsePolygon(rings [][][]json.Number) ([]geom.Polygon, error) {
	var lines []geom.LineString
	for _, ring := range rings {
		line, err := parseRing(ring)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	p := geom.NewPolygon(lines)
	if err := p.Validate(); err != nil {
		return nil, errors.New(plainer.Replace(err.Error()))
	}
	least, most, ok := p.Envelope().MinMaxXYs()
	switch {
	case !ok:
		return nil, nil
	case most.Y < -60 || least.Y > 85:
		return nil, fmt.Errorf("no city is at latitude %s; GeoJSON puts the longitude first", decimals(least.Y))
	case least.X >= -180 && most.X <= 180:
		return []geom.Polygon{p}, nil
	}
	var parts []geom.Polygon
	for _, shift := range []float64{-360, 0, 360} {
		world := geom.NewEnvelope(geom.XY{X: shift - 180, Y: -90}, geom.XY{X: shift + 180, Y: 90})
		part, err := geom.Intersection(p.AsGeometry(), world.AsGeometry())
		if err != nil {
			return nil, fmt.Errorf("the area cannot be cut at the 180th meridian: %w", err)
		}
		part = part.TransformXY(func(at geom.XY) geom.XY { return geom.XY{X: at.X - shift, Y: at.Y} })
		for _, one := range part.Dump() {
			if one.IsPolygon() { // the intersection may also have a line on the meridian
				parts = append(parts, one.MustAsPolygon())
			}
		}
	}
	return parts, nil
}

// plainer replaces the error texts of the geometry library with simpler ones.
var plainer = strings.NewReplacer("validating ring at index", "ring", "polygon ring not simple",
	"the ring crosses or touches itself", "polygon has nested rings", "a hole lies in another hole",
	"polygon interior ring outside of exterior ring", "a hole lies outside the outer ring",
	"polygon has disconnected interior", "the holes cut the area into parts",
	"polygon rings intersect at multiple points", "a hole crosses or touches another ring")

// parseRing returns a ring. It omits repeated positions. Errors: the ring is open, has no
// area, or has positions out of range.
func parseRing(ring [][]json.Number) (geom.LineString, error) {
	var none geom.LineString
	var flat []float64
	for _, position := range ring {
		if len(position) < 2 {
			return none, errors.New("expected positions of longitude and latitude")
		}
		lng, lat := position[0], position[1]
		if !money.Within(&lat, 90) {
			return none, fmt.Errorf("expected a latitude from -90 to 90, not %s; GeoJSON puts the longitude first, in degrees",
				lat)
		}
		if !money.Within(&lng, 360) {
			return none, fmt.Errorf("expected a longitude in degrees, from -180 to 180, not %s", lng)
		}
		x, errX := lng.Float64()
		y, errY := lat.Float64()
		if err := errors.Join(errX, errY); err != nil {
			return none, err
		}
		if n := len(flat); n > 0 && (x-flat[n-2] > 180 || flat[n-2]-x > 180) {
			return none, fmt.Errorf("the edge from longitude %s to %s goes around the globe; cut the area at the 180th "+
				"meridian, or count on beyond 180", decimals(flat[n-2]), lng)
		} else if n == 0 || x != flat[n-2] || y != flat[n-1] {
			flat = append(flat, x, y)
		}
	}
	line := geom.NewLineString(geom.NewSequence(flat, geom.DimXY))
	switch {
	case !line.IsClosed():
		return none, errors.New("expected rings that end where they begin")
	case !line.ConvexHull().IsPolygon():
		return none, errors.New("expected rings that enclose an area; the positions of one lie on a line")
	}
	return line, nil
}

// Box returns the area between two meridians and two parallels. It goes
// eastwards from west. So if west is greater than east, it crosses the 180th
// meridian and is cut there.
func Box(west, south, east, north json.Number) (Area, error) {
	wrong := errors.New("expected west,south,east,north in degrees: from -180 to 180 and from -90 to 90, south below " +
		"north")
	for side, bound := range map[*json.Number]int64{&west: 180, &south: 90, &east: 180, &north: 90} {
		if !money.Within(side, bound) {
			return nil, wrong
		}
	}
	less := func(a, b json.Number) bool { x, _ := a.Float64(); y, _ := b.Float64(); return x < y }
	if !less(south, north) || west == east {
		return nil, wrong
	}
	box := func(west, east json.Number) [][][]json.Number {
		return [][][]json.Number{{{west, south}, {east, south}, {east, north}, {west, north}, {west, south}}}
	}
	if less(west, east) {
		return Area{box(west, east)}, nil
	}
	var area Area
	if west != "180" {
		area = append(area, box(west, "180"))
	}
	if east != "-180" {
		area = append(area, box("-180", east))
	}
	if len(area) == 0 {
		return nil, wrong
	}
	return area, nil
}
