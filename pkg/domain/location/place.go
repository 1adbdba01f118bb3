package location

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/golang/geo/s1"
	"github.com/golang/geo/s2"

	"svc/pkg/data/table"
)

// The levels of cells. All cells inside of a larger cell are one range of listed
// cells.
const (
	partitioned = 9  // of an index partition, about 18 km wide
	listed      = 13 // by which entries are ordered, about 1.1 km wide
)

// earth is the mean radius of the earth in kilometres (IUGG).
const earth = 6371.0088

// Place is a point on the earth.
type Place struct{ point s2.LatLng }

// At returns the place with the coordinates, in degrees.
func At(lat, lng json.Number) Place {
	x, _ := lat.Float64() // checked when they were stored
	y, _ := lng.Float64()
	return Place{s2.LatLngFromDegrees(x, y)}
}

// Kilometres returns the distance of two places along the great circle.
func (p Place) Kilometres(q Place) float64 { return p.point.Distance(q.point).Radians() * earth }

func (p Place) cell() s2.CellID { return s2.CellIDFromLatLng(p.point).Parent(listed) }

// margin is how far outside of its listed cell a place may lie without being
// listed anew, in kilometres. A parked car whose measured position varies at the
// edge of a cell would else be listed anew again and again.
const margin = 0.1

// near reports whether the place lies in the cell with the token, or at most
// margin outside of it.
func (p Place) near(token string) bool {
	id := s2.CellIDFromToken(token)
	return id.IsValid() && s2.CellFromCellID(id).Distance(s2.PointFromLatLng(p.point)).Angle().Radians()*earth <= margin
}

// mostRanges is how many ranges cover a circle, unless its radius is above about
// 20 km.
const mostRanges = 8

// span is the range of listed cells inside of a cell of one partition.
type span struct {
	partition string
	from, to  string // positions; to is excluded
}

// around returns the spans whose cells cover the circle, nearest first. A list's
// partitions have the given name.
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

// Entry returns the partition and the position, in the index byPlace, of the entry
// with the id in a list by place.
func Entry(t table.Tenant, list string, p Place, id string) (g, position string) {
	return partition(t, list, p.cell()), p.cell().ToToken() + "#" + id
}

// partition returns the index partition of a list in which the cell is.
func partition(t table.Tenant, list string, cell s2.CellID) string {
	return t.Partition(list, cell.Parent(partitioned).ToToken())
}
