package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/cmd/svc/operation"
	"svc/internal/test/testkit"
)

// Every table of the demo's data is at most tableWidth columns wide, in every
// command that lists or shows something.
func TestTablesFitTheTerminal(t *testing.T) {
	testkit.Long(t)
	w, r := start(t), receive(t)
	trips := read[[]struct{ ID string }](w, "trip", "list", "metro")
	hook := read[endpointWithSecret](w, "webhook", "create", "metro", r.URL)
	r.use(hook.Secret)
	w.enabled(t)
	w.ok("webhook", "test", "metro", hook.ID, "--type", "feedback.status_changed")
	r.wait(t, "feedback.status_changed")
	asked := w.request("erase", "--customer", "rider1@metro.example")
	shown := [][]string{
		{"privacy", "list", "--tenant", "metro"}, {"privacy", "show", asked.ID, "--tenant", "metro"},
		{"restore", "erasures"}, {"tenant", "list", "--deleted"}, {"wallet", "show", "metro", "rider1@metro.example",
			"--side", "rider"}, {"statement", "metro", "driver1@metro.example", "2026-01"},
		{"tenant", "list"}, {"tenant", "show", "metro"}, {"member", "list", "metro"}, {"driver", "list", "metro"},
		{"rider", "list", "metro"}, {"service", "list", "metro"},
		{"business", "list", "metro"},
		{"wallet", "show", "metro", "driver1@metro.example"}, {"payment", "list", "metro", "rider1@metro.example"},
		{"audit", "metro"}, {"client", "list"}, {"client", "list", "metro"}, {"token", "list", "metro"}, {"keys", "list"},
		{"feedback", "list"}, {"status"}, {"doctor"}, {"webhook", "list", "metro"},
		{"webhook", "deliveries", "metro", hook.ID}, {"events", "metro"}, {"tenant", "settings", "metro"},
		{"tenant", "brand", "metro"}, {"trip", "show", "metro", trips[0].ID},
		{"menu", "list", "metro", "biz_01JMETR0000000000000000001"},
		{"documents", "list", "metro", "driver1@metro.example"}, {"postings", "list", "metro", "--driver-id",
			"driver1@metro.example"},
		{"wallets", "list", "metro"},
	}
	operations, err := operation.All()
	testkit.Must(t, err)
	for _, op := range operations {
		if op.Lists && len(op.Parameters) == 0 && operation.ByHand[op.ID] == "" && op.ID != "svc_list_postings" {
			shown = append(shown, []string{op.Group, op.Name, "metro"})
		}
	}
	have := map[string]bool{}
	for _, args := range shown {
		out, _, _ := w.run(args...) // doctor fails where something is missing, and still prints its table
		if out == "" && args[0] != "client" && args[0] != "token" {
			t.Errorf("svc %s printed nothing", strings.Join(args, " "))
		}
		for line := range strings.Lines(strings.ReplaceAll(out, w.data, ".local")) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > cli.TableWidth {
				t.Errorf("svc %s: %d columns: %s", strings.Join(args, " "), n, line)
			}
		}
		cmd, _, err := newCLI(nil, nil).Root().Find(args)
		testkit.Must(t, err)
		have[cmd.CommandPath()] = true
	}
	// A list that is added later must be measured too.
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if name := cmd.CommandPath(); cmd.Name() == "list" && !have[name] && name != "svc dlq list" {
			t.Errorf("%s is not measured", name)
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newCLI(nil, nil).Root())
}

// Tables say who a person is. The ids are there with --wide and --json.
func TestTablesNamePeople(t *testing.T) {
	testkit.Long(t)
	w := share(t)
	type row struct {
		ID, CustomerID string
		DriverID       *string
	}
	trips := read[[]row](w, "trip", "list", "metro", "--status", "COMPLETED", "--limit", "1")
	rider := read[[]struct{ ID, Name string }](w, "rider", "list", "metro")
	names := map[string]string{}
	for _, one := range rider {
		names[one.ID] = one.Name
	}
	name, id := names[trips[0].CustomerID], trips[0].CustomerID
	if name == "" || trips[0].DriverID == nil {
		t.Fatalf("the trip is %+v", trips[0])
	}
	out := w.ok("trip", "show", "metro", trips[0].ID)
	if !strings.Contains(out, "rider  ") || strings.Count(out, name) < 2 || strings.Count(out, id) != 1 {
		t.Errorf("trip show does not name %s:\n%s", name, out)
	}
	if wide := w.ok("trip", "show", "metro", trips[0].ID, "--wide"); strings.Count(wide, id) < 2 {
		t.Errorf("trip show --wide lacks the ids:\n%s", wide)
	}
	for _, args := range [][]string{{"trip", "list", "metro", "--status", "COMPLETED", "--limit", "1"},
		{"wallet", "show", "metro", id, "--side", "rider"}} {
		if out := w.ok(args...); !strings.Contains(out, name) || strings.Contains(out, id) {
			t.Errorf("svc %s does not name %s:\n%s", strings.Join(args, " "), name, out)
		}
	}
	if wide := w.ok("wallet", "show", "metro", id, "--side", "rider", "--wide"); !strings.Contains(wide, id) {
		t.Errorf("wallet show --wide lacks the id:\n%s", wide)
	}
}

// A trip is found by its code, in any case, and the list by who takes part and
// when.
func TestTripsByCodePersonAndTime(t *testing.T) {
	w := share(t)
	type row struct{ ID, TripCode, CustomerID, RequestedAt string }
	trips := read[[]row](w, "trip", "list", "metro", "--rider", "rider1@metro.example")
	if len(trips) < 2 {
		t.Fatalf("rider1 has %d trips", len(trips))
	}
	for _, one := range trips {
		if one.CustomerID != trips[0].CustomerID {
			t.Errorf("trip %s is of %s", one.ID, one.CustomerID)
		}
	}
	oldest := trips[len(trips)-1]
	out := w.ok("trip", "show", "metro", strings.ToLower(oldest.TripCode), "--json")
	if !strings.Contains(out, oldest.ID) {
		t.Errorf("trip show by code: %s", out)
	}
	if _, errs, code := w.run("trip", "show", "metro", "ZZZZZZZZ"); code == 0 || !strings.Contains(errs, "use the id") {
		t.Errorf("an unknown code: %d %s", code, errs)
	}
	all := len(trips)
	trips = read[[]row](w, "trip", "list", "metro", "--rider", "rider1@metro.example",
		"--from", trips[all-2].RequestedAt)
	if len(trips) != all-1 {
		t.Errorf("--from of the second oldest leaves %d of %d trips", len(trips), all)
	}
	if _, errs, code := w.run("trip", "list", "metro", "--to", "yesterday"); code != 1 || !strings.Contains(errs, "--to") {
		t.Errorf("--to yesterday: %d %s", code, errs)
	}
}
