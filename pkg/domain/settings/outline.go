package settings

import (
	"encoding/json"
	"math"

	"svc/pkg/domain/location"
)

// outline is the part of an area inside of a box. It has one element for each polygon of
// which something is in the box.
type outline []part

// part is the part of a polygon inside of a box. Lines are the pieces of the polygon's
// rings that touch the box. At is a point in the box, and In says whether it is in the
// polygon. Another point of the box is in the polygon too if the path from it to At
// crosses an even number of edges; see holds.
type part struct {
	At    [2]float64     `json:"at"`
	In    bool           `json:"in,omitempty"`
	Lines [][][2]float64 `json:"lines,omitempty"`
}

// outline returns the whole area as an outline, whose box is location.World. At is a
// point outside of it.
func (a Area) outline() (outline, error) {
	var out outline
	for _, rings := range a {
		p := part{At: [2]float64{location.World.West - 1, location.World.South - 1}}
		for _, ring := range rings {
			line := make([][2]float64, len(ring))
			for i, position := range ring {
				for axis := range 2 {
					var err error
					if line[i][axis], err = position[axis].Float64(); err != nil {
						return nil, err
					}
				}
			}
			p.Lines = append(p.Lines, line)
		}
		out = append(out, p)
	}
	return out, nil
}

// positions returns the number of positions of all lines.
func (o outline) positions() (n int) {
	for _, p := range o {
		for _, line := range p.Lines {
			n += len(line)
		}
	}
	return n
}

// Within implements location.Region.
func (o outline) Within(b location.Box) (in location.Region, full bool) {
	var parts outline
	for _, p := range o {
		smaller := p.within(b)
		switch {
		case smaller.In && smaller.Lines == nil:
			return outline{smaller}, true
		case smaller.Lines != nil:
			parts = append(parts, smaller)
		}
	}
	if parts == nil {
		return nil, false
	}
	return parts, false
}

// within returns the part inside of a smaller box.
func (p part) within(b location.Box) part {
	x, y := b.Center()
	out := part{At: [2]float64{x, y}, In: p.holds(x, y)}
	for _, line := range p.Lines {
		from := -1 // index at which the current piece of the line begins; -1 for none
		for i := 1; i <= len(line); i++ {
			touches := i < len(line) && touches(line[i-1], line[i], b)
			switch {
			case touches && from < 0:
				from = i - 1
			case !touches && from >= 0:
				out.Lines, from = append(out.Lines, line[from:i]), -1
			}
		}
	}
	return out
}

// touches reports whether the edge from a to c has a point in the box b. It may also be
// true for an edge beside the box, if the line through a and c crosses the box.
func touches(a, c [2]float64, b location.Box) bool {
	around := location.Box{West: min(a[0], c[0]), South: min(a[1], c[1]), East: max(a[0], c[0]), North: max(a[1], c[1])}
	if !around.Overlaps(b) {
		return false
	}
	var left, right bool // whether the box has corners left and right of the line, or on it
	for _, corner := range [][2]float64{{b.West, b.South}, {b.East, b.South}, {b.East, b.North}, {b.West, b.North}} {
		side := (c[0]-a[0])*(corner[1]-a[1]) - (c[1]-a[1])*(corner[0]-a[0])
		left, right = left || side >= 0, right || side <= 0
	}
	return left && right
}

// holds reports whether a point of the part's box, which is not on a line, is in the
// polygon. It counts the edges that the path from the point to At crosses. The path goes
// along the parallel of the point, and then along the meridian of At.
func (p part) holds(x, y float64) bool {
	in := p.In
	for _, line := range p.Lines {
		for i := 1; i < len(line); i++ {
			x1, y1, x2, y2 := line[i-1][0], line[i-1][1], line[i][0], line[i][1]
			if (y1 > y) != (y2 > y) {
				if cut := x1 + (y-y1)/(y2-y1)*(x2-x1); (cut > x) != (cut > p.At[0]) {
					in = !in
				}
			}
			if (x1 > p.At[0]) != (x2 > p.At[0]) {
				if cut := y1 + (p.At[0]-x1)/(x2-x1)*(y2-y1); (cut > y) != (cut > p.At[1]) {
					in = !in
				}
			}
		}
	}
	return in
}

// border is how far from an edge, in degrees, a point may be that counts as lying on it:
// a tenth of the last decimal of a coordinate.
const border = 1e-10

// contains reports whether a point of the outline's box, in degrees, lies in the area or
// on its border.
func (o outline) contains(point [2]float64) bool {
	for _, p := range o {
		if p.holds(point[0], point[1]) {
			return true
		}
		for _, line := range p.Lines {
			for i := 1; i < len(line); i++ {
				if distance(point, line[i-1], line[i]) <= border {
					return true
				}
			}
		}
	}
	return false
}

// distance returns the distance of the point from the edge from a to b, in degrees.
func distance(point, a, b [2]float64) float64 {
	dx, dy := b[0]-a[0], b[1]-a[1]
	along := 0.0
	if length := dx*dx + dy*dy; length > 0 {
		along = max(0, min(1, ((point[0]-a[0])*dx+(point[1]-a[1])*dy)/length))
	}
	return math.Hypot(point[0]-a[0]-along*dx, point[1]-a[1]-along*dy)
}

// contains reports whether the point, in degrees, lies in the area or on its border. The
// longitudes 180 and -180 are the same.
func (a Area) contains(lat, lng json.Number) (bool, error) {
	points, err := location.Sides(lat, lng)
	if err != nil {
		return false, err
	}
	o, err := a.outline()
	if err != nil {
		return false, err
	}
	for _, p := range points {
		if o.contains(p) {
			return true, nil
		}
	}
	return false, nil
}
