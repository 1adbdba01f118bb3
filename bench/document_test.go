package main

import (
	"slices"
	"strings"
	"testing"

	"svc/pkg/app"
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
	for _, e := range listed().Requests {
		if !slices.ContainsFunc(app.Rows(nil), e.is) {
			t.Errorf("%s is not a request to any row", e.Name)
		}
	}
}

// Every name that a request uses is known: a step that keeps it, or one of the world.
func TestSteps(t *testing.T) {
	all, _ := endpoints()
	for _, e := range all {
		for name := range strings.FieldsSeq(e.Before) {
			_, isRequest := listed().Steps[name]
			if !isRequest && special[name] == nil && !strings.HasPrefix(name, "id=") {
				t.Errorf("%s: there is no step %q", e.Name, name)
			}
		}
	}
}
