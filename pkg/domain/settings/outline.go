package settings

import (
	"encoding/json"
	"math"

	"svc/pkg/domain/location"
)

// outline is what is in a box of an area: a part for each polygon with something in it.
type outline []part

// part is what is in a box of a polygon. Lines are the pieces of its rings that touch
// the box. At is a point in the box, and In says whether it is in the polygon. The
// polygon holds another point of the box if an odd number of the lines' edges lies
// between the two, or none and At is in it.
type part struct {
	At    [2]float64     `json:"at"`
	In    bool           `json:"in,omitempty"`
	Lines [][][2]float64 `json:"lines,omitempty"`
}

// outline returns the area as it is in the box of the world.
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

// positions counts the positions of the lines.
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

// within returns what is in a box within the part's own.
func (p part) within(b location.Box) part {
	x, y := b.Center()
	out := part{At: [2]float64{x, y}, In: p.holds(x, y)}
	for _, line := range p.Lines {
		from := -1 // of a piece
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

// touches reports whether the edge has a point in the box. It may also be true for an
// edge beside the box whose line goes through it.
func touches(a, c [2]float64, b location.Box) bool {
	around := location.Box{West: min(a[0], c[0]), South: min(a[1], c[1]), East: max(a[0], c[0]), North: max(a[1], c[1])}
	if !around.Overlaps(b) {
		return false
	}
	var left, right bool // corners of the box
	for _, corner := range [][2]float64{{b.West, b.South}, {b.East, b.South}, {b.East, b.North}, {b.West, b.North}} {
		side := (c[0]-a[0])*(corner[1]-a[1]) - (c[1]-a[1])*(corner[0]-a[0])
		left, right = left || side >= 0, right || side <= 0
	}
	return left && right
}

// holds reports whether a point of the part's box, not on a line, is in the polygon. It
// counts the edges on the way to At, along the parallel and then along the meridian.
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

// border is how far from a line a point may be that lies on it, in degrees: a tenth of
// the last decimal of a coordinate.
const border = 1e-10

// contains reports whether a point of the box, in degrees, lies in the area or on its
// border.
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

// distance returns how far the point is from the edge from a to b.
func distance(point, a, b [2]float64) float64 {
	dx, dy := b[0]-a[0], b[1]-a[1]
	along := 0.0
	if length := dx*dx + dy*dy; length > 0 {
		along = max(0, min(1, ((point[0]-a[0])*dx+(point[1]-a[1])*dy)/length))
	}
	return math.Hypot(point[0]-a[0]-along*dx, point[1]-a[1]-along*dy)
}

// contains reports whether the point, in degrees, lies in the area or on its
// border. Both sides of the 180th meridian are the same.
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
