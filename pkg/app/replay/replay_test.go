package replay_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"svc"
	"svc/pkg/app"
	"svc/pkg/gateway/emulator"
)

var update = flag.Bool("update", false, "write the events and the golden answers anew")

const eventsDir = "../../../events"

// TestReplay sends every event of events/api to the built function that the
// template routes it to, payload 2.0 and payload 1.0 on a table each. One
// golden answer holds for both.
func TestReplay(t *testing.T) {
	routes, err := emulator.Routes(svc.Template)
	must(t, err)
	if *update {
		write(t, routes)
	}
	for _, payload := range []string{"v2", "v1"} {
		t.Run(payload, func(t *testing.T) {
			s := start(t)
			made := map[string]string{}
			for _, file := range list(t, filepath.Join(eventsDir, "api", payload)) {
				name := strings.TrimSuffix(filepath.Base(file), ".json")
				t.Run(name, func(t *testing.T) { s.replay(t, routes, file, name, payload == "v2" && *update, made) })
			}
			s.measures(t)
		})
	}
}

// measures holds every function that reads the table to measuring what it used,
// and those that answer requests to measuring errors by their code.
func (s *service) measures(t *testing.T) {
	t.Helper()
	s.output.mu.Lock()
	defer s.output.mu.Unlock()
	used, errors := map[string]float64{}, map[string]float64{}
	for text := range bytes.Lines(s.output.text) {
		var line struct {
			Function, Error               string
			ReadUnits, WriteUnits, Errors float64
		}
		if json.Unmarshal(text, &line) == nil {
			used[line.Function] += line.ReadUnits + line.WriteUnits
			errors[line.Function+" "+line.Error] += line.Errors
		}
	}
	for name, kind := range functions {
		if kind != "schedule" && name != app.Docs && used[name] == 0 {
			t.Errorf("%s measures no units", name)
		}
	}
	for _, name := range []string{app.Trips + " unauthorized", app.Me + " invalid_request", app.OAuth + " invalid_redirect_uri", app.OAuth + " not_found"} {
		if errors[name] == 0 {
			t.Errorf("no errors of %s are measured: %v", name, errors)
		}
	}
}

