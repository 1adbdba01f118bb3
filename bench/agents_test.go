package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc/pkg/data/table"
)

// The arguments of a tool call are what the request has in path, query and body.
func TestToolArguments(t *testing.T) {
	all, err := pairs()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		target, body := p.request.target, ""
		switch p.call.tool.row.ID {
		case "svc_request_ride":
			target, body = "/api/v1/me/trips", `{"originLat":40.70010,"stops":[1]}`
		case "svc_accept_trip":
			target = "/api/v1/me/trips/trp_1/accept"
		case "svc_save_address":
			target, body = "/api/v1/me/addresses", `{"label":"Home"}`
		}
		got, err := p.call.tool.arguments(target, body)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		want, listed := map[string]string{
			"GET /trips/{trip}": `{"id":"{trip}"}`, "GET /trips?limit=20": `{"limit":20}`,
			"GET /trips?limit=200": `{"limit":200}`, "GET /me/trips?limit=20": `{"limit":20}`, "POST /me/trips": `{"originLat":40.70010,"stops":[1]}`,
			"POST /me/trips/{id}/accept": `{"id":"trp_1"}`, "POST /me/addresses": `{"label":"Home"}`}[p.request.name]
		if !listed {
			want = "{}"
		}
		if string(text) != want {
			t.Errorf("%s: %s, want %s", p.request.name, text, want)
		}
	}
}

// The table of tool calls goes between its markers.
func TestAgentsDocument(t *testing.T) {
	all, err := pairs()
	if err != nil {
		t.Fatal(err)
	}
	one := beside{pair: all[0], rounds: [][]used{{{cpu: time.Millisecond, mallocs: 1000}},
		{{cpu: 1200 * time.Microsecond, mallocs: 1100}}}}
	one.usages = [2]table.Usage{{Sequential: 1, ReadUnits: 5}, {Sequential: 2, ReadUnits: 5}}
	file := filepath.Join(t.TempDir(), "performance.md")
	before := "# Performance\n\n" + agentsBegin + "\nstale\n" + agentsEnd + "\n\n## Next\n"
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := agentsDocument(options{document: file, rounds: 1, reads: 1}, "a machine", []beside{one}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	const want = "| `GET /me` (rider) | `svc_me` | 1.00 | 1.20 | 1,000 | 1,100 | 0.20 (0.20–0.20) | 1 and 2 | 5 + 0 |\n\n" +
		agentsEnd + "\n\n## Next\n"
	if err != nil || !strings.HasSuffix(string(text), want) || strings.Contains(string(text), "stale") {
		t.Errorf("%v %s", err, text)
	}
}
