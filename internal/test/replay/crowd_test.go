package replay_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"svc/internal/test/script"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/base/money"
)

// The fare of every ride of the crowd.
const (
	fare      = "20.15"
	fareCents = 2015
)

// work lets all workers do their rounds at once.
func (c *crowd) work(t *testing.T, phase string, rounds int) {
	t.Helper()
	var wait sync.WaitGroup
	for _, w := range c.workers {
		wait.Go(func() {
			for n := range rounds {
				if err := c.round(w, fmt.Sprintf("%s-%d", phase, n)); err != nil {
					t.Errorf("%s of %s: %v", w.Email, w.Tenant, err)
					return
				}
			}
		})
	}
	wait.Wait()
	if t.Failed() {
		t.Fatal(c.output.tail())
	}
}

// round is one worker's round of requests.
func (c *crowd) round(w worker, name string) error {
	var me struct{ ID, Email string }
	if err := c.get(w, name+"-me", "/api/v1/me", &me); err != nil {
		return err
	}
	if me.ID != w.ID || me.Email != w.Email {
		return fmt.Errorf("/me is %s, %s", me.ID, me.Email)
	}
	var info struct{ Sub string }
	if err := c.get(w, name+"-userinfo", "/oauth/userinfo", &info); err != nil {
		return err
	}
	if info.Sub != w.ID {
		return fmt.Errorf("userinfo is of %s", info.Sub)
	}
	switch w.Audience {
	case authz.Rider:
		return c.rideOnce(w, name)
	case authz.Driver:
		return c.drives(w, name)
	}
	return c.operates(w, name)
}

// get reads a path into out.
func (c *crowd) get(w worker, name, path string, out any) error {
	body, err := c.send(w, name, http.MethodGet, path, "")
	if err != nil {
		return err
	}
	return json.Unmarshal(body, out)
}

// change sends a change and checks members of the response.
func (c *crowd) change(w worker, name, method, path, body string, want map[string]any) (json.RawMessage, error) {
	raw, err := c.send(w, name, method, path, body)
	if err != nil {
		return nil, err
	}
	got := map[string]any{}
	if err := json.Unmarshal(raw, &got); err != nil {
		return nil, err
	}
	for member, value := range want {
		if fmt.Sprint(got[member]) != fmt.Sprint(value) {
			return nil, fmt.Errorf("%s: %s is %v, want %v", name, member, got[member], value)
		}
	}
	return raw, nil
}

// rideOnce takes a ride with a driver of the rider's tenant.
func (c *crowd) rideOnce(w worker, name string) error {
	mark := fmt.Sprintf("%s of %d", name, w.number)
	if _, err := c.change(w, name+"-address", http.MethodPost, "/api/v1/me/addresses",
		fmt.Sprintf(`{"address":"Door %d","lat":%d,"lng":2}`, w.number, w.number),
		map[string]any{"address": fmt.Sprint("Door ", w.number)}); err != nil { // each at another door
		return err
	}
	d := c.drivers[w.Tenant][w.number%len(c.drivers[w.Tenant])]
	d.number = w.number // so that the request's name is its own
	ride := script.Ride{Notes: mark, Asks: fmt.Sprintf(`"paymentType":"CARD","serviceTypeId":%q`, c.services[w.Tenant]),
		Fare: fare}
	if _, err := ride.Take(func(s script.Call) (json.RawMessage, error) {
		by, want := d, map[string]any{}
		switch s.Step {
		case "request":
			by, want["customerId"] = w, w.ID
		case "accept":
			want["driverId"] = d.ID
		}
		return c.change(by, name+"-"+s.Step, http.MethodPost, s.Path, s.Body, want)
	}); err != nil {
		return err
	}
	c.mu.Lock()
	c.rides[w.Tenant]++
	c.mu.Unlock()
	return c.owned(w, name, "/api/v1/me/trips?limit=20", "customerId")
}

// drives reads the driver's own data.
func (c *crowd) drives(w worker, name string) error {
	if _, err := c.change(w, name+"-status", http.MethodPatch, "/api/v1/me/status", `{"status":"ONLINE"}`,
		map[string]any{"id": w.ID}); err != nil {
		return err
	}
	var wallet struct{ Transactions []json.RawMessage }
	if err := c.get(w, name+"-wallet", "/api/v1/me/wallet", &wallet); err != nil {
		return err
	}
	return c.owned(w, name, "/api/v1/me/trips?limit=20", "driverId")
}

