package location

import (
	"encoding/json"
	"math"

	"github.com/golang/geo/s2"
)

// Box is a rectangle of longitude and latitude, in degrees. Its sides belong to it.
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
	// full reports whether the part fills the box. The region itself must be within a
	// box that holds this one.
	Within(b Box) (part Region, full bool)
}

// Covering is a cell of a cover, and what is in it of the region.
type Covering struct {
	Token string // of the cell of S2
	Box   Box    // around the cell
	Part  Region
	Full  bool
}

// The levels of the cells of a cover: 1, 4, 7, 10 and 13. A cell of level 1 is about
// 4,600 km wide. The narrowest are those by which drivers are listed.
const coverTop, coverStep = 1, 3

// Cover returns cells that cover the region. It divides the cells as long as there are
// at most so many; 24 cells, which need no division, may always be there.
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

// within returns the cells of a level in the cell that have a part of the region.
func within(r Region, id s2.CellID, level int) (out []Covering) {
	for c := id.ChildBeginAtLevel(level); c != id.ChildEndAtLevel(level); c = c.Next() {
		b := boxOf(c)
		if part, full := r.Within(b); part != nil {
			out = append(out, Covering{c.ToToken(), b, part, full})
		}
	}
	return out
}

// boxOf returns a box around a cell. No cell of a cover crosses the 180th meridian.
func boxOf(id s2.CellID) Box {
	const slack = 1e-9 // degrees
	rect := s2.CellFromCellID(id).RectBound()
	b := Box{degrees(rect.Lng.Lo), degrees(rect.Lat.Lo), degrees(rect.Lng.Hi), degrees(rect.Lat.Hi)}
	if b.West > b.East { // by the bound's own slack, beyond the meridian
		if 180-b.West < 180+b.East {
			b.West = -180
		} else {
			b.East = 180
		}
	}
	return Box{max(b.West-slack, -180), max(b.South-slack, -90), min(b.East+slack, 180), min(b.North+slack, 90)}
}

func degrees(radians float64) float64 { return radians * 180 / math.Pi }

// Sides returns the point in degrees. For one on the 180th meridian it returns the
// point on both sides.
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

// Coverings returns the tokens of the cells of covers that hold the point, in degrees.
func Coverings(point [2]float64) (tokens []string) {
	// On the meridian itself a side's cell is the one beside it.
	lng := max(-180+1e-9, min(180-1e-9, point[0]))
	leaf := s2.CellIDFromLatLng(s2.LatLngFromDegrees(point[1], lng))
	for level := coverTop; level <= listed; level += coverStep {
		tokens = append(tokens, leaf.Parent(level).ToToken())
	}
	return tokens
}
