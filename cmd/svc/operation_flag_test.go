package main

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"svc/internal/test/testkit"
	"svc/pkg/domain/settings"
)

// TestFlagValues: a flag makes the JSON that the schema asks for, exactly. Each case is one
// that other generated command lines got wrong.
func TestFlagValues(t *testing.T) {
	t.Parallel()
	text, number := &huma.Schema{Type: huma.TypeString}, &huma.Schema{Type: huma.TypeNumber}
	on, whole := &huma.Schema{Type: huma.TypeBoolean}, &huma.Schema{Type: huma.TypeInteger}
	list, object := &huma.Schema{Type: huma.TypeArray, Items: text}, &huma.Schema{Type: huma.TypeObject}
	words := &huma.Schema{Type: huma.TypeString, Enum: []any{"CASH", "CARD"}}
	for name, c := range map[string]struct {
		field field
		texts []string
		want  string // JSON, or what the error says
	}{
		"false is sent":                {field{schema: on}, []string{"false"}, "false"},
		"null clears a boolean":        {field{schema: on, nullable: true}, []string{"null"}, "null"},
		"no text clears a text":        {field{schema: text, nullable: true}, []string{""}, "null"},
		"somebody is called null":      {field{schema: text, nullable: true}, []string{"null"}, `"null"`},
		"a text that may not be null":  {field{schema: text}, []string{""}, `""`},
		"digits of a text stay a text": {field{schema: text}, []string{"0123"}, `"0123"`},
		"a number stays exact": {field{schema: number}, []string{"12345678901234567890.1"},
			"12345678901234567890.1"},
		"a number in another notation":          {field{schema: number}, []string{"0x10"}, "expected a number"},
		"no number":                             {field{schema: number}, []string{"NaN"}, "expected a number"},
		"leading zeros":                         {field{schema: whole}, []string{"007"}, "7"},
		"above 2^53":                            {field{schema: whole}, []string{"9007199254740993"}, "9007199254740993"},
		"a comma within an element":             {field{schema: list}, []string{"a,b", "c"}, `["a,b","c"]`},
		"an empty list":                         {field{schema: list}, []string{""}, "[]"},
		"a JSON object is no text":              {field{schema: object}, []string{` {"a": [1]}`}, `{"a": [1]}`},
		"an object that is not JSON":            {field{schema: object}, []string{"{a}"}, "not JSON"},
		"a word of an enumeration, in its case": {field{schema: words}, []string{"cash"}, "expected CASH, CARD"},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := &flagValue{field: c.field}, error(nil)
			for _, one := range c.texts {
				if err == nil {
					err = g.Set(one)
				}
			}
			var got json.RawMessage
			if err == nil {
				got, err = g.value()
			}
			if err == nil && strings.TrimSpace(string(got)) != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %v, want %s", got, err, c.want)
			}
		})
	}
}

// TestFlagNames: a member has its own flag also where another one, or a flag of every command,
// has its name.
func TestFlagNames(t *testing.T) {
	t.Parallel()
	for member, want := range map[string]string{"iconUrl": "icon-url", "pricing.taxRate": "pricing-tax-rate",
		"version": "version-value", "data": "data-value", "name": "name"} {
		if got := flagName(member); got != want {
			t.Errorf("the flag of %s is %s, want %s", member, got, want)
		}
	}
	operations, err := operationsOf()
	testkit.Must(t, err)
	names := map[string]string{}
	for _, op := range operations {
		if byHand[op.ID] != "" {
			continue
		}
		name := op.group + " " + op.name
		if names[name] != "" {
			t.Errorf("%s and %s are both svc %s", names[name], op.ID, name)
		}
		names[name] = op.ID
		seen := map[string]bool{}
		for _, sub := range commandOf(t, op).Parent().Commands() {
			for _, one := range append(sub.Aliases, sub.Name()) {
				if seen[one] {
					t.Errorf("two commands of svc %s are called %s", op.group, one)
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
		_, err := settings.AddZone(t.Context(), bay, by(), settings.Zone{Name: strconv.Itoa(i), Area: area})
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
	if got := len(zones()); got != usualLimit {
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
	if _, errs, code := w.run("zones", "update", "bay", id, "--active", "false"); code != exitUsage ||
		!strings.Contains(errs, "--active=false") {
		t.Errorf("a boolean as a word of its own: %d %s", code, errs)
	}
	rows := map[string]json.RawMessage{}
	scalars(json.RawMessage(w.ok("tenant", "settings", "bay", "--json")), "", rows, map[string][]json.RawMessage{})
	for name, value := range rows { // what svc tenant settings shows, it also sets
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		if _, err := settingsOf(map[string]string{name: text}); err != nil {
			t.Error(err)
		}
	}
	if got := read[map[string]any](w, "settings", "update", "bay", "--pricing-tax-rate=0.1")["settings"]; got == nil ||
		got.(map[string]any)["pricing"].(map[string]any)["taxRate"] != 0.1 {
		t.Errorf("the settings are %v", got)
	}
}
