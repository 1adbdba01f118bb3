package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"svc/internal/test/testkit"
)

// A folder is filled while no service runs, and again while one runs.
// Afterwards the counters match the items.
func TestSeed(t *testing.T) {
	testkit.Long(t)
	t.Setenv("TABLE_NAME", "")
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "")
	data := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := newCLI(&out, &errs).Run(t.Context(), append(args, "--data", data)); code != 0 {
			t.Fatalf("svc %s ended with %d: %s", strings.Join(args, " "), code, errs.String())
		}
		return out.String()
	}
	if out := run("seed", "--tenant", "metro", "--trips", "60"); !strings.HasPrefix(out,
		"Created 60 trips of 8 drivers and 20 riders") {
		t.Errorf("output: %s", out)
	}
	_, _, ended := devFor(t, data, hasDemo)
	var counted []rebuildResult
	if err := json.Unmarshal([]byte(run("rebuild", "metro", "--json")), &counted); err != nil {
		t.Fatal(err)
	}
	for _, one := range counted {
		if one.Examined["trip"] != 85 || len(one.Settled) > 0 || len(one.Keys) > 0 { // the demo has 25
			t.Errorf("rebuild: %+v", one)
		}
	}
	if out := run("seed", "--tenant", "metro", "--trips", "20", "--password", "demo-password"); !strings.HasPrefix(out,
		"Created 20 trips") {
		t.Errorf("output: %s", out)
	}
	if out := run("token", "get", "--tenant", "metro", "--audience", "rider", "--email", "rider.2.1@metro.example",
		"--password", "demo-password"); len(out) < 100 {
		t.Errorf("token: %s", out)
	}
	ended()
	if out := run("seed", "--tenant", "metro", "--trips", "5"); !strings.HasPrefix(out, "Created 5 trips") {
		t.Errorf("output: %s", out)
	}
}
