package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"svc/pkg/local/markdown"
)

// median returns the medians of build i's rounds.
func (s series) median(i int) used {
	return used{cpu: medianOf(s.all[i], func(u used) time.Duration { return u.cpu }),
		mallocs: medianOf(s.all[i], func(u used) uint64 { return u.mallocs }),
		bytes:   medianOf(s.all[i], func(u used) uint64 { return u.bytes })}
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
		out = append(out, ms(u.cpu), markdown.Thousands(int(u.mallocs)), markdown.Thousands(int(u.bytes)))
	}
	if len(s.all) == 1 {
		return out
	}
	var ratios []float64
	for i, u := range s.all[1] {
		ratios = append(ratios, float64(s.all[0][i].cpu)/float64(u.cpu))
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
	kept := map[string]allocated{}
	for _, s := range all {
		u := s.median(0)
		kept[s.title()] = allocated{u.mallocs, u.bytes}
	}
	out, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(known, append(out, '\n'), 0o644) //nolint:gosec // a file of the repository
}

// cpuOf reads the document's table of processor time. It returns the milliseconds of
// the working tree's build, by the endpoint's marked title.
func cpuOf(document string) (map[string]float64, error) {
	begin, end := markdown.Markers("cpu")
	_, rest, _ := strings.Cut(document, begin)
	text, _, found := strings.Cut(rest, end)
	_, table, titled := strings.Cut(text, "\n| endpoint | now: ms |")
	if !found || !titled {
		return nil, errors.New("the document has no table of processor time (`make cpu` writes it)")
	}
	out := map[string]float64{}
	for _, row := range cpuRow.FindAllStringSubmatch(table, -1) {
		value, err := strconv.ParseFloat(row[2], 64)
		if err != nil || value <= 0 {
			return nil, fmt.Errorf("processor time: %q in %q is no number of milliseconds", row[2], row[0])
		}
		out[row[1]] = value
	}
	if len(out) == 0 {
		return nil, errors.New("the document's table of processor time has no rows")
	}
	return out, nil
}

var cpuRow = regexp.MustCompile("(?m)^\\| (`[^|]+) \\| ([^|]*) \\|")

// known is the file with each endpoint's allocations. `make cpu` writes it together
// with the document.
const known = "bench/testdata/allocations.json"

// allocated are an endpoint's heap allocations per event, and their bytes.
type allocated struct{ Mallocs, Bytes uint64 }

// noise is the relative difference that is normal between two runs of one build. The
// demo's trips end today, so what an endpoint reads of a month or of a period depends
// on the day of the run: dated is the difference that is normal then.
const noise, dated = 0.1, 0.5

// check compares the allocations with those before. It returns an error that names each
// endpoint that allocates more than noise allows. An endpoint without a number before
// passes. A number without an endpoint is an error: else a check of other names would pass.
func check(all []series, before map[string]allocated) error {
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
			fmt.Fprintf(os.Stderr, "%s is not in %s yet; make cpu adds it\n", s.title(), known)
		case more(u.mallocs, was.Mallocs, normal), more(u.bytes, was.Bytes, normal):
			faults = append(faults, fmt.Errorf("%s: %d allocations and %d bytes, expected at most %.0f %% more than %d and %d; "+
				"find the cause, or run make cpu to accept them", s.title(), u.mallocs, u.bytes, 100*normal, was.Mallocs,
				was.Bytes))
		}
	}
	for title := range before {
		faults = append(faults, fmt.Errorf("%s is in %s and was not measured; run make cpu", title, known))
	}
	return errors.Join(faults...)
}

func more(now, before uint64, normal float64) bool { return float64(now) > float64(before)*(1+normal) }
