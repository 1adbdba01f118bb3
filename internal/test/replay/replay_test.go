package replay_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"svc"
	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/domain/event"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/gateway/emulator"
)

var update = flag.Bool("update", false, "write the events and the golden answers anew")

const eventsDir = "../../../events"

// TestReplay sends every event of events/api to the built function that the
// template routes it to, payload 2.0 and payload 1.0 on separate tables. Both
// must return the same golden response.
func TestReplay(t *testing.T) {
	testkit.Long(t)
	routes, err := emulator.Routes(svc.Template)
	testkit.Must(t, err)
	all := requests(t)
	if *update {
		write(t, routes, all)
	}
	for _, payload := range []string{"v2", "v1"} {
		t.Run(payload, func(t *testing.T) {
			s := start(t)
			s.told = map[string]bool{}
			made := map[string]string{}
			for _, r := range all {
				t.Run(r.name, func(t *testing.T) { s.replay(t, routes, payload, r.name, made) })
			}
			s.measures(t)
			tells(t, s.told)
		})
	}
}

// measures checks that every function that reads the table logs its units, and
// that functions that handle requests log errors by code.
func (s *deployment) measures(t *testing.T) {
	t.Helper()
	s.output.mu.Lock()
	defer s.output.mu.Unlock()
	of := map[string]string{} // function by operation
	for _, r := range app.Rows(nil) {
		of[r.ID] = app.FunctionOf(r.Path)
	}
	used, errors, counted := map[string]float64{}, map[string]int{}, map[string]bool{}
	for text := range bytes.Lines(s.output.text) {
		var line struct {
			Function, Operation string
			Error               string // error of a request, in the request's line or in the authorization server's
			Agent               bool
			Status              int
			Reads               float64 `json:"read_units"`
		}
		if json.Unmarshal(text, &line) != nil {
			continue
		}
		name := line.Function
		if name != "" {
			name += "Function" // its name in template.yaml
		}
		switch counted[name] = counted[name] || line.Status != 0; {
		case line.Agent:
			name = app.MCP
		case name == "":
			name = of[line.Operation]
		}
		used[name] += line.Reads
		errors[name+" "+line.Error]++
	}
	for name, kind := range functions {
		if kind != "schedule" && kind != "hook" && name != app.Docs && used[name] == 0 {
			t.Errorf("%s measures no units", name)
		}
		if kind == "request" && name != app.Docs && !counted[name] {
			t.Errorf("%s counts no failures", name)
		}
	}
	for _, name := range []string{app.Trips + " unauthorized", app.Me + " invalid_request",
		app.OAuth + " invalid_redirect_uri", app.OAuth + " not_found"} {
		if errors[name] == 0 {
			t.Errorf("no errors of %s are measured: %v", name, errors)
		}
	}
}

// write writes the events, and removes the files of events that no longer
// exist.
func write(t *testing.T, routes []emulator.Route, all []request) {
	t.Helper()
	for _, dir := range []string{"v1", "v2", "golden"} {
		testkit.Must(t, os.MkdirAll(filepath.Join(eventsDir, "api", dir), 0o755))
		for _, name := range names(t, dir) {
			if !slices.ContainsFunc(all, func(r request) bool { return r.name == name }) {
				testkit.Must(t, os.Remove(eventFile(dir, name)))
			}
		}
	}
	for _, r := range all {
		for payload, text := range r.events(routes) {
			testkit.Must(t, os.WriteFile(eventFile(payload, r.name), text, 0o644))
		}
	}
}

func eventFile(dir, name string) string { return filepath.Join(eventsDir, "api", dir, name+".json") }

// names lists the events of a folder, sorted.
func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	files, err := filepath.Glob(eventFile(dir, "*"))
	testkit.Must(t, err)
	for _, file := range files {
		out = append(out, strings.TrimSuffix(filepath.Base(file), ".json"))
	}
	slices.Sort(out)
	return out
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	testkit.Must(t, err)
	if len(files) == 0 {
		t.Fatalf("%s has no events (go test ./internal/test/replay -update writes them)", dir)
	}
	slices.Sort(files)
	return files
}

// placeholders match values that exist only during the replay: a person's
// token, or an id from an earlier response.
var placeholders = regexp.MustCompile(`\{\{([^}]+)\}\}`)

