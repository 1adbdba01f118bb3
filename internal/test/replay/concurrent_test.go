package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"svc"
	"svc/internal/test/replay"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/base/money"
	"svc/pkg/edge/gateway/emulator"
	"svc/pkg/local/demo"
	"svc/pkg/oauth/flow"
)

// atOnce is how many events each process handles at once.
const atOnce = 64

// TestManyRequestsInOneProcess runs the functions, built with the race
// detector, with 64 events at once in each process: people of two tenants,
// reads, rides from request to receipt, and tokens. Every response, and every
// line of the log, must belong to its request. A data race ends the process.
// The memory and goroutines of a process must not grow with the requests.
// SVC_CONCURRENT sets the rounds of each worker.
func TestManyRequestsInOneProcess(t *testing.T) {
	if os.Getenv("SVC_CONCURRENT") == "" {
		t.Skip("make test-race and make concurrent run it")
	}
	rounds, err := strconv.Atoi(os.Getenv("SVC_CONCURRENT"))
	testkit.Must(t, err)
	dir := filepath.Join(t.TempDir(), "bin")
	testkit.Must(t, replay.Build(t.Context(), replay.Builds{Race: true, Probe: true}, dir))
	s := &deployment{dir: dir, events: atOnce, environment: []string{"GORACE=halt_on_error=1 exitcode=66"},
		meet: &meeting{}}
	t.Cleanup(func() { s.meet.server.Close() }) // after the functions, which start ends
	s.start(t)
	c := newCrowd(t, s)
	c.together(t)
	c.work(t, "warm-up", 1)
	before := s.hold(t)
	c.work(t, "first", rounds)
	c.work(t, "second", rounds)
	s.drain(t)
	c.bounded(t, before, s.hold(t))
	c.sums(t)
	c.lines(t)
}

// worker sends requests as one person with a token. 64 of them run at once.
type worker struct {
	demo.Person
	number int
	token  string
	agent  string // token of an operator's agent
}

// crowd is the set of workers on a deployment.
type crowd struct {
	*deployment
	routes  []emulator.Route
	workers []worker
	drivers map[string][]worker // one worker of each driver, by tenant
	agents  map[string]string   // tokens of the operators' agents, by tenant
	report  map[string]report   // at the start, by tenant

	services map[string]any // a service type's id, by tenant

	mu       sync.Mutex
	requests int
	rides    map[string]int // completed, by tenant
}

// report is the part of a tenant's report that rides change.
type report struct {
	CompletedTrips int
	Revenue        money.Amount
}

func newCrowd(t *testing.T, s *deployment) *crowd {
	t.Helper()
	c := &crowd{deployment: s, drivers: map[string][]worker{}, agents: map[string]string{},
		report: map[string]report{}, rides: map[string]int{}, services: map[string]any{}}
	var err error
	c.routes, err = emulator.Routes(svc.Template)
	testkit.Must(t, err)
	var people []demo.Person
	for _, p := range demo.People() {
		if p.Tenant == "sandbox" { // it has no rides before its robots drive
			continue
		}
		if p.Tenant != "" {
			people = append(people, p)
		}
	}
	for _, p := range people {
		if p.Audience != authz.Dashboard {
			continue
		}
		tokens, err := flow.Token(t.Context(), flow.Options{BaseURL: s.BaseURL, Tenant: p.Tenant, Email: p.Email,
			Password: demo.Password, Resource: s.BaseURL + "/mcp"})
		testkit.Must(t, err)
		c.agents[p.Tenant] = tokens.AccessToken
	}
	for n := range atOnce {
		p := people[n%len(people)]
		w := worker{p, n, s.token(t, p.Email), ""}
		if p.Audience == authz.Dashboard {
			w.agent = c.agents[p.Tenant]
		}
		c.workers = append(c.workers, w)
		if p.Audience == authz.Driver && n < len(people) {
			c.drivers[p.Tenant] = append(c.drivers[p.Tenant], w)
		}
	}
	for _, tenant := range []string{"metro", "harbor"} {
		services, err := c.items(c.operator(tenant), "services", "/api/v1/services")
		testkit.Must(t, err)
		c.services[tenant] = services[0]["id"]
		c.report[tenant] = c.reportOf(t, tenant)
	}
	return c
}

func (c *crowd) operator(tenant string) worker {
	for _, w := range c.workers {
		if w.Tenant == tenant && w.Audience == authz.Dashboard {
			return w
		}
	}
	panic("no operator of " + tenant)
}

func (c *crowd) reportOf(t *testing.T, tenant string) (out report) {
	t.Helper()
	body, err := c.send(c.operator(tenant), "report", "GET", "/api/v1/reports/summary", "")
	testkit.Must(t, err)
	testkit.Must(t, json.Unmarshal(body, &out))
	return out
}

