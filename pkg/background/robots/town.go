package robots

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"svc/pkg/domain/location"
	"svc/pkg/domain/sandbox"
)

// point is a place in degrees.
type point struct{ lat, lng float64 }

// The grid of streets: blocks of about 200 metres, so many in each direction.
const (
	block   = 0.0018 // degrees of latitude
	blocks  = 12
	perDeg  = 111_195.0 // metres of a degree of latitude
	speed   = 11.0      // metres per second in town
	arrives = 5.0       // metres at which a robot is there
)

// degrees returns a coordinate in the precision of phones, about ten centimetres.
func degrees(x float64) json.Number { return json.Number(strconv.FormatFloat(x, 'f', 6, 64)) }

func at(lat, lng json.Number) point {
	x, _ := lat.Float64() // checked when they were stored
	y, _ := lng.Float64()
	return point{x, y}
}

// east returns the metres of a degree of longitude at the latitude.
func east(lat float64) float64 { return perDeg * max(0.01, math.Cos(lat*math.Pi/180)) }

// metres is the way along the streets.
func (p point) metres(q point) float64 {
	return math.Abs(p.lat-q.lat)*perDeg + math.Abs(p.lng-q.lng)*east(p.lat)
}

// towards returns the place so many metres nearer to q, first along the street,
// then along the avenue, and the heading.
func (p point) towards(q point, metres float64) (next point, heading int) {
	if way := (q.lng - p.lng) * east(p.lat); math.Abs(way) > 1 {
		if heading = 90; way < 0 {
			heading = 270
		}
		if math.Abs(way) > metres {
			return point{p.lat, p.lng + math.Copysign(metres, way)/east(p.lat)}, heading
		}
		metres, p.lng = metres-math.Abs(way), q.lng
	}
	way := (q.lat - p.lat) * perDeg
	if math.Abs(way) > 1 {
		if heading = 0; way < 0 {
			heading = 180
		}
	}
	if math.Abs(way) <= metres {
		return q, heading
	}
	return point{p.lat + math.Copysign(metres, way)/perDeg, p.lng}, heading
}

// corner is where a street and an avenue of the town cross.
type corner struct{ street, avenue int }

// cornerOf returns a corner that the text picks.
func cornerOf(text string) corner {
	return corner{chance(2*blocks+1, text, "street"), chance(2*blocks+1, text, "avenue")}
}

// side returns a corner next to it, which the text picks.
func (c corner) side(text string) corner {
	move := []corner{{1, 0}, {-1, 0}, {0, 1}, {0, -1}}[chance(4, text)]
	return corner{min(max(c.street+move.street, 0), 2*blocks), min(max(c.avenue+move.avenue, 0), 2*blocks)}
}

func (c corner) address() string {
	return fmt.Sprintf("Street %d, corner of Avenue %d", c.street+1, c.avenue+1)
}

func (c corner) in(r sandbox.Roster) point {
	mid := at(r.Lat, r.Lng)
	return point{mid.lat + float64(c.street-blocks)*block,
		mid.lng + float64(c.avenue-blocks)*block*perDeg/east(mid.lat)}
}

// nearest returns the corner next to the place.
func nearest(r sandbox.Roster, p point) corner {
	mid := at(r.Lat, r.Lng)
	clamp := func(x float64) int { return min(max(int(math.Round(x))+blocks, 0), 2*blocks) }
	return corner{clamp((p.lat - mid.lat) / block), clamp((p.lng - mid.lng) * east(mid.lat) / perDeg / block)}
}

// far is the distance to a rider beyond which a robot does not drive, but appears near
// the rider.
const far = 10_000.0

// day is the number of rides that are ordered for ten robots in each hour of the day.
var day = [24]int{6, 4, 3, 3, 4, 8, 14, 20, 22, 18, 14, 14, 16, 16, 14, 15, 18, 22, 24, 22, 18, 16, 14, 10}

// ordered returns how many rides the robot riders order in a minute. The hour is
// that of the sun.
func ordered(r sandbox.Roster, minute time.Time) int {
	sun := time.Duration(at(r.Lat, r.Lng).lng / 15 * float64(time.Hour))
	thousandths := len(r.Drivers) * day[minute.UTC().Add(sun).Hour()] * 1000 / 10 / 60
	n := thousandths / 1000
	if chance(1000, minute.Format(time.RFC3339)) < thousandths%1000 {
		n++
	}
	return n
}

// kilometres is the great circle between two places.
func kilometres(p, q point) float64 {
	return location.At(degrees(p.lat), degrees(p.lng)).Kilometres(location.At(degrees(q.lat), degrees(q.lng)))
}
