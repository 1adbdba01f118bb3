package model

import (
	"math"
	"testing"

	"svc/pkg/access/authz"
	"svc/pkg/data/counter"
)

// The model has the service's own numbers.
func TestNumbers(t *testing.T) {
	if hasCopies != authz.Copies || hasCounters != counter.MaxShards {
		t.Errorf("%d copies and %d shards of counters, the service has %d and %d", hasCopies, hasCounters, authz.Copies,
			counter.MaxShards)
	}
}

// Units that a partition needs are served, wait or are throttled.
func TestPass(t *testing.T) {
	for name, tt := range map[string]struct {
		asked, saved, queued, rate float64
		burst                      bool
		served, throttled          float64
		nowSaved, nowQueued        float64
	}{
		"idle":                       {0, 0, 0, 100, true, 0, 0, 1000, 0},
		"below its rate":             {60, 0, 0, 100, true, 600, 0, 400, 0},
		"above its rate":             {150, 0, 0, 100, false, 1000, 400, 0, 100},
		"what waited goes first":     {100, 0, 100, 100, false, 1000, 0, 0, 100},
		"saved units carry a burst":  {150, 5000, 0, 100, true, 1500, 0, 4500, 0},
		"not above the limit":        {900, 30000, 0, 100, true, 5000, 3900, 26000, 100},
		"300 seconds and no more":    {0, 30000, 0, 100, true, 0, 0, 30000, 0},
		"nothing is saved otherwise": {0, 0, 0, 100, false, 0, 0, 0, 0},
	} {
		f, saved, queued := pass(tt.asked, tt.saved, tt.queued, tt.rate, 500, tt.burst, Step)
		if f.served != tt.served || f.throttled != tt.throttled || saved != tt.nowSaved || queued != tt.nowQueued {
			t.Errorf("%s: %+v, %v saved, %v queued", name, f, saved, queued)
		}
		if whole := f.served + f.throttled + queued; math.Abs(whole-tt.asked*Step-tt.queued) > 1e-6 {
			t.Errorf("%s: %v units became %v", name, tt.asked*Step+tt.queued, whole)
		}
	}
}

// Splits keep every key and the complete range of hashes. They separate hot
// keys that share a partition, and stop at a key that is alone.
func TestSplit(t *testing.T) {
	keys := []*key{{at: 0.1, now: Load{Writes: 900}}, {at: 0.11, now: Load{Writes: 900}}, {at: 0.8, now: Load{Writes: 5}}}
	s := newSpace("", 1, keys)
	s.even = Load{Writes: 10}
	for range 20 {
		for i := 0; i < len(s.partitions); i++ {
			if s.demand(s.partitions[i]).Writes > MaxWrites && s.split(i) {
				i++
			}
		}
	}
	found, end := 0, 0.0
	for _, p := range s.partitions {
		if p.from != end {
			t.Errorf("a partition begins at %v, the one before ends at %v", p.from, end)
		}
		end = p.to
		for _, k := range p.keys {
			if found++; k.at < p.from || k.at >= p.to {
				t.Errorf("the key at %v is in [%v, %v)", k.at, p.from, p.to)
			}
		}
		if s.demand(p).Writes > MaxWrites {
			t.Errorf("[%v, %v) is still asked for %v", p.from, p.to, s.demand(p).Writes)
		}
	}
	if found != len(keys) || end != 1 {
		t.Errorf("%d of %d keys, and the range ends at %v", found, len(keys), end)
	}
	alone := newSpace("", 1, []*key{{at: 0.5, now: Load{Writes: 5000}}})
	for range 60 {
		for i := 0; i < len(alone.partitions); i++ {
			if alone.demand(alone.partitions[i]).Writes > MaxWrites && alone.split(i) {
				i++
			}
		}
	}
	if n := len(alone.partitions); n > 60 {
		t.Errorf("one hot key was split %d times", n)
	}
}

