package model

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Result is what the table did on a day.
type Result struct {
	Day
	Shards       int
	Rides        float64 // of the day
	Before, Then int     // partitions of the table and its indexes, at the start and at the end
	Asked        Load    // units that requests needed
	Throttled    Load    // units that could not wait
	P99          float64 // seconds that served units waited
	Bytes        float64 // stored at the end
	Hot          []Hot   // keys by what they lost, the worst first
}

// Hot is a shape of keys at which units were throttled.
type Hot struct {
	Shape  string
	First  float64 // hour of the day at which the first units were lost
	Lost   float64 // units
	Tenant string  // "largest", "others" or "all"
}

// Simulate runs a day.
func Simulate(t Trace, mix []Share, d Day) Result {
	random := rand.New(rand.NewPCG(d.Seed, 1)) //nolint:gosec // a simulation, not a secret
	units, requests := t.mixed(mix)
	spaces, even := d.spaces(t, units, random)
	s := &simulation{Result: Result{Day: d, Shards: t.Shards}, hot: map[string]*Hot{}}
	_, busiest := d.rides(18.5, requests)
	needs := map[string]Load{}
	for _, one := range spaces {
		s.Before += len(one.partitions)
		needs[one.name] = even[one.name].times(busiest).plus(one.hottest(busiest, d))
	}
	for at := 0.0; at < 86400; at += Step {
		each, whole := d.rides(at/3600, requests)
		s.Rides += whole * Step
		batch := min(most, whole*changes/float64(lanes*len(spaces[0].partitions)))
		for _, one := range spaces {
			one.rate(each, whole, batch, even[one.name], random)
			s.step(one, needs[one.name], at/3600)
		}
	}
	for _, one := range spaces {
		s.Then += len(one.partitions)
		s.Bytes += t.Stored[one.name] * (d.Trips + s.Rides)
	}
	s.P99 = s.waits.rank(0.99)
	for _, h := range s.hot {
		s.Hot = append(s.Hot, *h)
	}
	slices.SortFunc(s.Hot, func(a, b Hot) int {
		return cmp.Or(cmp.Compare(b.Lost, a.Lost), cmp.Compare(a.Shape, b.Shape), cmp.Compare(a.Tenant, b.Tenant))
	})
	return s.Result
}

// hottest returns the units a second that the space's keys need at the given number
// of rides a second.
func (s *space) hottest(rides float64, d Day) (out Load) {
	for _, p := range s.partitions {
		for _, k := range p.keys {
			share := 1.0
			if k.tenant != all {
				share = d.weight(k.tenant)
			}
			out = out.plus(k.per.times(rides * share))
		}
	}
	return out
}

type simulation struct {
	Result
	waits histogram
	hot   map[string]*Hot
}

// step simulates one step of a space. needs is the units a second that the space
// needs at the busiest time.
func (s *simulation) step(one *space, needs Load, hour float64) {
	c := s.admit(one, needs)
	for i := 0; i < len(one.partitions); i++ {
		p := one.partitions[i]
		asked := one.demand(p)
		reads, writes := p.serve(asked, c(asked), Step)
		s.Asked = s.Asked.plus(Load{reads.asked, writes.asked})
		s.waits.add(reads.wait, reads.served)
		s.waits.add(writes.wait, writes.served)
		lost := reads.throttled + writes.throttled
		if lost == 0 {
			p.hotFor = max(0, p.hotFor-Step)
			continue
		}
		s.Throttled = s.Throttled.plus(Load{reads.throttled, writes.throttled})
		s.blame(one, p, lost, hour)
		if p.hotFor += Step; s.Split && p.hotFor >= splitAfter && one.split(i) {
			i++ // the new half works from the next step on
		}
	}
}

// admit returns a function that converts the demand on a partition to the
// capacity that the partition may use.
func (s *simulation) admit(one *space, needs Load) func(asked Load) capacity {
	n := float64(len(one.partitions))
	switch {
	case s.Provisioned == 0: // on demand
		return func(Load) capacity { return capacity{MaxReads, MaxWrites, false} }
	case !s.Split: // each partition has an equal part of the table's units
		c := capacity{min(MaxReads, needs.Reads*s.Provisioned/n), min(MaxWrites, needs.Writes*s.Provisioned/n), s.Burst}
		return func(Load) capacity { return c }
	}
	// All partitions share the table's units, and the unused units that it has
	// saved.
	whole := Load{}
	for _, p := range one.partitions {
		whole = whole.plus(one.demand(p))
	}
	r := one.share(&one.saved.Reads, whole.Reads, needs.Reads*s.Provisioned, s.Burst)
	w := one.share(&one.saved.Writes, whole.Writes, needs.Writes*s.Provisioned, s.Burst)
	return func(asked Load) capacity {
		c := capacity{MaxReads, MaxWrites, false}
		if r < 1 {
			c.reads = min(MaxReads, asked.Reads*r)
		}
		if w < 1 {
			c.writes = min(MaxWrites, asked.Writes*w)
		}
		return c
	}
}

// share returns which share of the demand the space can serve, and saves the unused
// units.
func (s *space) share(saved *float64, asked, provisioned float64, burst bool) float64 {
	allowed := provisioned * Step
	if burst {
		allowed += *saved
	}
	used := min(asked*Step, allowed)
	*saved = min(max(0, *saved+provisioned*Step-used), provisioned*BurstSeconds)
	if asked == 0 {
		return 1
	}
	return used / (asked * Step)
}

// blame adds the lost units of a partition to the shape of the key that has the most
// load there.
func (s *simulation) blame(one *space, p *partition, lost, hour float64) {
	weigh := func(l Load) float64 { return l.Reads/MaxReads + l.Writes/MaxWrites }
	h := Hot{Shape: cmp.Or(one.name, "table") + ", many keys together", Tenant: "all"}
	worst := weigh(one.even) * (p.to - p.from)
	for _, k := range p.keys {
		if weigh(k.now) > worst {
			worst, h.Shape, h.Tenant = weigh(k.now), k.shape, map[bool]string{true: "largest", false: "others"}[k.tenant == 0]
			if k.tenant == all {
				h.Tenant = "all"
			}
		}
	}
	id := h.Shape + " " + h.Tenant
	if s.hot[id] == nil {
		h.First = hour
		s.hot[id] = &h
	}
	s.hot[id].Lost += lost
}

// histogram counts units by how long they waited, in hundredths of a second. The
// last bucket also has the longer waits.
type histogram struct{ buckets [101]float64 }

func (h *histogram) add(wait, units float64) {
	h.buckets[min(100, int(math.Ceil(wait*100)))] += units
}

// rank returns the quantile x (0 to 1) of the units' waiting times.
func (h *histogram) rank(x float64) float64 {
	whole, below := 0.0, 0.0
	for _, n := range h.buckets {
		whole += n
	}
	for i, n := range h.buckets {
		if below += n; below >= x*whole {
			return float64(i) / 100
		}
	}
	return 1
}