// operates reads lists of the tenant.
func (c *crowd) operates(w worker, name string) error {
	own := map[string]bool{}
	for _, one := range c.workers {
		own[one.ID] = own[one.ID] || one.Tenant == w.Tenant
	}
	for _, list := range []struct{ path, member string }{{"/api/v1/trips?limit=50", "customerId"},
		{"/api/v1/customers", "id"}, {"/api/v1/drivers", "id"}} {
		items, err := c.items(w, name+list.path[7:10], list.path)
		if err != nil {
			return err
		}
		if err := allOf(own, items, list.member); err != nil {
			return fmt.Errorf("%s of %s: %w", list.path, w.Tenant, err)
		}
	}
	if err := c.asks(w, name, own); err != nil {
		return err
	}
	var branding struct{ AppName string }
	if err := c.get(w, name+"-branding", "/api/v1/branding", &branding); err != nil {
		return err
	}
	if !strings.EqualFold(branding.AppName[:min(3, len(branding.AppName))], w.Tenant[:3]) {
		return fmt.Errorf("the branding of %s is that of %q", w.Tenant, branding.AppName)
	}
	if _, err := c.items(w, name+"-search", "/api/v1/feedback?q=e&limit=5"); err != nil {
		return err
	}
	var doc struct{ OpenAPI string }
	return c.get(w, name+"-doc", "/openapi.json", &doc)
}

// asks makes a tool call as the operator's agent.
func (c *crowd) asks(w worker, name string, own map[string]bool) error {
	w.token = w.agent
	body, err := c.send(w, name+"-tool", http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call",`+
		`"params":{"name":"svc_list_trips","arguments":{"limit":5}}}`)
	if err != nil {
		return err
	}
	var reply struct {
		Result struct {
			StructuredContent struct{ Items []map[string]any }
		}
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return err
	}
	if err := allOf(own, reply.Result.StructuredContent.Items, "customerId"); err != nil {
		return fmt.Errorf("the tool of %s: %w: %s", w.Tenant, err, body)
	}
	return nil
}

// allOf checks that there are items, and that their member names own people.
func allOf(own map[string]bool, items []map[string]any, member string) error {
	for _, one := range items {
		if id, _ := one[member].(string); !own[id] {
			return fmt.Errorf("an item of %v", id)
		}
	}
	if len(items) == 0 {
		return errors.New("no items")
	}
	return nil
}

func (c *crowd) items(w worker, name, path string) ([]map[string]any, error) {
	var list struct{ Items []map[string]any }
	return list.Items, c.get(w, name, path, &list)
}

// owned checks that every item of a list is the worker's.
func (c *crowd) owned(w worker, name, path, member string) error {
	items, err := c.items(w, name+"-list", path)
	if err != nil {
		return err
	}
	for _, one := range items {
		if one[member] != w.ID {
			return fmt.Errorf("%s: an item of %v", path, one[member])
		}
	}
	return nil
}

// held is the memory and goroutines of a process; heap is the live heap in
// bytes.
type held struct {
	heap       uint64
	goroutines int
}

// meeting is a proxy in front of the table. It delays requests until a
// given number has arrived.
type meeting struct {
	proxy  http.Handler
	server *httptest.Server
	url    string

	mu      sync.Mutex
	due     int
	waiting int
	full    chan struct{}
}

// set makes the next requests wait until due of them have arrived; 0 lets all
// pass. It reports whether the requests of the previous call were all there at
// the same time.
func (m *meeting) set(due int) (met bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	met = m.full != nil && m.due == 0
	m.due, m.waiting, m.full = due, 0, make(chan struct{})
	return met
}

// over starts the proxy in front of the table's endpoint.
func (m *meeting) over(endpoint string) error {
	to, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport = &http.Transport{MaxIdleConnsPerHost: 2 * atOnce}
	m.proxy, m.server = proxy, httptest.NewServer(m)
	m.url = m.server.URL
	return nil
}

// ServeHTTP implements http.Handler.
func (m *meeting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	full, wait := m.full, m.due > 0
	if wait {
		if m.waiting++; m.waiting == m.due {
			m.due = 0
			close(full)
		}
	}
	m.mu.Unlock()
	if wait {
		select {
		case <-full:
		case <-r.Context().Done(): // the attempt took too long; the function sends another
			m.mu.Lock()
			m.waiting--
			m.mu.Unlock()
		}
	}
	m.proxy.ServeHTTP(w, r)
}

// tenantID returns the tenant's id of an access token.
func tenantID(t *testing.T, token string) string {
	t.Helper()
	var claims struct {
		TenantID string `json:"tenant_id"`
	}
	if !signing.Unverified(token, &claims) {
		t.Fatal("the token is not a JWT")
	}
	return claims.TenantID
}

// cents returns an amount in hundredths.
func cents(t *testing.T, n money.Amount) int64 {
	t.Helper()
	units, part, _ := strings.Cut(string(n), ".")
	out, err := strconv.ParseInt(units+(part + "00")[:2], 10, 64)
	testkit.Must(t, err)
	return out
}