// trace has one hot key for each tenant's list, and flags in copies.
func trace(shards int) Trace {
	return Trace{Shards: shards, Stored: map[string]float64{"": 1000, "by-g1": 500}, Ride: Operation{Requests: 1,
		Loads: map[string]Load{"by-g1 T#{tenant}#TRIPS#n": {0, 1}, "T#{tenant}#FLAGS#n": {1, 0},
			"T#{tenant}#TRIP#{trip}": {1, 4}}}}
}

func day(peak float64) Day {
	return Day{Peak: peak, Tenants: 5, Largest: 4, Trips: 1e6, Split: true, Seed: 7}
}

// A tenant's list accepts a thousand writes a second for each shard, and no
// more.
func TestShardsCarry(t *testing.T) {
	few, many := Simulate(trace(1), nil, day(6000)), Simulate(trace(16), nil, day(6000))
	if few.Throttled.Writes == 0 || few.Hot[0].Shape != "by-g1 T#{tenant}#TRIPS#n" || few.Hot[0].Tenant != "largest" {
		t.Errorf("one shard: %+v", few)
	}
	if many.Throttled.Writes > few.Throttled.Writes/10 {
		t.Errorf("16 shards lose %v write units, one %v", many.Throttled.Writes, few.Throttled.Writes)
	}
	if calm := Simulate(trace(1), nil, day(500)); calm.Throttled != (Load{}) || calm.P99 != 0 || calm.Then != calm.Before {
		t.Errorf("500 requests a second: %+v", calm)
	}
}

func TestSeed(t *testing.T) {
	d := day(6000)
	first, second := Simulate(trace(1), nil, d), Simulate(trace(1), nil, d)
	d.Seed++
	if third := Simulate(trace(1), nil, d); first.Throttled != second.Throttled || first.Throttled == third.Throttled {
		t.Errorf("one seed: %v and %v, another: %v", first.Throttled, second.Throttled, third.Throttled)
	}
}

// Saved units and borrowed units both help a provisioned table, and never make
// it worse.
func TestProvisioned(t *testing.T) {
	lost := func(split, burst bool) float64 {
		d := day(600)
		d.Split, d.Burst, d.Provisioned = split, burst, 1
		r := Simulate(trace(16), nil, d)
		return r.Throttled.Reads + r.Throttled.Writes
	}
	neither := lost(false, false)
	burst, adaptive, both := lost(false, true), lost(true, false), lost(true, true)
	if neither == 0 || burst >= neither || adaptive >= neither || both > adaptive {
		t.Errorf("lost %v; with burst %v, adaptive %v, both %v", neither, burst, adaptive, both)
	}
}

// Data that all tenants share is at one key. Data of riders and trips is spread
// over very many keys.
func TestUnits(t *testing.T) {
	tr := Trace{Shards: 16}
	for shape, want := range map[string]unit{
		"by-g1 T#{tenant}#TRIPS#n":                {keys: 16, hot: 1},
		"T#{tenant}#FLAGS#n":                      {keys: 16, hot: 1},
		"T#{tenant}#BRANDING":                     {keys: 1, hot: 1},
		"POSTS#text":                              {keys: 1, hot: 1, shared: true},
		"T#{tenant}#TRIP#{trip}":                  {},
		"by-g4 T#{tenant}#CUSTOMER#{rider}#TRIPS": {},
		"T#{tenant}#REPORT#day#n":                 {keys: 3, hot: 1, merges: true},
		"T#{tenant}#REPORT#ms#{time}":             {keys: 10, hot: 0.2},
		"T#{tenant}#REPORT#tenth#{time}":          {keys: 1, hot: 0.2, merges: true},
		"CLIENT#{client}#n":                       {keys: 16, hot: 1},
	} {
		got := tr.unit(shape, Load{})
		if want.shape = shape; got != want {
			t.Errorf("%s: %+v, want %+v", shape, got, want)
		}
	}
}
