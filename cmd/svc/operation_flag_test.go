package main

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"svc/cmd/svc/cli"
	"svc/cmd/svc/operation"
	"svc/internal/test/testkit"
	"svc/pkg/domain/settings"
)

// TestFlagNames: a member has its own flag also where another one, or a flag of every command,
// has its name.
func TestFlagNames(t *testing.T) {
	t.Parallel()
	for member, want := range map[string]string{"iconUrl": "icon-url", "pricing.taxRate": "pricing-tax-rate",
		"version": "version-value", "data": "data-value", "name": "name"} {
		if got := cli.FlagName(member); got != want {
			t.Errorf("the flag of %s is %s, want %s", member, got, want)
		}
	}
	operations, err := operation.All()
	testkit.Must(t, err)
	names := map[string]string{}
	for _, op := range operations {
		if operation.ByHand[op.ID] != "" {
			continue
		}
		name := op.Group + " " + op.Name
		if names[name] != "" {
			t.Errorf("%s and %s are both svc %s", names[name], op.ID, name)
		}
		names[name] = op.ID
		seen := map[string]bool{}
		for _, sub := range commandOf(t, op).Parent().Commands() {
			for _, one := range append(sub.Aliases, sub.Name()) {
				if seen[one] {
					t.Errorf("two commands of svc %s are called %s", op.Group, one)
				}
				seen[one] = true
			}
		}
	}
}

// TestListsGoOnBeyondAPage: a list shows as many items as --limit says, from several pages,
// and no more.
func TestListsGoOnBeyondAPage(t *testing.T) {
	t.Parallel()
	w := start(t, "--no-demo")
	w.ok("tenant", "create", "bay", "--flag", "taxiEnabled=true")
	bay := w.handleOf(w.opened(), "bay")
	area, err := settings.Box("0", "0", "1", "1")
	testkit.Must(t, err)
	for i := range 105 {
		_, err := settings.AddZone(t.Context(), bay, cli.By(), settings.Zone{Name: strconv.Itoa(i), Area: area})
		testkit.Must(t, err)
	}
	zones := func(more ...string) []struct{ ID string } {
		return read[[]struct{ ID string }](w, append([]string{"zones", "list", "bay"}, more...)...)
	}
	for _, limit := range []int{1, 100, 101} {
		if got := len(zones("--limit", strconv.Itoa(limit))); got != limit {
			t.Errorf("%d zones, want %d", got, limit)
		}
	}
	if got := len(zones()); got != 100 {
		t.Errorf("%d zones without --limit", got)
	}
	if got := len(zones("--limit=1000")); got != 105 {
		t.Errorf("%d of 105 zones", got)
	}
	for _, time := range []string{"2026-01-31", "2026-01-31T08:00:00Z", "2026-01-31T08:00:00+01:00"} {
		w.ok("trips", "list", "bay", "--from="+time) // a date is a day in the company's time zone
	}
	id := zones()[0].ID
	if got := read[map[string]any](w, "zones", "update", "bay", id, "--priority", "-3")["priority"]; got != -3.0 {
		t.Errorf("the priority is %v", got)
	}
	if _, errs, code := w.run("zones", "update", "bay", id, "--active", "false"); code != cli.ExitUsage ||
		!strings.Contains(errs, "--active=false") {
		t.Errorf("a boolean as a word of its own: %d %s", code, errs)
	}
	checkSettings(t, "", read[map[string]json.RawMessage](w, "tenant", "settings", "bay"))
	if got := read[map[string]any](w, "settings", "update", "bay", "--pricing-tax-rate=0.1")["settings"]; got == nil ||
		got.(map[string]any)["pricing"].(map[string]any)["taxRate"] != 0.1 {
		t.Errorf("the settings are %v", got)
	}
}

// checkSettings checks that what svc tenant settings shows, it also sets.
func checkSettings(t *testing.T, prefix string, shown map[string]json.RawMessage) {
	t.Helper()
	for name, value := range shown {
		within, text := map[string]json.RawMessage{}, ""
		if json.Unmarshal(value, &within) == nil && within != nil {
			checkSettings(t, prefix+name+".", within)
			continue
		}
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		if _, err := operation.SettingsBody(map[string]string{prefix + name: text}); err != nil {
			t.Error(err)
		}
	}
}
