package main

import (
	"slices"
	"strings"
	"testing"

	"svc/pkg/app"
	"svc/pkg/app/replay"
)

func TestParse(t *testing.T) {
	if o, err := parse([]string{"-cpu", "-base", "e2db8e4"}); err != nil || !o.cpu || o.base != "e2db8e4" {
		t.Errorf("%+v, %v", o, err)
	}
	for _, bad := range [][]string{{"-cpu", "-rounds", "0"}, {"-cpu", "-reads", "0"}, {"-memory"}} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// Every paragraph of the documents is in texts.txt.
func TestParagraphs(t *testing.T) {
	for _, title := range []string{"ceilings", "not measured", "events", "bill", "ride", "floor", "processor time",
		"builds", "soak", "soak table"} {
		if text := paragraph(title); len(text) < len("\n\n.") {
			t.Errorf("%s: %q", title, text)
		}
	}
}

// Every row is measured, or endpoints names it. Every request is one to a row.
func TestEveryRowIsMeasured(t *testing.T) {
	all, without := endpoints()
	for _, r := range app.Rows(nil) {
		name := r.Method + " " + strings.TrimPrefix(r.Path, "/api/v1")
		measured := slices.ContainsFunc(all, func(e endpoint) bool { return e.is(r) })
		if measured == slices.Contains(without, name) {
			t.Errorf("%s: measured %v, and named as not measured %v", r.ID, measured, !measured)
		}
	}
	for _, e := range all {
		if !strings.Contains(e.Name, "/oauth/") && !slices.ContainsFunc(app.Rows(nil), e.is) {
			t.Errorf("%s is not a request to any row", e.Name)
		}
	}
}

// Every name that a request uses is known: a step that keeps it, or one of the world.
func TestSteps(t *testing.T) {
	all, _ := endpoints()
	for _, e := range all {
		for name := range strings.FieldsSeq(e.Before) {
			if replay.Listed().Steps[name].As == "" && special[name] == nil && !strings.HasPrefix(name, "id=") {
				t.Errorf("%s: there is no step %q", e.Name, name)
			}
		}
	}
}

// The check of allocations can fail, but not for an endpoint without a number.
func TestCheck(t *testing.T) {
	measured := func(mallocs, bytes uint64) series {
		return series{endpoint{Audience: rider, Name: "GET /me"}, [][]used{{{Mallocs: mallocs, Bytes: bytes}}}}
	}
	for name, tt := range map[string]struct {
		now    series
		before map[string]used
		want   string
	}{
		"as before":      {measured(110, 1100), map[string]used{"GET /me (rider)": {0, 100, 1000}}, ""},
		"less":           {measured(1, 1), map[string]used{"GET /me (rider)": {0, 100, 1000}}, ""},
		"new":            {measured(110, 1100), map[string]used{}, ""},
		"no longer here": {measured(110, 1100), map[string]used{"GET /you (rider)": {0, 100, 1000}}, "was not measured"},
		"more":           {measured(111, 1000), map[string]used{"GET /me (rider)": {0, 100, 1000}}, "111 allocations"},
		"larger":         {measured(100, 1101), map[string]used{"GET /me (rider)": {0, 100, 1000}}, "1101 bytes"},
	} {
		err := check([]series{tt.now}, tt.before)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	before, err := usedBefore()
	if err != nil || len(before) == 0 {
		t.Fatal(len(before), err)
	}
	all, _ := endpoints()
	for title := range before {
		if !slices.ContainsFunc(all, func(e endpoint) bool { return e.title() == title }) {
			t.Errorf("%s is not measured", title)
		}
	}
}
