package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"svc/internal/test/script"
	"svc/pkg/access/authz"
	"svc/pkg/base/timestamp"
	"svc/pkg/local/demo"
	"svc/pkg/oauth/flow"
)

// traffic is mixed load. Each team takes one ride after the other. After each ride it
// sends some reads; after some rides it also calls a tool of the MCP server, refreshes a
// token or signs in.
type traffic struct {
	base  string
	from  time.Time
	pace  time.Duration // from the start of a team's ride to the start of its next ride
	teams []*team
	http  *http.Client

	mu       sync.Mutex
	rides    map[string]int // completed, by tenant
	requests int
	again    int             // API and MCP requests that a busy machine did not serve, and that were sent again
	took     []time.Duration // durations of the requests since the last printed sample
}

// team is a rider, a driver and an operator of a tenant. agent is a client that acts for
// the operator at the MCP server. The teams of a tenant have the same operator, but each
// has its own tokens.
type team struct {
	*traffic
	tenant                         string
	number                         int
	rider, driver, operator, agent *caller
}

// callers returns all callers of the team.
func (t *team) callers() []*caller { return []*caller{t.rider, t.driver, t.operator, t.agent} }

// caller is a person who has signed in with an OAuth client, and the tokens.
type caller struct {
	flow.Options
	tokens flow.Tokens
}

// tries is how often a request is sent at most if the machine is too busy to serve it.
const tries = 20

// ridesPerSecond is the rate of all teams together. One ride is about ten requests.
const ridesPerSecond = 2

// fareOfSoak is the fare of every ride, in currency units.
const fareOfSoak = 21.5

