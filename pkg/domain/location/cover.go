package location

import (
	"encoding/json"
	"math"

	"github.com/golang/geo/s2"
)

// Box is a rectangle of longitude and latitude, in degrees. Points on its edges belong to
// it.
type Box struct{ West, South, East, North float64 }

// World is the box of all coordinates.
var World = Box{-180, -90, 180, 90}

// Overlaps reports whether the boxes have a point in common.
func (b Box) Overlaps(o Box) bool {
	return b.West <= o.East && o.West <= b.East && b.South <= o.North && o.South <= b.North
}

// Center returns the longitude and the latitude of the middle of the box.
func (b Box) Center() (x, y float64) { return (b.West + b.East) / 2, (b.South + b.North) / 2 }

// Region is a part of the plane of longitude and latitude.
type Region interface {
	// Within returns the part of the region that is in the box, or nil if there is none.
	// full reports whether the part fills the box. The part is known only inside of the
	// box: a call of the part's Within must have a box inside of it.
	Within(b Box) (part Region, full bool)
}

// Covering is one cell of the result of Cover: an S2 cell, which is a small area of the
// earth, and the part of the region in the cell.
type Covering struct {
	Token string // S2's name of the cell
	Box   Box    // a box around the cell
	Part  Region // the part of the region in the cell
	Full  bool   // the region fills the cell
}

// coverTop and coverStep say which levels of S2 cells Cover uses: 1, 4, 7, 10 and 13. A
// cell of level 1 is about 4,600 km wide. A cell of level 13, the level listed, is about
// 1.1 km wide.
const coverTop, coverStep = 1, 3

// Cover returns S2 cells that together cover the region. It divides cells into smaller
// ones as long as their number does not exceed most. The result may have up to 24 cells
// even if most is less.
func Cover(r Region, most int) []Covering {
	var done, open []Covering
	for face := range 6 {
		open = append(open, within(r, s2.CellIDFromFace(face), coverTop)...)
	}
	for len(open) > 0 {
		c := open[0]
		open = open[1:]
		id := s2.CellIDFromToken(c.Token)
		if c.Full || id.Level() >= listed {
			done = append(done, c)
			continue
		}
		if smaller := within(c.Part, id, id.Level()+coverStep); len(done)+len(open)+len(smaller) <= most {
			open = append(open, smaller...)
		} else {
			done = append(done, c)
		}
	}
	return done
}

// within returns the S2 cells of the given level, inside of the cell id, that contain a
// part of the region.
func within(r Region, id s2.CellID, level int) (out []Covering) {
	for c := id.ChildBeginAtLevel(level); c != id.ChildEndAtLevel(level); c = c.Next() {
		b := boxOf(c)
		if part, full := r.Within(b); part != nil {
			out = append(out, Covering{c.ToToken(), b, part, full})
		}
	}
	return out
}

// boxOf returns a box around an S2 cell. The cell must have a level that Cover uses: such
// a cell does not cross the 180th meridian.
func boxOf(id s2.CellID) Box {
	const slack = 1e-9 // degrees
	rect := s2.CellFromCellID(id).RectBound()
	b := Box{degrees(rect.Lng.Lo), degrees(rect.Lat.Lo), degrees(rect.Lng.Hi), degrees(rect.Lat.Hi)}
	if b.West > b.East { // S2 makes the bound a little too wide, here beyond the meridian
		if 180-b.West < 180+b.East {
			b.West = -180
		} else {
			b.East = 180
		}
	}
	return Box{max(b.West-slack, -180), max(b.South-slack, -90), min(b.East+slack, 180), min(b.North+slack, 90)}
}

// degrees converts an angle from radians to degrees.
func degrees(radians float64) float64 { return radians * 180 / math.Pi }

// Sides returns the point as longitude and latitude, in degrees. A point on the 180th
// meridian has two forms, at 180 and at -180; Sides returns both.
func Sides(lat, lng json.Number) (points [][2]float64, err error) {
	y, err := lat.Float64()
	if err != nil {
		return nil, err
	}
	x, err := lng.Float64()
	if err != nil {
		return nil, err
	}
	if math.Abs(x) == 180 {
		return [][2]float64{{180, y}, {-180, y}}, nil
	}
	return [][2]float64{{x, y}}, nil
}

// Coverings returns the tokens of the S2 cells that hold the point, one of each level
// that Cover uses. The point is longitude and latitude, in degrees.
func Coverings(point [2]float64) (tokens []string) {
	// For a point on the 180th meridian, take the cell on its own side of the meridian.
	lng := max(-180+1e-9, min(180-1e-9, point[0]))
	leaf := s2.CellIDFromLatLng(s2.LatLngFromDegrees(point[1], lng))
	for level := coverTop; level <= listed; level += coverStep {
		tokens = append(tokens, leaf.Parent(level).ToToken())
	}
	return tokens
}
