package model

import (
	"math"
	"math/rand/v2"
)

// Day is what Simulate simulates: a day's load and the properties of the table.
type Day struct {
	Peak    float64 // requests a second of all tenants at the busiest time, without the concert
	Tenants int
	Largest float64 // load of the first tenant, as a multiple of any other tenant's
	Trips   float64 // trips stored before the day
	Warm    int     // fewest partitions of the table and of each index at the start; 0 for DynamoDB's four

	Split       bool    // DynamoDB splits hot partitions, and lets them use the table's unused units
	Burst       bool    // DynamoDB saves unused units for 300 s
	Provisioned float64 // units, as a multiple of what the busiest time needs; 0 for on demand

	Seed uint64
}

// Step is the length of a step, in seconds.
const Step = 10.0

// lanes is how many batches of a stream's shard Lambda handles at the same time
// (ParallelizationFactor of the projection in template.yaml). most is the maximum
// number of records of a batch (its BatchSize). changes is how many records of a
// ride the projection receives.
const (
	lanes   = 4
	most    = 100.0
	changes = 6.0
)

// profile returns the load of the day at an hour, as a share of its busiest time:
// a small peak in the morning, a large one in the evening.
func profile(hour float64) float64 {
	bell := func(at, width float64) float64 { return math.Exp(-(hour - at) * (hour - at) / (2 * width * width)) }
	return min(1, 0.2+0.45*bell(8, 1.3)+0.8*bell(18.5, 2.4))
}

// concert returns the load that the end of a concert adds to the first tenant at
// an hour, as a multiple of the tenant's own busiest time: twenty minutes with
// steep sides.
func concert(hour float64) float64 {
	minutes := (hour - 22.5) * 60
	switch {
	case minutes < 0 || minutes > 24:
		return 0
	case minutes < 2:
		return minutes
	case minutes > 22:
		return 24 - minutes
	}
	return 2
}

// weight returns the share of the tenant in all requests.
func (d Day) weight(tenant int) float64 {
	whole := d.Largest + float64(d.Tenants-1)
	if tenant == 0 {
		return d.Largest / whole
	}
	return 1 / whole
}

// rides returns the rides a second of every tenant at an hour, and their sum.
func (d Day) rides(hour, requests float64) (each []float64, whole float64) {
	for t := range d.Tenants {
		x := profile(hour)
		if t == 0 {
			x += concert(hour)
		}
		each = append(each, d.Peak/requests*d.weight(t)*x)
		whole += each[t]
	}
	return each, whole
}

// spaces creates the table and the indexes with the keys of all tenants. even
// contains, by space, the units that a ride consumes at the other keys: these are
// too many to become hot.
func (d Day) spaces(t Trace, units []unit, random *rand.Rand) (out []*space, even map[string]Load) {
	keys := map[string][]*key{}
	even = map[string]Load{}
	for _, u := range units {
		name := index(u.shape)
		even[name] = even[name].plus(u.load.times(1 - u.hot))
		tenants := d.Tenants
		if u.shared {
			tenants = 1
		}
		for tenant := range tenants {
			for range u.keys {
				k := &key{shape: u.shape, at: random.Float64(), per: u.load.times(u.hot / float64(u.keys)), tenant: tenant,
					merges: u.merges}
				if u.shared {
					k.tenant = all
				}
				keys[name] = append(keys[name], k)
			}
		}
	}
	for _, name := range sorted(even) {
		n := max(4, d.Warm, int(math.Ceil(t.Stored[name]*d.Trips/MaxBytes)))
		out = append(out, newSpace(name, n, keys[name]))
	}
	return out, even
}

// rate sets the loads of a space for a step. each and whole are the rides a second,
// of every tenant and of all. batch is the number of records of a stream's batch.
// even is what a ride consumes at the keys that cannot become hot.
func (s *space) rate(each []float64, whole, batch float64, even Load, random *rand.Rand) {
	s.even = even.times(whole)
	for _, p := range s.partitions {
		for _, k := range p.keys {
			rides := whole
			if k.tenant != all {
				rides = each[k.tenant]
			}
			x := noisy(rides, random)
			if k.merges && whole > 0 {
				x /= max(1, batch*rides/whole)
			}
			k.now = k.per.times(x)
		}
	}
}

// noisy adds random noise to the number of rides a second in a step.
func noisy(rides float64, random *rand.Rand) float64 {
	n := rides * Step
	return max(0, n+math.Sqrt(n)*random.NormFloat64()) / Step
}
