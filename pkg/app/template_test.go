package app_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"svc"
	"svc/pkg/app"
	"svc/pkg/gateway/emulator"
)

// TestTemplateRoutesAreTheRows: the template routes every row to the function
// that serves it, and nothing else under /api.
func TestTemplateRoutesAreTheRows(t *testing.T) {
	routes, err := emulator.Routes(svc.Template)
	must(t, err)
	var have, want []string
	for _, r := range routes {
		if strings.HasPrefix(r.Path, "/api/") {
			have = append(have, r.Method+" "+r.Path+" → "+r.Function)
		}
	}
	for _, r := range app.Rows(nil) {
		want = append(want, r.Method+" "+r.Path+" → "+app.Group(r))
	}
	slices.Sort(have)
	slices.Sort(want)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
}
