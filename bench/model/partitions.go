package model

import (
	"maps"
	"math"
	"slices"
)

// The limits of a partition (AWS, "Burst and adaptive capacity" and "Best
// practices for designing and using partition keys").
const (
	MaxReads     = 3000
	MaxWrites    = 1000
	MaxBytes     = 10e9
	BurstSeconds = 300
)

// Assumed, because AWS documents no times.
const (
	splitAfter = 600.0 // seconds of throttling after which a hot partition is split
	patience   = 1.0   // seconds that a request waits for units at most, including retries
)

// key is a key with its own load.
type key struct {
	shape string
	at    float64 // position among the hashes, 0 to 1
	now   Load    // units a second

	per    Load // units that a ride of the key's tenant consumes here
	tenant int  // number of the tenant; the constant all for a key that all tenants share
	merges bool // see unit
}

const all = -1

// partition contains the keys whose hashes are in [from, to).
type partition struct {
	from, to float64
	keys     []*key
	saved    Load    // unused units that a burst may use
	queued   Load    // units that wait
	hotFor   float64 // seconds of throttling, less the seconds without it
}

// space is the table or an index.
type space struct {
	name       string
	partitions []*partition
	even       Load // units a second of the keys that cannot become hot, evenly spread
	saved      Load // unused units of a provisioned table, which its partitions share
}

// newSpace returns a space with the keys and n partitions of equal size.
func newSpace(name string, n int, keys []*key) *space {
	s := &space{name: name}
	for i := range n {
		s.partitions = append(s.partitions, &partition{from: float64(i) / float64(n), to: float64(i+1) / float64(n)})
	}
	for _, k := range keys {
		p := s.partitions[min(int(k.at*float64(n)), n-1)]
		p.keys = append(p.keys, k)
	}
	for _, p := range s.partitions {
		slices.SortFunc(p.keys, func(a, b *key) int {
			if a.at < b.at {
				return -1
			}
			return 1
		})
	}
	return s
}

// demand returns the units a second that requests need at the partition.
func (s *space) demand(p *partition) Load {
	out := s.even.times(p.to - p.from)
	for _, k := range p.keys {
		out = out.plus(k.now)
	}
	return out
}

// capacity is what partitions may use.
type capacity struct {
	reads, writes float64 // of a partition, units a second
	burst         bool    // unused units are saved for later
}

// flow is what happened to the units of one kind in a step.
type flow struct{ asked, served, throttled, wait float64 }

// serve lets a partition work for a step. It returns the flows of reads and
// writes.
func (p *partition) serve(asked Load, c capacity, seconds float64) (reads, writes flow) {
	reads, p.saved.Reads, p.queued.Reads = pass(asked.Reads, p.saved.Reads, p.queued.Reads, c.reads, MaxReads, c.burst,
		seconds)
	writes, p.saved.Writes, p.queued.Writes = pass(asked.Writes, p.saved.Writes, p.queued.Writes, c.writes, MaxWrites,
		c.burst, seconds)
	return reads, writes
}

// pass serves units: those of the rate, and saved ones up to the limit. Units
// that cannot wait are throttled.
func pass(
	asked, saved, queued, rate, limit float64, burst bool, seconds float64,
) (f flow, nowSaved, nowQueued float64) {
	f.asked = asked * seconds
	most := rate * seconds
	if burst {
		most = min(limit*seconds, most+saved)
	}
	want := f.asked + queued
	f.served = min(want, most)
	if nowSaved = min(max(0, saved+rate*seconds-f.served), rate*BurstSeconds); !burst {
		nowSaved = 0
	}
	left := want - f.served
	nowQueued = min(left, rate*patience)
	f.throttled = left - nowQueued
	if rate > 0 {
		f.wait = nowQueued / rate
	}
	return f, nowSaved, nowQueued
}

// split divides the partition i at the point where the loads of its two parts differ
// least. It returns false if no point divides the partition, or if the partition has
// one key and is almost too narrow to divide.
func (s *space) split(i int) bool {
	p := s.partitions[i]
	weigh := func(l Load) float64 { return l.Reads/MaxReads + l.Writes/MaxWrites }
	whole, even := weigh(s.demand(p)), weigh(s.even)
	if len(p.keys) == 1 && p.to-p.from < 1e-6 {
		return false
	}
	best, at, keys := math.Inf(1), 0.0, 0
	try := func(point, before float64, n int) {
		if worst := max(before, whole-before); point > p.from && point < p.to && worst < best {
			best, at, keys = worst, point, n
		}
	}
	try((p.from+p.to)/2, even*(p.to-p.from)/2+weigh(sum(p.keys, func(k *key) bool { return k.at < (p.from+p.to)/2 })),
		count(p.keys, (p.from+p.to)/2))
	before := 0.0
	for n, k := range p.keys {
		try(k.at, before+even*(k.at-p.from), n)
		before += weigh(k.now)
		try(k.at+1e-7, before+even*(k.at-p.from), n+1)
	}
	if math.IsInf(best, 1) {
		return false
	}
	right := &partition{from: at, to: p.to, keys: slices.Clone(p.keys[keys:])}
	p.to, p.keys, p.hotFor, p.queued = at, p.keys[:keys:keys], 0, Load{}
	s.partitions = slices.Insert(s.partitions, i+1, right)
	return true
}

func sum(keys []*key, which func(*key) bool) (out Load) {
	for _, k := range keys {
		if which(k) {
			out = out.plus(k.now)
		}
	}
	return out
}

func count(keys []*key, below float64) (n int) {
	for _, k := range keys {
		if k.at < below {
			n++
		}
	}
	return n
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
