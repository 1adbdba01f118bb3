package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

const memoryBegin, memoryEnd = "<!-- memory: begin -->", "<!-- memory: end -->"

// memoryTables returns the section about the sizes of functions.
func memoryTables(p prices, o options, machine string, all []fitted) string {
	var b strings.Builder
	b.WriteString("## Memory\n\n")
	prose(&b, "Measured by `make memory` on %s; %s. Lambda gives a function one processor for each 1,769 MB, in "+
		"periods of 20 ms. Each function runs as built for deployment, as a process in a cgroup with that quota and "+
		"period. The event is the one that takes the most processor time of the function's measured events. Events "+
		"follow each other without a pause, so the process saves up no unused quota. The table's responses are "+
		"recorded. They come over TLS from a process outside the group, in less than a millisecond. *Warm* is "+
		"p50 / p99 of %d to %d events. *Cold* is the median of %d starts, from the start of the process to the first "+
		"answer. Lambda may give a function more processor time at its start. *Memory* is the peak memory of "+
		"the process at 512 MB. Times are milliseconds.",
		machine, time.Now().UTC().Format("2 January 2006"), o.rounds*fewest, o.rounds*o.reads, starts)
	prose(&b, "*$* is the price of a million such events in dollars, with two waits for the table of %g ms each. The "+
		"last column is the smallest size with a warm p99 of at most %d ms and a process that uses at most three "+
		"quarters of it. If there is none, it is the largest size. With half the memory a function has half the processor "+
		"time, and a cold start takes about twice as long. So no function has 128 MB: a cold start would take half a "+
		"second, to save a cent for a million events. Feedback has at least 512 MB, because it keeps up to 108 MB of "+
		"posts' texts in memory. Settlement and projection have at least 512 MB, because the number of their processes "+
		"is bounded, so their speed decides how fast they catch up. A test compares `template.yaml` with this column.",
		p.Assumed.MillisecondsOfARoundTrip, latest.Milliseconds())
	b.WriteString("| function | slowest event | processor | memory |")
	for _, size := range megabytes {
		fmt.Fprintf(&b, " %s MB: warm | cold | $ |", many(size))
	}
	b.WriteString(" size |\n| --- | --- | ---: | ---: |" + strings.Repeat(" ---: | ---: | ---: |", len(megabytes)) +
		" ---: |\n")
	for _, f := range all {
		at := f.sizes[slices.Index(megabytes, 512)]
		fmt.Fprintf(&b, "| %s | %s | %s | %d MB |", f.function, f.name, ms(f.cpu), at.memory>>20)
		for _, s := range f.sizes {
			fmt.Fprintf(&b, " %.1f / %.1f | %.0f | %.2f |", milliseconds(rank(s.warm, 0.5)), milliseconds(rank(s.warm, 0.99)),
				milliseconds(rank(s.cold, 0.5)), p.lambda(s.megabytes, mean(s.warm), 2))
		}
		fmt.Fprintf(&b, " **%s** |\n", many(f.choice()))
	}
	b.WriteByte('\n')
	had := make([]string, len(megabytes))
	for i, size := range megabytes {
		most := 0.0
		for _, f := range all {
			most = max(most, f.sizes[i].share())
		}
		had[i] = fmt.Sprintf("%.1f %% (%.1f %%) at %s MB", most*100, shareOf(size)*100, many(size))
	}
	prose(&b, "The largest share of a processor that any function used while it worked was %s. The share in parentheses "+
		"is the quota.", strings.Join(had, ", "))
	return b.String()
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func mean(all []time.Duration) time.Duration {
	sum := time.Duration(0)
	for _, d := range all {
		sum += d
	}
	return sum / time.Duration(len(all))
}

// sizesOf returns the memory of the template's functions, in megabytes.
func sizesOf(template []byte) (map[string]int, error) {
	var t struct {
		Globals struct {
			Function struct {
				MemorySize int `yaml:"MemorySize"`
			} `yaml:"Function"`
		} `yaml:"Globals"`
		Resources map[string]struct {
			Type       string    `yaml:"Type"`
			Properties yaml.Node `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(template, &t); err != nil {
		return nil, err
	}
	out := map[string]int{}
	for name, r := range t.Resources {
		if r.Type != "AWS::Serverless::Function" {
			continue
		}
		own := struct {
			MemorySize int `yaml:"MemorySize"`
		}{t.Globals.Function.MemorySize}
		if err := r.Properties.Decode(&own); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = own.MemorySize
	}
	return out, nil
}
