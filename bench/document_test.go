package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc/pkg/app"
)

// A section goes between its markers. Text outside of the markers stays unchanged.
func TestWriteSection(t *testing.T) {
	begin, end := markers("cpu")
	var table strings.Builder
	markdownTable(&table, []string{"endpoint", "ms", "<key"}, [][]string{{"`GET /me`", "1", "T#"}})
	const want = "| endpoint | ms | key |\n| --- | ---: | --- |\n| `GET /me` | 1 | T# |\n\n"
	if table.String() != want {
		t.Errorf("%q", table.String())
	}
	for name, tt := range map[string]struct{ before, after string }{
		"no markers": {"# Performance\n\n## Cold starts\n", "# Performance\n\n## Cold starts\n\n" + begin + "\n" + want +
			end + "\n"},
		"markers": {"# Performance\n" + begin + "\nstale\n" + end + "\n\n## Cold starts\n", "# Performance\n" + begin +
			"\n" + want + end + "\n\n## Cold starts\n"},
		"no end": {"# Performance\n" + begin + "\nstale\n", ""},
	} {
		file := filepath.Join(t.TempDir(), "tables.md")
		if err := os.WriteFile(file, []byte(tt.before), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := writeSection(file, "cpu", want); (err != nil) != (tt.after == "") {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || tt.after != "" && string(got) != tt.after {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestParse(t *testing.T) {
	if o, err := parse([]string{"-cpu", "-base", "e2db8e4"}); err != nil || !o.cpu || len(o.revisions) != 2 {
		t.Errorf("%+v, %v", o, err)
	}
	for _, bad := range [][]string{{"-cpu", "-rounds", "0"}, {"-cpu", "-reads", "0"}, {"-memory"}} {
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