// newTraffic signs in three teams in each of the demo's two tenants. base is the URL of
// the service.
func newTraffic(ctx context.Context, base string) (*traffic, error) {
	l := &traffic{base: base, rides: map[string]int{}, http: &http.Client{Timeout: 2 * time.Minute,
		Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	for _, tenant := range []string{"metro", "harbor"} {
		person := func(audience authz.Audience, name, resource string) *caller {
			return &caller{Options: flow.Options{BaseURL: base, Tenant: tenant, Audience: string(audience),
				Email: name + "@" + tenant + ".example", Password: demo.Password, Resource: resource, HTTPClient: l.http}}
		}
		for n := 1; n <= 3; n++ {
			t := &team{traffic: l, tenant: tenant, number: n, rider: person(rider, fmt.Sprint("rider", n), ""),
				driver: person(driver, fmt.Sprint("driver", n), ""), operator: person(op, "operator", ""),
				agent: person(op, "operator", base+"/mcp")}
			for _, c := range t.callers() {
				if err := c.signIn(ctx); err != nil {
					return nil, err
				}
			}
			l.teams = append(l.teams, t)
		}
	}
	l.pace = time.Duration(len(l.teams)) * time.Second / ridesPerSecond
	l.from = time.Now()
	return l, nil
}

// signIn gets new tokens. While the machine is busy, it tries again, at most tries times.
func (c *caller) signIn(ctx context.Context) (err error) {
	for try := 1; ; try++ {
		c.tokens, err = flow.Token(ctx, c.Options)
		switch {
		case err == nil:
			c.ClientID = c.tokens.ClientID // the next sign-in uses the same client
			return nil
		case !busy(err) || try == tries:
			return fmt.Errorf("signing %s in: %w", c.Email, err)
		}
		pause(try)
	}
}

// busy reports whether the error shows that the machine is too busy.
func busy(err error) bool {
	page, answer := new(flow.Page), new(flow.Error)
	return errors.As(err, &page) && starved(page.Status, page.Text) ||
		errors.As(err, &answer) && starved(answer.Status, answer.Code)
}

// starved reports whether a response shows that the machine is too busy: a 503
// of the service, a tool result of that kind, or the gateway's own 500 for a
// function that timed out. The service's own 500 has another text.
func starved(status int, text string) bool {
	return status == http.StatusServiceUnavailable ||
		status == http.StatusInternalServerError && strings.Contains(text, http.StatusText(status)) ||
		strings.Contains(text, `"isError":true`) && strings.Contains(text, `{\"error\":\"temporarily_unavailable\"`)
}

// pause waits before the next try, longer for each try, so that a busy machine can catch
// up.
func pause(try int) { time.Sleep(time.Duration(try) * 100 * time.Millisecond) }

// refresh gets new tokens with the refresh token. If the machine is busy, it signs in
// instead.
func (c *caller) refresh(ctx context.Context) error {
	next, err := flow.Refresh(ctx, c.Options, c.tokens.RefreshToken)
	if busy(err) {
		return c.signIn(ctx) // the failed request may have used up the refresh token
	}
	if err != nil {
		return fmt.Errorf("refreshing the token of %s: %w", c.Email, err)
	}
	c.tokens = next
	return nil
}

// run lets all teams take rides until ctx ends or a request fails. Each team completes
// the turn that it has begun (see turn).
func (l *traffic) run(ctx context.Context) error {
	group, until := errgroup.WithContext(ctx)
	for _, t := range l.teams {
		group.Go(func() error {
			tick := time.NewTicker(l.pace)
			defer tick.Stop()
			for n := 0; until.Err() == nil; n++ {
				if err := t.turn(context.WithoutCancel(ctx), n); err != nil {
					return err
				}
				select {
				case <-tick.C:
				case <-until.Done():
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// turn is one turn of the team, the n-th: it takes a ride, and then sends some other
// requests (see others).
func (t *team) turn(ctx context.Context, n int) error {
	mark := fmt.Sprintf("%s-%d-%d", t.tenant, t.number, n)
	ride := script.Ride{Asks: `"paymentType":"CARD"`, Notes: mark, Key: mark, Fare: fmt.Sprint(fareOfSoak)}
	if _, err := ride.Take(func(c script.Call) (answer json.RawMessage, err error) {
		by := map[authz.Audience]*caller{authz.Rider: t.rider, authz.Driver: t.driver}[c.As]
		return answer, t.do(ctx, by, http.MethodPost, c.Path, c.Key, c.Body, &answer)
	}); err != nil {
		return err
	}
	t.mu.Lock()
	t.rides[t.tenant]++
	t.mu.Unlock()
	return t.others(ctx, n)
}

// readInTurn lists what operators read, one request after the other.
var readInTurn = []string{"/api/v1/trips?limit=20", "/api/v1/reports/summary", "/api/v1/drivers",
	"/api/v1/customers?q=a", "/api/v1/wallets?type=driver&detail=1", "/api/v1/feedback?limit=20",
	"/api/v1/feedback?q=map", "/api/v1/branding"}

// others sends the requests of a turn that do not belong to the ride.
func (t *team) others(ctx context.Context, n int) error {
	for _, read := range []struct {
		by   *caller
		path string
	}{{t.rider, "/api/v1/me/trips?limit=20"}, {t.driver, "/api/v1/me/wallet"}, {t.operator, readInTurn[n%len(readInTurn)]},
		{t.operator, readInTurn[(n+3)%len(readInTurn)]}} {
		if err := t.do(ctx, read.by, http.MethodGet, read.path, "", "", nil); err != nil {
			return err
		}
	}
	if n%4 == 0 {
		var reply struct {
			Result struct {
				IsError           bool
				StructuredContent json.RawMessage
			}
		}
		if err := t.do(ctx, t.agent, http.MethodPost, "/mcp", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call",`+
			`"params":{"name":"svc_list_trips","arguments":{"limit":5}}}`, &reply); err != nil {
			return err
		}
		if reply.Result.IsError || len(reply.Result.StructuredContent) == 0 {
			return fmt.Errorf("the tool's answer: %s", reply.Result.StructuredContent)
		}
	}
	one := t.callers()[n/5%4]
	switch {
	case n%40 == 19:
		return t.timed(func() error { return t.rider.signIn(ctx) })
	case n%5 == 4: // each of the four callers refreshes every 20 turns, before its token expires
		return t.timed(func() error { return one.refresh(ctx) })
	}
	return nil
}

// timed counts one request, which do sends, and records how long it took.
func (l *traffic) timed(do func() error) error {
	began := time.Now()
	err := do()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	l.took = append(l.took, time.Since(began))
	return err
}

// do sends a request of the caller by, and decodes the response into out, unless out is
// nil. If a busy machine did not serve the request, do repeats it with the same
// idempotency key, at most tries times in all. Any other status but 2xx is an error.
func (l *traffic) do(ctx context.Context, by *caller, method, path, key, body string, out any) error {
	for try := 1; ; try++ {
		r, err := http.NewRequestWithContext(ctx, method, l.base+path, strings.NewReader(body))
		if err != nil {
			return err
		}
		r.Header = http.Header{"Authorization": {"Bearer " + by.tokens.AccessToken}, "Accept": {"application/json"}}
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		var status int
		var text []byte
		err = l.timed(func() (err error) {
			status, text, err = exchange(l.http, r)
			return err
		})
		switch {
		case err != nil:
			return err
		case starved(status, string(text)) && try < tries:
			l.mu.Lock()
			l.again++
			l.mu.Unlock()
			pause(try)
		case status/100 != 2:
			return fmt.Errorf("%s %s: %d %s", method, path, status, text)
		case out == nil:
			return nil
		default:
			return json.Unmarshal(text, out)
		}
	}
}

// sums returns an error unless each tenant's report has exactly the rides and fares that
// the load completed.
func (l *traffic) sums(ctx context.Context) error {
	window := url.Values{"from": {timestamp.Format(l.from)}, "to": {timestamp.Format(time.Now().Add(time.Hour))}}
	for _, t := range l.teams {
		if err := t.operator.refresh(ctx); err != nil {
			return err
		}
		var report struct {
			CompletedTrips int
			Revenue        float64
		}
		if err := l.do(ctx, t.operator, http.MethodGet, "/api/v1/reports/summary?"+window.Encode(), "", "",
			&report); err != nil {
			return err
		}
		rides := l.rides[t.tenant]
		if want := float64(rides) * fareOfSoak; report.CompletedTrips != rides || report.Revenue != want {
			return fmt.Errorf("%s: the report has %d rides and %v; the load completed %d and %v", t.tenant,
				report.CompletedTrips, report.Revenue, rides, want)
		}
	}
	return nil
}
