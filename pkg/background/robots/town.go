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

// point is a place: latitude and longitude in degrees.
type point struct{ lat, lng float64 }

// The town of the robots is a grid of streets around the center that the roster names.
const (
	block   = 0.0018    // degrees of latitude between two streets, about 200 metres
	blocks  = 12        // number of streets from the center to each edge
	perDeg  = 111_195.0 // metres of a degree of latitude
	speed   = 11.0      // metres per second in town
	arrives = 5.0       // distance in metres at which a robot has arrived
)

// degrees returns a coordinate in the precision of phones, about ten centimetres.
func degrees(x float64) json.Number { return json.Number(strconv.FormatFloat(x, 'f', 6, 64)) }

// at returns the point of coordinates as they are stored: latitude and longitude in
// degrees.
func at(lat, lng json.Number) point {
	x, _ := lat.Float64() // always valid: checked before it was stored
	y, _ := lng.Float64()
	return point{x, y}
}

// east returns how many metres a degree of longitude has at the latitude.
func east(lat float64) float64 { return perDeg * max(0.01, math.Cos(lat*math.Pi/180)) }

// metres returns the distance to q along the streets.
func (p point) metres(q point) float64 {
	return math.Abs(p.lat-q.lat)*perDeg + math.Abs(p.lng-q.lng)*east(p.lat)
}

// towards returns the point that is so many metres nearer to q, first along the street,
// then along the avenue. heading is the direction of the move in degrees: 0 for north and
// 90 for east.
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

// cornerOf returns a corner that depends on the text only.
func cornerOf(text string) corner {
	return corner{chance(2*blocks+1, text, "street"), chance(2*blocks+1, text, "avenue")}
}

// side returns one of the four neighboring corners; the text decides which.
func (c corner) side(text string) corner {
	move := []corner{{1, 0}, {-1, 0}, {0, 1}, {0, -1}}[chance(4, text)]
	return corner{min(max(c.street+move.street, 0), 2*blocks), min(max(c.avenue+move.avenue, 0), 2*blocks)}
}

// address returns the postal address of a corner.
func (c corner) address() string {
	return fmt.Sprintf("Street %d, corner of Avenue %d", c.street+1, c.avenue+1)
}

// in returns the coordinates of the corner in the town of the roster, the list of a
// sandbox's robots.
func (c corner) in(r sandbox.Roster) point {
	mid := at(r.Lat, r.Lng)
	return point{mid.lat + float64(c.street-blocks)*block,
		mid.lng + float64(c.avenue-blocks)*block*perDeg/east(mid.lat)}
}

// nearest returns the corner of the town that is nearest to the point.
func nearest(r sandbox.Roster, p point) corner {
	mid := at(r.Lat, r.Lng)
	clamp := func(x float64) int { return min(max(int(math.Round(x))+blocks, 0), 2*blocks) }
	return corner{clamp((p.lat - mid.lat) / block), clamp((p.lng - mid.lng) * east(mid.lat) / perDeg / block)}
}

// far is the distance to a rider beyond which a robot does not drive, but appears near
// the rider.
const far = 10_000.0

// day is the number of rides that robot riders order in each hour of the day, in a town
// with ten robot drivers.
var day = [24]int{6, 4, 3, 3, 4, 8, 14, 20, 22, 18, 14, 14, 16, 16, 14, 15, 18, 22, 24, 22, 18, 16, 14, 10}

// ordered returns how many rides the robot riders order in a minute. The hour of the
// day follows from the longitude, not from a time zone.
func ordered(r sandbox.Roster, minute time.Time) int {
	sun := time.Duration(at(r.Lat, r.Lng).lng / 15 * float64(time.Hour))
	thousandths := len(r.Drivers) * day[minute.UTC().Add(sun).Hour()] * 1000 / 10 / 60
	n := thousandths / 1000
	if chance(1000, minute.Format(time.RFC3339)) < thousandths%1000 {
		n++
	}
	return n
}

// kilometres returns the distance between two points along the great circle.
func kilometres(p, q point) float64 {
	return location.At(degrees(p.lat), degrees(p.lng)).Kilometres(location.At(degrees(q.lat), degrees(q.lng)))
}
