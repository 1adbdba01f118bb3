package location

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/golang/geo/s1"
	"github.com/golang/geo/s2"

	"svc/pkg/data/table"
)

// The levels of S2 cells that lists by place use. The tokens of the cells of level listed
// inside of a larger cell are one range.
const (
	partitioned = 9  // level of the cells that have an index partition each, about 18 km wide
	listed      = 13 // level of the cell of an entry, about 1.1 km wide
)

// earth is the mean radius of the earth in kilometres (IUGG).
const earth = 6371.0088

// Place is a point on the earth.
type Place struct{ point s2.LatLng }

// At returns the place with the coordinates, in degrees.
func At(lat, lng json.Number) Place {
	x, _ := lat.Float64() // cannot fail: coordinates are checked before they are stored
	y, _ := lng.Float64()
	return Place{s2.LatLngFromDegrees(x, y)}
}

// Kilometres returns the distance of two places along the great circle.
func (p Place) Kilometres(q Place) float64 { return p.point.Distance(q.point).Radians() * earth }

// cell returns the S2 cell of the level listed that contains the place.
func (p Place) cell() s2.CellID { return s2.CellIDFromLatLng(p.point).Parent(listed) }

// margin is how far, in kilometres, a driver may be outside of the cell of its entry
// before the entry is replaced. Without it, a parked car at the edge of a cell would get
// a new entry whenever its measured position varies.
const margin = 0.1

// near reports whether the place lies in the cell with the token, or at most
// margin outside of it.
func (p Place) near(token string) bool {
	id := s2.CellIDFromToken(token)
	return id.IsValid() && s2.CellFromCellID(id).Distance(s2.PointFromLatLng(p.point)).Angle().Radians()*earth <= margin
}

// mostRanges is the maximum number of spans into which a circle is divided. A circle whose
// radius is above about 20 km may have more.
const mostRanges = 8

// span is a range of positions in one index partition of a list by place.
type span struct {
	partition string
	from, to  string // positions; to is excluded
}

// around returns the spans whose cells cover the circle, nearest first. list is the name
// of a list by place.
func (p Place) around(t table.Tenant, list string, kilometres float64) []span {
	coverer := s2.RegionCoverer{MinLevel: partitioned, MaxLevel: listed, MaxCells: mostRanges}
	center := s2.PointFromLatLng(p.point)
	cells := coverer.Covering(s2.CapFromCenterAngle(center, s1.Angle((kilometres+margin)/earth)))
	slices.SortStableFunc(cells, func(a, b s2.CellID) int {
		return cmp.Compare(s2.CellFromCellID(a).Distance(center), s2.CellFromCellID(b).Distance(center))
	})
	out := make([]span, len(cells))
	for i, id := range cells {
		out[i] = span{partition(t, list, id), id.ChildBeginAtLevel(listed).ToToken(), id.ChildEndAtLevel(listed).ToToken()}
	}
	return out
}

// Entry returns where a list by place has the entry with the id, for the place p: the
// partition and the range key in the index byPlace.
func Entry(t table.Tenant, list string, p Place, id string) (g, position string) {
	return partition(t, list, p.cell()), p.cell().ToToken() + "#" + id
}

// partition returns the index partition of the list by place for a cell. Each cell of the
// level partitioned has a partition, which is also that of the smaller cells inside of it.
func partition(t table.Tenant, list string, cell s2.CellID) string {
	return t.Partition(list, cell.Parent(partitioned).ToToken())
}