func (s *deployment) replay(t *testing.T, routes []emulator.Route, payload, name string, made map[string]string) {
	text, err := os.ReadFile(eventFile(payload, name))
	testkit.Must(t, err)
	sent := placeholders.ReplaceAllFunc(text, func(m []byte) []byte {
		word := string(m[2 : len(m)-2])
		if id := made[word]; id != "" {
			return []byte(id)
		}
		return []byte(s.token(t, word))
	})
	function, before := functionOf(t, routes, sent), s.appended(t)
	answer, err := s.processes[function].Invoke(context.Background(), sent)
	if err != nil {
		t.Fatalf("%s: %v\n%s", function, err, s.output.tail())
	}
	got, raw := s.normal(t, answer)
	operation, _, _ := strings.Cut(name, "-")
	if got.Status == http.StatusCreated {
		var one struct{ ID string }
		testkit.Must(t, json.Unmarshal(raw, &one))
		made[operation] = one.ID
	}
	s.drain(t) // the effects of a change are there before the next event
	if got.Status < 300 && s.appended(t) > before {
		s.told[operation] = true
	}
	compare(t, eventFile("golden", name), indented(got), payload == "v2" && *update)
}

func compare(t *testing.T, file string, got []byte, golden bool) {
	t.Helper()
	if golden {
		testkit.Must(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	testkit.Must(t, err)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Error(diff)
	}
}

// functionOf finds the function by the route that the event names.
func functionOf(t *testing.T, routes []emulator.Route, event []byte) string {
	t.Helper()
	var e struct{ RouteKey, Resource, HTTPMethod string }
	testkit.Must(t, json.Unmarshal(event, &e))
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

// goldenResponse is a response as its golden file has it. Values that differ between
// runs are replaced by fixed ones, and a page is reduced to its title.
type goldenResponse struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Cookies []string          `json:"cookies,omitempty"` // names
	Body    any               `json:"body,omitempty"`
}

var (
	times       = regexp.MustCompile(`\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	ids         = regexp.MustCompile(`\b([a-z]{2,4})_[0-9A-HJKMNP-TV-Z]{26}\b`)
	codes       = regexp.MustCompile(`("id":"(?:trp|ord)_01K\d+","(?:trip|order)Code":")[0-9A-Z]{8}"`) // of one with a new id
	secrets     = regexp.MustCompile(`data:image/[^"]*|[A-Za-z0-9_-]{40,}`)                            // or a picture, which contains such texts
	whsecs      = regexp.MustCompile(`whsec_[^"]+`)
	cursorLines = regexp.MustCompile(`(?m)^id: \S+$`)
	retries     = regexp.MustCompile(`(?m)^retry: \d+$`) // random, so that clients do not come back together
	cursors     = regexp.MustCompile(`"cursor":"[^"]+"`) // the demo's events have another order in each run
	epochs      = regexp.MustCompile(`"(client_id_issued_at|expires_at|until)":"?\d+"?`)
	signed      = regexp.MustCompile(`(\b|%2F)20\d{6}((/|%2F)us-east-1|T\d{6}Z)`) // the day or time of what is signed for S3
	titles      = regexp.MustCompile(`(?s)<title>(.*?)</title>`)
)

func (s *deployment) normal(t *testing.T, answer []byte) (goldenResponse, []byte) {
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
		t.Fatalf("not an HTTP response: %s", answer)
	}
	raw := []byte(a.Body)
	if a.IsBase64Encoded {
		var err error
		raw, err = base64.StdEncoding.DecodeString(a.Body)
		testkit.Must(t, err)
	}
	out := goldenResponse{Status: a.StatusCode, Headers: map[string]string{}}
	header := func(name, value string) {
		switch name = strings.ToLower(name); name {
		case "content-type", "cache-control", "www-authenticate", "allow", "location", "idempotent-replayed",
			"access-control-allow-origin":
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
		out.Body = "more than 20,000 bytes" // the OpenAPI document has its own golden file
	case out.Headers["content-type"] == "text/event-stream":
		text := retries.ReplaceAllString(s.masked(string(raw)), "retry: 2000")
		out.Body = cursorLines.ReplaceAllString(text, "id: 0nJtbfO5gGWtNHIuM3M")
	case len(raw) > 0:
		masked := json.RawMessage(s.masked(string(raw)))
		if !json.Valid(masked) {
			t.Fatalf("neither JSON nor a page: %s", raw)
		}
		out.Body = masked
	}
	return out, raw
}

// masked replaces values that are new in each run. The nth new identifier of a
// kind becomes number n of that kind; every new time becomes one fixed time. So
// a response stays valid, and changes only when the service changes. The demo's
// own identifiers begin with 01J, and its times are not after demoNow.
func (s *deployment) masked(text string) string {
	text = strings.ReplaceAll(text, s.BaseURL, "{base_url}")
	numbers, last := map[string]int{}, map[string]int{}
	text = ids.ReplaceAllStringFunc(text, func(id string) string {
		kind, rest, _ := strings.Cut(id, "_")
		if strings.HasPrefix(rest, "01J") || rest == "01ARZ3NDEKTSV4RRFFQ69G5FAV" {
			return id
		}
		if numbers[id] == 0 {
			last[kind]++
			numbers[id] = last[kind]
		}
		return fmt.Sprintf("%s_01K%023d", kind, numbers[id])
	})
	text = times.ReplaceAllStringFunc(text, func(at string) string {
		if at < "2026-06-01T12:00:01" {
			return at
		}
		return "2026-06-01T12:05:00.000Z"
	})
	text = codes.ReplaceAllString(text, `${1}7K3M9QXZ"`)
	text = whsecs.ReplaceAllString(text, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	text = cursors.ReplaceAllString(text, `"cursor":"0nJtbfO5gGWtNHIuM3M"`)
	text = signed.ReplaceAllString(text, "<signed>")
	text = epochs.ReplaceAllString(text, `"$1":1780315500`)
	return secrets.ReplaceAllStringFunc(text, func(found string) string {
		if strings.HasPrefix(found, "data:") {
			return found
		}
		return "<secret>"
	})
}

// TestEventsAreComplete: every operation and every route has the listed events
// in both payloads, and each event has a golden response.
func TestEventsAreComplete(t *testing.T) {
	routes, err := emulator.Routes(svc.Template)
	testkit.Must(t, err)
	seen, want := map[string]bool{}, []string(nil)
	for _, r := range requests(t) {
		want = append(want, r.name)
		to, _ := route(routes, r.method, r.path)
		seen[routeKey(to)] = true
		for payload, text := range r.events(routes) {
			kept, err := os.ReadFile(eventFile(payload, r.name))
			if diff := cmp.Diff(string(text), string(kept)); err != nil || diff != "" {
				t.Errorf("%s of %s (make golden): %v %s", payload, r.name, err, diff)
			}
		}
	}
	slices.Sort(want)
	for _, dir := range []string{"v1", "v2", "golden"} {
		if diff := cmp.Diff(want, names(t, dir)); diff != "" {
			t.Errorf("%s (make golden): %s", dir, diff)
		}
	}
	for _, r := range routes {
		if !seen[routeKey(r)] {
			t.Errorf("the route %s has no event: add a request to internal/test/replay/requests.yaml", routeKey(r))
		}
	}
}

// appended returns how many events the feeds of the demo's tenants have got.
func (s *deployment) appended(t *testing.T) (n int64) {
	t.Helper()
	all, err := tenant.Store{DB: s.db}.List(t.Context())
	testkit.Must(t, err)
	for _, one := range all {
		last, err := event.Newest(t.Context(), s.db.Tenant(one.ID))
		testkit.Must(t, err)
		for _, number := range last {
			n += number
		}
	}
	return n
}

// tells checks that each change appends an event, or that its row has a reason for none (api.NoEvent).
func tells(t *testing.T, told map[string]bool) {
	t.Helper()
	for _, r := range app.Rows(nil) {
		name := r.Method + " " + strings.TrimPrefix(r.Path, "/api/v1")
		switch {
		case r.Method == http.MethodGet || r.Internal || !strings.HasPrefix(r.Path, "/api/v1/"):
		case told[r.ID] && r.NoEvent != "":
			t.Errorf("%s (%s) has an event, and its row says why it has none", name, r.ID)
		case !told[r.ID] && r.NoEvent == "":
			t.Errorf("%s (%s) appends no event, and its row does not say why (api.NoEvent)", name, r.ID)
		}
	}
}
