package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"svc/pkg/local/markdown"
)

// median returns the medians of build i's rounds.
func (s series) median(i int) used {
	return used{CPU: medianOf(s.all[i], func(u used) time.Duration { return u.CPU }),
		Mallocs: medianOf(s.all[i], func(u used) uint64 { return u.Mallocs }),
		Bytes:   medianOf(s.all[i], func(u used) uint64 { return u.Bytes })}
}

// cells returns milliseconds, allocations and bytes of each build. If there are two,
// they end with the first one's time divided by the second's: the median and the
// quartiles of all rounds. The cells of a build without the endpoint are empty.
func (s series) cells() (out []string) {
	for i, rounds := range s.all {
		if len(rounds) == 0 {
			out = append(out, "", "", "")
			continue
		}
		u := s.median(i)
		out = append(out, ms(u.CPU), markdown.Thousands(int(u.Mallocs)), markdown.Thousands(int(u.Bytes)))
	}
	if len(s.all) == 1 {
		return out
	}
	var ratios []float64
	for i, u := range s.all[1] {
		ratios = append(ratios, float64(s.all[0][i].CPU)/float64(u.CPU))
	}
	if len(ratios) == 0 {
		return append(out, "")
	}
	return append(out, fmt.Sprintf("%.2f (%.2f–%.2f)", rank(ratios, 0.5), rank(ratios, 0.25), rank(ratios, 0.75)))
}

// cpuDocument writes the table of processor time into the document.
func cpuDocument(o options, machine string, builds []build, all []series) error {
	text := "## Processor time\n\n" + paragraph("processor time", machine, o.rounds, o.reads)
	titles := []string{"endpoint"}
	for _, build := range builds {
		titles = append(titles, ">"+build.title()+": ms", ">allocations", ">bytes")
	}
	if len(builds) > 1 {
		text += paragraph("builds")
		titles = append(titles, ">ratio")
	}
	rows := make([][]string, len(all))
	for n, s := range all {
		rows[n] = append([]string{marked(s.title())}, s.cells()...)
	}
	if err := markdown.WriteSection(document, "cpu", text+markdown.Table(titles, rows)+"\n"); err != nil {
		return err
	}
	kept := map[string]used{}
	for _, s := range all {
		kept[s.title()] = s.median(0)
	}
	out, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(usedFile, append(out, '\n'), 0o644) //nolint:gosec // a file of the repository
}

// usedFile has what an event of each endpoint used. `make cpu` writes it together with
// the document.
const usedFile = "bench/used.json"

//go:embed used.json
var usedText []byte

// usedBefore returns what usedFile has, by the endpoint's title.
func usedBefore() (before map[string]used, err error) {
	if err = json.Unmarshal(usedText, &before); err != nil {
		return nil, fmt.Errorf("%s: %w", usedFile, err)
	}
	return before, nil
}

// noise is the relative difference that is normal between two runs of one build. The
// demo's trips end today, so what an endpoint reads of a month or of a period depends
// on the day of the run: dated is the difference that is normal then.
const noise, dated = 0.1, 0.5

// check compares the allocations with those before. It returns an error that names each
// endpoint that allocates more than noise allows. An endpoint without a number before
// passes. A number without an endpoint is an error: else a check of other names would pass.
func check(all []series, before map[string]used) error {
	var faults []error
	for _, s := range all {
		u, normal := s.median(0), noise
		was, measured := before[s.title()]
		delete(before, s.title())
		if strings.Contains(s.title(), "{month}") || strings.Contains(s.title(), "from=") {
			normal = dated
		}
		switch {
		case !measured:
			fmt.Fprintf(os.Stderr, "%s is not in %s yet; make cpu adds it\n", s.title(), usedFile)
		case more(u.Mallocs, was.Mallocs, normal), more(u.Bytes, was.Bytes, normal):
			faults = append(faults, fmt.Errorf("%s: %d allocations and %d bytes, expected at most %.0f %% more than %d and %d; "+
				"find the cause, or run make cpu to accept them", s.title(), u.Mallocs, u.Bytes, 100*normal, was.Mallocs,
				was.Bytes))
		}
	}
	for title := range before {
		faults = append(faults, fmt.Errorf("%s is in %s and was not measured; run make cpu", title, usedFile))
	}
	return errors.Join(faults...)
}

func more(now, before uint64, normal float64) bool { return float64(now) > float64(before)*(1+normal) }
