package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"svc/bench/model"
)

// recorded is the file with the traces of the last -ceilings.
const recorded = "bench/testdata/traces.json"

var aTime = regexp.MustCompile(`\d{4}-\d\d-\d\d(T[\d:.]+)?`)

// trace converts the recorded counts to the model's input.
func trace(shards int, rode ride, us []usage) model.Trace {
	loads := func(counted map[string]load) map[string]model.Load {
		out := map[string]model.Load{}
		for shape, l := range counted {
			shape = aTime.ReplaceAllString(shape, "{time}")
			sum := out[shape]
			out[shape] = model.Load{Reads: sum.Reads + l.reads, Writes: sum.Writes + l.writes}
		}
		return out
	}
	out := model.Trace{Shards: shards, Stored: rode.stored,
		Ride: model.Operation{Name: "a ride", Requests: 5, Loads: loads(rode.loads)}}
	delete(out.Ride.Loads, "T#{tenant}#SETTINGS") // an instance reads this key at most once a second, for all rides
	for _, u := range us {
		if slices.ContainsFunc(model.City, func(s model.Share) bool { return s.Name == u.name }) {
			out.Operations = append(out.Operations, model.Operation{Name: u.name, Requests: float64(u.requests),
				Loads: loads(u.loads)})
		}
	}
	return out
}

func readTraces() (out []model.Trace, err error) {
	text, err := os.ReadFile(recorded)
	if err != nil {
		return nil, fmt.Errorf("make ceilings records the traces: %w", err)
	}
	return out, json.Unmarshal(text, &out)
}

// simulated is the result of a day, and a title that says how the day differs
// from aDay.
type simulated struct {
	title string
	model.Result
}

// aDay is the day that each simulation changes.
var aDay = model.Day{Peak: 1e4, Tenants: 50, Largest: 10, Trips: 1e9, Split: true, Seed: 1}

// scales simulates the day at several rates and numbers of shards.
func scales(traces []model.Trace) (out []simulated) {
	for _, peak := range []float64{1e3, 1e4, 1e5, 1e6} {
		for _, t := range traces {
			d := aDay
			d.Peak = peak
			out = append(out, simulated{fmt.Sprintf("%s, %d", many(int(peak)), t.Shards),
				model.Simulate(t, model.City, d)})
		}
	}
	return out
}

// turns simulates a large day with different parameters in each turn.
func turns(t model.Trace) (out []simulated) {
	d := aDay
	d.Peak = 1e5
	for _, turn := range []struct {
		title            string
		copies, counters int
		split            bool
		warm             int
	}{
		{"as it is", 0, 0, true, 0},
		{"hot partitions are never split", 0, 0, false, 0},
		{"64 copies of flags and client state", 64, 0, true, 0},
		{"and 16 shards of counters", 64, 16, true, 0},
		{"and 2,000 partitions of each from the start (warm throughput)", 64, 16, true, 2000},
	} {
		t.Copies, t.Counters, d.Split, d.Warm = turn.copies, turn.counters, turn.split, turn.warm
		out = append(out, simulated{turn.title, model.Simulate(t, model.City, d)})
	}
	return out
}

// provisioned simulates a table with exactly the units that the busiest time needs.
// The concert needs more.
func provisioned(t model.Trace) (out []simulated) {
	d := aDay
	d.Provisioned = 1
	for _, how := range []struct {
		title        string
		split, burst bool
	}{{"neither", false, false}, {"burst", false, true}, {"adaptive capacity", true, false},
		{"both", true, true}} {
		d.Split, d.Burst = how.split, how.burst
		out = append(out, simulated{how.title, model.Simulate(t, model.City, d)})
	}
	return out
}

func runModel(o options) error {
	traces, err := readTraces()
	if err != nil {
		return err
	}
	p, err := readPrices()
	if err != nil {
		return err
	}
	last := traces[len(traces)-1]
	text := modelDocument(p, scales(traces), turns(last), provisioned(last))
	if o.only != "" {
		fmt.Println(text)
		return nil
	}
	//nolint:gosec // a document of the repository
	return os.WriteFile("docs/model.md", []byte(strings.TrimRight(text, "\n")+"\n"), 0o644)
}
