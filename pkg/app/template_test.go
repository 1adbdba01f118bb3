package app_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"svc"
	"svc/pkg/api"
	"svc/pkg/app"
	"svc/pkg/gateway/emulator"
	"svc/pkg/table"
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

// TestEveryRowIsServed: a row that no function's own list has would be in the
// document and in no program.
func TestEveryRowIsServed(t *testing.T) {
	var have, want []string
	for _, rows := range []func(*table.DB) []api.Row{app.TripRows, app.FleetRows, app.SettingsRows, app.ReportRows, app.DeliveryRows, app.FeedbackRows, app.MeRows} {
		for _, r := range rows(nil) {
			have = append(have, r.ID)
		}
	}
	for _, r := range app.Rows(nil) {
		want = append(want, r.ID)
	}
	slices.Sort(have)
	slices.Sort(want)
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
}
