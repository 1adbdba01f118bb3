package seed

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/shopspring/decimal"

	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/domain/tenant"
)

// generator creates a run's trips in order of their requests. Two generators
// with the same plan and tenant create the same trips.
type generator struct {
	p        plan
	slug     string
	currency string
	now      time.Time
	key      uint64 // seeds the random sources of the run's people
	source   *rand.ChaCha8
	rng      *rand.Rand
	clock    clock
	drivers  []*actor
	riders   []*actor // sorted by the time they joined
	known    int      // number of riders who had joined by the last ride
	made     int      // number of rides created so far
}

// recent is the minimum time from the request of a finished trip to now. It is
// longer than the longest trip.
const recent = 90 * time.Minute

// newGenerator returns a generator that has created the run's drivers and riders, and no
// ride yet.
func newGenerator(p plan, n tenant.Tenant) (*generator, error) {
	now, err := timestamp.Parse(p.Now)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s/%d", p.Seed, n.ID, p.Run))
	source := rand.NewChaCha8(sum)
	start := now.AddDate(0, 0, -p.Days)
	g := &generator{p: p, slug: n.Slug, currency: n.Currency, now: now, key: binary.LittleEndian.Uint64(sum[:]),
		source: source,
		rng:    rand.New(source), clock: newClock(start, now.Add(-recent))} //nolint:gosec // made-up trips
	for n := range p.drivers() {
		since := start.AddDate(0, 0, -1-g.rng.IntN(400))
		g.drivers = append(g.drivers, g.actor(ids.Driver, n, since))
	}
	// Two of five riders had joined before the first trip.
	old := p.riders() * 2 / 5
	joined := newClock(start, now.Add(-recent))
	for n := range p.riders() {
		since := start.Add(-time.Duration(float64(old-n) / float64(max(old,
			1)) * float64(300*24*time.Hour))).Truncate(time.Millisecond)
		if n >= old {
			since = joined.at(float64(n-old) / float64(p.riders()-old))
		}
		g.riders = append(g.riders, g.actor(ids.Customer, n, since))
	}
	g.known = max(old, 1)
	return g, nil
}

// actor creates the n-th driver or rider (kind), who joined at the time since.
func (g *generator) actor(kind string, n int, since time.Time) *actor {
	a := &actor{id: g.id(kind, since), n: n, first: one(g.rng, firstNames), last: one(g.rng, lastNames), since: since}
	if own, ok := surnames[a.first]; ok {
		a.last = own
	}
	return a
}

// id creates an identifier of the kind and time, from the run's random source.
func (g *generator) id(kind string, at time.Time) string { return idFrom(g.source, kind, at) }

// idOf creates an identifier of the kind and time, from the random source r of a person.
func (g *generator) idOf(r *rand.Rand, kind string, at time.Time) string {
	return idFrom(noise{r}, kind, at)
}

// idFrom creates an identifier of the kind and time, with random bits from chance.
func idFrom(chance io.Reader, kind string, at time.Time) string {
	return kind + "_" + ulid.MustNew(ulid.Timestamp(at), chance).String()
}

// noise makes a random source a reader of random bytes.
type noise struct{ *rand.Rand }

// Read implements io.Reader.
func (n noise) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(n.Uint32())
	}
	return len(p), nil
}

// crockford has the characters of codes: Crockford's base 32, without I, L, O and U.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// code creates the code of a trip or an order: eight random characters.
func (g *generator) code() string {
	var out [8]byte
	bits := g.rng.Uint64()
	for i := range out {
		out[i], bits = crockford[bits&31], bits>>5
	}
	return string(out[:])
}

// point is a point of the city, with an address.
type point struct {
	address  string
	lat, lng json.Number
	x, y     int64 // latitude and longitude in 1/100,000 degree
}

// point picks a random point of the city. Points are denser in the middle.
func (g *generator) point(r *rand.Rand) point {
	// The sum of two random numbers is more often near the middle of its range.
	x, y := g.p.Center[0]+r.Int64N(6000)+r.Int64N(6000)-6000, g.p.Center[1]+r.Int64N(8000)+r.Int64N(8000)-8000
	return point{fmt.Sprintf("%d %s", 1+r.IntN(320), one(r, streets)), degrees(x), degrees(y), x, y}
}

// degrees converts 1/100,000 degree to a JSON number of degrees.
func degrees(n int64) json.Number { return json.Number(decimal.New(n, -5).String()) }

// tenthsOfKm returns the road distance from a to b in tenths of a kilometre,
// 0.8 to 28 kilometres.
func tenthsOfKm(a, b point) int64 {
	dx, dy := float64(a.x-b.x)*1.11, float64(a.y-b.y)*1.11*math.Cos(float64(a.x)/1e5*math.Pi/180) // in metres
	return min(max(int64(math.Hypot(dx, dy)*1.3/100), 8), 280)
}

// rider picks a rider who had joined by the time at. at must not decrease from call to
// call.
func (g *generator) rider(at time.Time) *actor {
	for g.known < len(g.riders) && !g.riders[g.known].since.After(at) {
		g.known++
	}
	return g.pick(g.riders[:g.known], at)
}

// there returns the riders who had joined by the time at, at least one.
func (g *generator) there(at time.Time) []*actor {
	n, _ := slices.BinarySearchFunc(g.riders, at, func(a *actor, at time.Time) int { return a.since.Compare(at) })
	return g.riders[:max(n, 1)]
}

// driver picks a driver, who is free at the time at if pick finds one.
func (g *generator) driver(at time.Time) *actor { return g.pick(g.drivers, at) }

// pick picks a person, the first ones more often than the last ones. It tries up to twelve
// times to find a person who is free at the time at.
func (g *generator) pick(from []*actor, at time.Time) *actor {
	var a *actor
	for range 12 {
		a = from[int(float64(len(from))*math.Pow(g.rng.Float64(), 1.4))]
		if !a.free.After(at) {
			break
		}
	}
	return a
}