// send sends a worker's request. It returns the body of a 2xx, and an error for
// any other status or if the answer names another request. A 503 is sent again.
func (c *crowd) send(w worker, name, method, path, body string) ([]byte, error) {
	id := fmt.Sprintf("%s.%s.%d", name, w.Tenant, w.number)
	path, query, _ := strings.Cut(path, "?")
	r := request{name: id, method: method, path: path, query: query, body: body,
		header: map[string]string{"authorization": "Bearer " + w.token, "x-request-id": id, "idempotency-key": id}}
	to, parameters := route(c.routes, method, path)
	event, err := json.Marshal(r.v2(to, parameters))
	if err != nil {
		return nil, err
	}
	for range 20 {
		c.mu.Lock()
		c.requests++
		c.mu.Unlock()
		raw, err := c.processes[to.Function].Invoke(context.Background(), event)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		var a struct {
			StatusCode int
			Headers    map[string]string
			Body       string
		}
		switch err := json.Unmarshal(raw, &a); {
		case err != nil:
			return nil, err
		case a.Headers["X-Request-Id"] != id:
			return nil, fmt.Errorf("the answer to %s is that to %q", id, a.Headers["X-Request-Id"])
		case a.StatusCode/100 == 2:
			return []byte(a.Body), nil
		case a.StatusCode != 503:
			return nil, fmt.Errorf("%s: %d %s", id, a.StatusCode, a.Body)
		}
	}
	return nil, fmt.Errorf("%s: 503 each time", id)
}

// together proves that one process handles 64 events at once: no response to 64
// votes is sent before all of them have read the table.
func (c *crowd) together(t *testing.T) {
	t.Helper()
	_, err := c.send(c.workers[0], "before", "GET", "/api/v1/feedback", "") // reads the keys
	testkit.Must(t, err)
	c.meet.set(atOnce)
	var wait sync.WaitGroup
	for n := range atOnce {
		wait.Go(func() {
			w := c.workers[n]
			if _, err := c.send(w, "together", "POST", "/api/v1/feedback/none/vote", ""); err == nil ||
				!strings.Contains(err.Error(), "insufficient_scope") && !strings.Contains(err.Error(), "not_found") {
				t.Errorf("%v; want not_found, or insufficient_scope of riders and drivers\n%s", err, c.output.tail())
			}
		})
	}
	wait.Wait()
	if met := c.meet.set(0); !met {
		t.Errorf("the function never handled %d events at once", atOnce)
	}
}

// hold returns the current memory and goroutines of each process.
func (s *deployment) hold(t *testing.T) map[string]held {
	t.Helper()
	out := map[string]held{}
	for name, p := range s.processes {
		testkit.Must(t, p.Hold())
		select {
		case out[name] = <-s.output.held:
		case <-time.After(replay.Timeout):
			t.Fatalf("%s does not report its memory", name)
		}
	}
	return out
}

// bounded checks that memory and goroutines of a process do not grow with the
// number of requests.
func (c *crowd) bounded(t *testing.T, before, after map[string]held) {
	t.Helper()
	for name, now := range after {
		was := before[name]
		t.Logf("%-20s heap %d KB, then %d KB; goroutines %d, then %d", name, was.heap>>10, now.heap>>10,
			was.goroutines, now.goroutines)
		if now.heap > was.heap+16<<20 {
			t.Errorf("%s: the live heap grew from %d to %d bytes", name, was.heap, now.heap)
		}
		// Two for each kept connection: 64 to the runtime API, at most 128 to the table.
		if most := atOnce + 2*(64+128) + 64; now.goroutines > most {
			t.Errorf("%s: %d goroutines; at most %d", name, now.goroutines, most)
		}
	}
}

// sums checks that the reports count every ride exactly once.
func (c *crowd) sums(t *testing.T) {
	t.Helper()
	for tenant, rides := range c.rides {
		was, now := c.report[tenant], c.reportOf(t, tenant)
		if got := now.CompletedTrips - was.CompletedTrips; got != rides {
			t.Errorf("%s: the report has %d new completed trips, want %d", tenant, got, rides)
		}
		if got, want := cents(t, now.Revenue)-cents(t, was.Revenue), int64(rides)*fareCents; got != want {
			t.Errorf("%s: the revenue grew by %d hundredths, want %d", tenant, got, want)
		}
	}
}

// lines checks the processes' log: each request's line names its tenant, and no
// data race is reported.
func (c *crowd) lines(t *testing.T) {
	t.Helper()
	ids := map[string]string{}
	for _, w := range c.workers {
		if ids[w.Tenant] == "" {
			ids[w.Tenant] = tenantID(t, w.token)
		}
	}
	c.output.mu.Lock()
	defer c.output.mu.Unlock()
	if bytes.Contains(c.output.text, []byte("DATA RACE")) {
		t.Errorf("a race:\n%s", c.output.text[max(0, len(c.output.text)-8000):])
	}
	named := 0
	for text := range bytes.Lines(c.output.text) {
		var line struct {
			MS       float64 `json:"ms"` // only a request's line has it
			Function string  `json:"function"`
			Request  string  `json:"request_id"`
			TenantID string  `json:"tenant_id"`
		}
		if !json.Valid(text) {
			t.Errorf("a broken line of the log: %.200s", text)
		}
		if json.Unmarshal(text, &line) != nil || line.MS == 0 || line.Function == strings.TrimSuffix(app.OAuth, "Function") {
			continue // the authorization server's lines name no tenant
		}
		parts := strings.Split(line.Request, ".")
		if len(parts) != 3 || ids[parts[1]] == "" {
			continue
		}
		if named++; line.TenantID != ids[parts[1]] {
			t.Errorf("the line of %s names %s", line.Request, line.TenantID)
		}
	}
	if named < c.requests/2 {
		t.Errorf("%d lines of %d requests", named, c.requests)
	}
	t.Logf("%d requests, %d lines, %v rides", c.requests, named, c.rides)
}
