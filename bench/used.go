package main

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"svc/pkg/base/plaintext"
)

// median returns the median of each value (time, allocations, bytes) of build i over all
// rounds.
func (s series) median(i int) used {
	return used{CPU: medianOf(s.all[i], func(u used) time.Duration { return u.CPU }),
		Mallocs: medianOf(s.all[i], func(u used) uint64 { return u.Mallocs }),
		Bytes:   medianOf(s.all[i], func(u used) uint64 { return u.Bytes })}
}

// line returns the endpoint's title, and milliseconds, allocations and bytes of each
// build. With two builds, it adds the first build's time divided by the second's: the
// median over all rounds, and the quartiles.
func (s series) line() string {
	out := fmt.Sprintf("%-60s", s.title())
	for i := range s.all {
		u := s.median(i)
		out += fmt.Sprintf("%10.2f%10s%12s", ms(u.CPU), plaintext.Thousands(int(u.Mallocs)),
			plaintext.Thousands(int(u.Bytes)))
	}
	if len(s.all) == 1 {
		return out
	}
	var ratios []float64
	for i, u := range s.all[1] {
		ratios = append(ratios, float64(s.all[0][i].CPU)/float64(u.CPU))
	}
	return out + fmt.Sprintf("  %.2f (%.2f–%.2f)", rank(ratios, 0.5), rank(ratios, 0.25), rank(ratios, 0.75))
}

// described returns a line about the measurement: the machine, its load at the start, and
// the day.
func described() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, _ := strings.Cut(string(info), "model name\t: ")
	model, _, _ := strings.Cut(rest, "\n")
	load, _ := os.ReadFile("/proc/loadavg")
	now, _, _ := strings.Cut(string(load), " ")
	return fmt.Sprintf("%d cores of an %s, load average %s; %s %s/%s; %s", runtime.NumCPU(), cmp.Or(model, "processor"),
		cmp.Or(now, "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH, time.Now().UTC().Format("2 January 2006"))
}

// rank returns the x-quantile of the values; x is 0 to 1.
func rank[T cmp.Ordered](values []T, x float64) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(x*float64(len(sorted))), len(sorted)-1)]
}

// medianOf returns the median of the values that of returns for the elements.
func medianOf[T any, V cmp.Ordered](all []T, of func(T) V) V {
	values := make([]V, len(all))
	for i, one := range all {
		values[i] = of(one)
	}
	return rank(values, 0.5)
}

// ms converts a duration to milliseconds.
func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// usedFile is the file with what one event of each endpoint used. `make cpu` writes it.
const usedFile = "bench/used.json"

//go:embed used.json
var usedText []byte

// usedBefore returns the contents of usedFile, by the title of the endpoint.
func usedBefore() (before map[string]used, err error) {
	if err = json.Unmarshal(usedText, &before); err != nil {
		return nil, fmt.Errorf("%s: %w", usedFile, err)
	}
	return before, nil
}

// keep writes the medians of the working tree's build to usedFile, one line for each
// endpoint.
func keep(all []series) error {
	lines := map[string]string{}
	for _, s := range all {
		title, err := json.Marshal(s.title())
		if err != nil {
			return err
		}
		u := s.median(0)
		lines[s.title()] = fmt.Sprintf(`  %s: {"CPU": %d, "Mallocs": %d, "Bytes": %d}`, title, u.CPU, u.Mallocs, u.Bytes)
	}
	var sorted []string
	for _, title := range slices.Sorted(maps.Keys(lines)) {
		sorted = append(sorted, lines[title])
	}
	text := "{\n" + strings.Join(sorted, ",\n") + "\n}\n"
	return os.WriteFile(usedFile, []byte(text), 0o644) //nolint:gosec // a file of the repository
}

// noise is the relative difference that is normal between two runs of one build. dated is
// the difference that is normal for an endpoint whose title contains one of timed. Such
// an endpoint reads a month, a period or the drivers in a state, and the seeded trips end
// at the time of the run, so its cost depends on that time.
const noise, dated = 0.1, 0.5

// timed are texts in the titles of endpoints to which dated applies.
var timed = []string{"{month}", "from=", "status=ONLINE"}

// check compares the allocations with those in before, by the endpoint's title. It
// returns an error that names each endpoint that allocates more than is normal. An
// endpoint that is not in before passes. A title in before that was not measured is an
// error, so that a renamed endpoint does not pass unseen.
func check(all []series, before map[string]used) error {
	var faults []error
	for _, s := range all {
		u, normal := s.median(0), noise
		was, measured := before[s.title()]
		delete(before, s.title())
		if slices.ContainsFunc(timed, func(text string) bool { return strings.Contains(s.title(), text) }) {
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

// more reports whether now exceeds before by more than the fraction normal.
func more(now, before uint64, normal float64) bool { return float64(now) > float64(before)*(1+normal) }
