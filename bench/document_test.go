package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/pkg/app"
	"svc/pkg/data/table"
)

// The tables go between the markers. Text outside of the markers stays unchanged.
func TestDocument(t *testing.T) {
	worlds := []*world{{trips: 100}, {trips: 10_000}, {trips: 1_000_000, lists: true}}
	c := func(reads float64) *cell {
		return &cell{p50: 1500 * time.Microsecond, p99: 2 * time.Millisecond,
			usage: table.Usage{Sequential: 1, ReadUnits: reads}, allocs: 1234}
	}
	rows := []row{
		{list(op, "trips"), []*cell{c(7), c(7.5), c(7)}},
		{listed[len(listed)-1], []*cell{c(5), c(5), nil}},
	}
	for name, tt := range map[string]struct{ before, after string }{ // "stale" is what earlier tables said
		"no document": {"", "# Performance\n\n" + begin},
		"no markers":  {"# Performance\n\n## Cold starts\n\nNone.\n", "## Cold starts\n\nNone.\n\n" + begin},
		"markers": {"# Performance\n" + begin + "\nstale\n" + end + "\n\n## Cold starts\n", end +
			"\n\n## Cold starts\n\n" + listsBegin},
		"both markers": {begin + "\nstale\n" + end + "\n" + listsBegin + "\nstale\n" + listsEnd + "\n## Cold starts\n",
			listsEnd + "\n## Cold starts\n"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "performance.md")
			if tt.before != "" {
				if err := os.WriteFile(file, []byte(tt.before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if err := document(options{document: file, reads: 1, writes: 1}, "a machine", worlds, rows); err != nil {
					t.Fatal(err)
				}
			}
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text := string(raw)
			for _, want := range []string{tt.after, "| `GET /trips` | 1 | 7, 7.5 | 1,234 | 1.50 / 2.00 | 1.50 / 2.00 |",
				"## Lists of 1,000,000 trips", "| `GET /trips` | 1 | 7 | 1,234 | 1.50 / 2.00 |\n"} {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
			if strings.Contains(text, "stale") || strings.Count(text, begin) != 1 || strings.Count(text, listsBegin) != 1 {
				t.Errorf("what was between the markers is still there:\n%s", text)
			}
			_, kept, _ := strings.Cut(text, listsBegin)
			if err := document(options{document: file, reads: 1, writes: 1}, "another machine", worlds[:2], rows); err != nil {
				t.Fatal(err)
			}
			if raw, err = os.ReadFile(file); err != nil || !strings.Contains(string(raw), listsBegin+kept) ||
				!strings.Contains(string(raw), "another machine") {
				t.Errorf("a run without the lists changed their part: %v\n%s", err, raw)
			}
		})
	}
}

func TestParse(t *testing.T) {
	if o, err := parse([]string{"-sizes", "100, 2000", "-lists", "5"}); err != nil || len(o.sizes) != 2 ||
		o.sizes[1] != 2000 || o.lists != 5 {
		t.Errorf("%+v, %v", o, err)
	}
	for _, bad := range [][]string{{"-sizes", "many"}, {"-sizes", "1"}, {"-reads", "0"}} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// Every row is measured, by an entry of the list or because it can be read
// without one.
func TestEveryRowIsMeasured(t *testing.T) {
	all, err := endpoints()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range app.Rows(nil) {
		if !slices.ContainsFunc(all, func(e endpoint) bool { return e.is(r) }) {
			t.Errorf("%s is not measured", r.ID)
		}
	}
	for _, e := range listed {
		if !slices.ContainsFunc(app.Rows(nil), e.is) {
			t.Errorf("%s is not a request to any row", e.name)
		}
	}
}