func write(t *testing.T, routes []emulator.Route) {
	t.Helper()
	for _, dir := range []string{"v1", "v2", "golden"} {
		dir = filepath.Join(eventsDir, "api", dir)
		must(t, os.RemoveAll(dir))
		must(t, os.MkdirAll(dir, 0o755))
	}
	for i, r := range requests {
		to, parameters := route(routes, r.method, r.path)
		name := fmt.Sprintf("%02d-%s.json", i+1, r.name)
		must(t, os.WriteFile(filepath.Join(eventsDir, "api", "v2", name), indented(r.v2(to, parameters)), 0o644))
		must(t, os.WriteFile(filepath.Join(eventsDir, "api", "v1", name), indented(r.v1(to, parameters)), 0o644))
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	must(t, err)
	if len(files) == 0 {
		t.Fatalf("%s has no events (go test ./pkg/app/replay -update writes them)", dir)
	}
	slices.Sort(files)
	return files
}

// placeholders stand in the events for what is made while they are replayed:
// a token of a person, an id that an earlier answer gave.
var placeholders = regexp.MustCompile(`\{\{([^}]+)\}\}`)

func (s *service) replay(t *testing.T, routes []emulator.Route, file, name string, golden bool, made map[string]string) {
	text, err := os.ReadFile(file)
	must(t, err)
	event := placeholders.ReplaceAllFunc(text, func(m []byte) []byte {
		word := string(m[2 : len(m)-2])
		if id := made[word]; id != "" {
			return []byte(id)
		}
		return []byte(s.token(t, word))
	})
	function := functionOf(t, routes, event)
	answer, err := s.processes[function].Invoke(context.Background(), event)
	if err != nil {
		t.Fatalf("%s: %v\n%s", function, err, s.output.tail())
	}
	got, raw := s.normal(t, answer)
	if strings.Contains(name, "svc_submit_feedback") {
		var post struct{ ID string }
		must(t, json.Unmarshal(raw, &post))
		made["post"] = post.ID
	}
	s.drain(t) // what comes of a change is there before the next event
	compare(t, filepath.Join(eventsDir, "api", "golden", name+".json"), indented(got), golden)
}

func compare(t *testing.T, file string, got []byte, golden bool) {
	t.Helper()
	if golden {
		must(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

// functionOf finds the function by the route that the event names.
func functionOf(t *testing.T, routes []emulator.Route, event []byte) string {
	t.Helper()
	var e struct{ RouteKey, Resource, HTTPMethod string }
	must(t, json.Unmarshal(event, &e))
	method, path, _ := strings.Cut(e.RouteKey, " ")
	if e.RouteKey == "" {
		method, path = e.HTTPMethod, e.Resource
	}
	for _, r := range routes {
		if r.Path == path && (r.Method == method || r.Method == "ANY" && path != emulator.Default) {
			return r.Function
		}
	}
	return app.Docs
}

// answered is an answer as it is kept: what changes from run to run is
// replaced, and of a page the title is enough.
type answered struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Cookies []string          `json:"cookies,omitempty"` // names
	Body    any               `json:"body,omitempty"`
}

var (
	times   = regexp.MustCompile(`\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	ids     = regexp.MustCompile(`\b([a-z]{2,4})_[0-9A-HJKMNP-TV-Z]{26}\b`)
	codes   = regexp.MustCompile(`"tripCode":"[0-9A-Z]{8}"`)
	slugs   = regexp.MustCompile(`"slug":"[^"]*"`)
	secrets = regexp.MustCompile(`[A-Za-z0-9_-]{40,}`)
	epochs  = regexp.MustCompile(`"(client_id_issued_at|expires_at)":\d+`)
	titles  = regexp.MustCompile(`(?s)<title>(.*?)</title>`)
)

func (s *service) normal(t *testing.T, answer []byte) (answered, []byte) {
	t.Helper()
	var a struct {
		StatusCode        int
		Headers           map[string]string
		MultiValueHeaders map[string][]string
		Cookies           []string
		Body              string
		IsBase64Encoded   bool
	}
	if err := json.Unmarshal(answer, &a); err != nil || a.StatusCode == 0 {
		t.Fatalf("no answer to a request: %s", answer)
	}
	raw := []byte(a.Body)
	if a.IsBase64Encoded {
		var err error
		raw, err = base64.StdEncoding.DecodeString(a.Body)
		must(t, err)
	}
	out := answered{Status: a.StatusCode, Headers: map[string]string{}}
	header := func(name, value string) {
		switch name = strings.ToLower(name); name {
		case "content-type", "cache-control", "www-authenticate", "allow", "location", "idempotent-replayed", "access-control-allow-origin":
			out.Headers[name] = s.masked(value)
		case "set-cookie":
			cookie, _, _ := strings.Cut(value, "=")
			out.Cookies = append(out.Cookies, cookie)
		case "x-request-id":
			out.Headers[name] = "<id>"
		}
	}
	for name, value := range a.Headers {
		header(name, value)
	}
	for name, list := range a.MultiValueHeaders {
		for _, value := range list {
			header(name, value)
		}
	}
	for _, cookie := range a.Cookies {
		header("set-cookie", cookie)
	}
	slices.Sort(out.Cookies)
	out.Cookies = slices.Compact(out.Cookies)
	switch title := titles.FindSubmatch(raw); {
	case title != nil:
		out.Body = "page: " + s.masked(string(title[1]))
	case len(raw) > 20_000:
		out.Body = "more than 20,000 bytes" // the OpenAPI document has a golden file of its own
	case len(raw) > 0:
		d := json.NewDecoder(bytes.NewReader([]byte(s.masked(string(raw)))))
		d.UseNumber()
		if err := d.Decode(&out.Body); err != nil {
			t.Fatalf("neither JSON nor a page: %s", raw)
		}
	}
	return out, raw
}

// masked replaces what is made anew in each run. What the demo made stays.
func (s *service) masked(text string) string {
	text = strings.ReplaceAll(text, s.BaseURL, "{base_url}")
	text = ids.ReplaceAllStringFunc(text, func(id string) string {
		kind, rest, _ := strings.Cut(id, "_")
		if strings.HasPrefix(rest, "01JMETR0") || strings.HasPrefix(rest, "01JHARB0R") || strings.HasPrefix(rest, "01JB0TH") {
			return id
		}
		return "<" + kind + ">"
	})
	text = times.ReplaceAllStringFunc(text, func(at string) string {
		if at < "2026-06-01T12:00:01" { // the demo's
			return at
		}
		return "<time>"
	})
	text = codes.ReplaceAllString(text, `"tripCode":"<code>"`)
	text = slugs.ReplaceAllString(text, `"slug":"<slug>"`)
	text = epochs.ReplaceAllString(text, `"$1":"<time>"`)
	return secrets.ReplaceAllString(text, "<secret>")
}

// TestEventsAreComplete: every operation and every route has events of both
// payloads, and each event its golden answer.
func TestEventsAreComplete(t *testing.T) {
	routes, err := emulator.Routes(svc.Template)
	must(t, err)
	seen := map[string]bool{}
	names := func(dir string) (out []string) {
		for _, file := range list(t, filepath.Join(eventsDir, "api", dir)) {
			out = append(out, filepath.Base(file))
		}
		return out
	}
	v2 := names("v2")
	for _, dir := range []string{"v1", "golden"} {
		if diff := cmp.Diff(v2, names(dir)); diff != "" {
			t.Errorf("%s: %s", dir, diff)
		}
	}
	for _, name := range v2 {
		text, err := os.ReadFile(filepath.Join(eventsDir, "api", "v2", name))
		must(t, err)
		var e struct{ RouteKey string }
		must(t, json.Unmarshal(text, &e))
		seen[e.RouteKey] = true
	}
	for _, r := range routes {
		key := r.Method + " " + r.Path
		if r.Path == emulator.Default {
			key = emulator.Default
		}
		if !seen[key] {
			t.Errorf("no event for the route %s", key)
		}
	}
	for _, row := range app.Rows(nil) {
		if !slices.ContainsFunc(v2, func(name string) bool { return strings.Contains(strings.TrimSuffix(name, ".json")+"-", "-"+row.ID+"-") }) {
			t.Errorf("no event is named after %s", row.ID)
		}
	}
}
