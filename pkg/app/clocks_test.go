package app_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"svc"
	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/base/ids"
	"svc/pkg/edge/gateway/emulator"
	"svc/pkg/oauth/flow"
	"svc/pkg/oauth/tokens"
)

// clocks lists how far the clock of each instance is off. They differ by up to
// five minutes.
var clocks = []time.Duration{0, -150 * time.Second, 150 * time.Second}

// crowd is several instances of the service on one table, each with a different
// clock.
type crowd struct {
	*suite
	urls []string // one per clock, in the same order
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	c := &crowd{suite: newSuite(t)}
	for _, off := range clocks {
		rt := &app.Runtime{DB: c.DB, BaseURL: c.URL, Sealer: c.Runtime.Sealer, Logger: c.Runtime.Logger,
			Limits: c.Runtime.Limits,
			Now:    func() time.Time { return c.Clock.Now().Add(off) }}
		made, err := rt.Functions()
		testkit.Must(t, err)
		functions := map[string]emulator.Function{}
		for name, f := range made {
			functions[name] = f
		}
		gateway, err := emulator.New(svc.Template, functions)
		testkit.Must(t, err)
		server := httptest.NewServer(gateway)
		t.Cleanup(server.Close)
		c.urls = append(c.urls, server.URL)
	}
	return c
}

// options returns the options that sign the actor in at an instance.
func (c *crowd) options(at int, a apptest.Actor) flow.Options {
	return flow.Options{BaseURL: c.URL, HTTPClient: &http.Client{Transport: led(c.urls[at])}, Tenant: a.Tenant,
		Audience: string(a.Audience), Email: a.Email, Password: apptest.Password}
}

// signIn signs the actor in at an instance.
func (c *crowd) signIn(t *testing.T, at int, a apptest.Actor) flow.Tokens {
	t.Helper()
	tokens, err := flow.Token(t.Context(), c.options(at, a))
	testkit.Must(t, err)
	return tokens
}

// led sends every request to one instance.
type led string

// RoundTrip implements http.RoundTripper.
func (l led) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = strings.TrimPrefix(string(l), "http://")
	return http.DefaultTransport.RoundTrip(r)
}

// at sends a request to an instance.
func (c *crowd) at(t *testing.T, instance int, r apptest.Request) apptest.Answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.Method, c.urls[instance]+r.Path, strings.NewReader(r.Body))
	testkit.Must(t, err)
	if r.Body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.Token != "" {
		req.Header.Set("Authorization", "Bearer "+r.Token)
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	testkit.Must(t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	testkit.Must(t, err)
	return apptest.Answer{Status: res.StatusCode, Header: res.Header, Body: body}
}

// TestClocksTokens: every instance accepts a token, whichever issued it. After
// one instance revokes it, all reject it.
func TestClocksTokens(t *testing.T) {
	testkit.Long(t)
	c := newCrowd(t)
	for maker := range clocks {
		for revoker := range clocks {
			t.Run(fmt.Sprintf("made at %v, revoked at %v", clocks[maker], clocks[revoker]), func(t *testing.T) {
				old := c.signIn(t, maker, c.actors[authz.Rider])
				me := func(token string, want int) {
					t.Helper()
					for i := range clocks {
						if a := c.at(t, i, apptest.Request{Method: "GET", Path: "/api/v1/me", Token: token}); a.Status != want {
							t.Errorf("at %v: %d %s, want %d", clocks[i], a.Status, a.Body, want)
						}
					}
				}
				me(old.AccessToken, 200)
				refresh := posted("/oauth/token", "grant_type", "refresh_token", "refresh_token", old.RefreshToken, "client_id",
					old.ClientID)
				next := apptest.JSON[flow.Tokens](t, c.at(t, revoker, refresh).Must(t, 200))
				me(next.AccessToken, 200)
				c.at(t, revoker, posted("/oauth/revoke", "token", old.AccessToken, "client_id", old.ClientID)).Must(t, 200)
				me(old.AccessToken, 401)
				me(next.AccessToken, 401)
				for i := range clocks {
					again := posted("/oauth/token", "grant_type", "refresh_token", "refresh_token", next.RefreshToken, "client_id",
						old.ClientID)
					if a := c.at(t, i, again); a.Status != 400 || a.Code() != "invalid_grant" {
						t.Errorf("refreshed at %v: %d %s", clocks[i], a.Status, a.Body)
					}
				}
			})
		}
	}
}

// TestClocksCodes: an instance redeems a code of another instance, unless its
// clock is ahead by at least the lifetime of a code. docs/operations/clocks.md
// says so.
func TestClocksCodes(t *testing.T) {
	testkit.Long(t)
	c := newCrowd(t)
	c.Clock.Hold()
	for maker := range clocks {
		for redeemer := range clocks {
			t.Run(fmt.Sprintf("made at %v, redeemed at %v", clocks[maker], clocks[redeemer]), func(t *testing.T) {
				o := c.options(maker, c.actors[authz.Rider])
				client, err := flow.Register(t.Context(), o)
				testkit.Must(t, err)
				o.ClientID = client.ID
				verifier := ids.Secret()
				code, err := flow.Code(t.Context(), o, verifier)
				testkit.Must(t, err)
				o.HTTPClient = &http.Client{Transport: led(c.urls[redeemer])}
				_, err = flow.Exchange(t.Context(), o, code, verifier)
				var refused *flow.Error
				switch errors.As(err, &refused); {
				case clocks[redeemer]-clocks[maker] < tokens.CodeLife:
					testkit.Must(t, err)
				case refused == nil || refused.Code != "invalid_grant":
					t.Errorf("%v, want invalid_grant", err)
				}
			})
		}
	}
}

// TestClocksIdempotency: all instances recognize an Idempotency-Key, at once
// and later.
func TestClocksIdempotency(t *testing.T) {
	testkit.Long(t)
	c := newCrowd(t)
	token := c.Token(t, c.actors[authz.Rider])
	for first := range clocks {
		key := fmt.Sprint("once-", first)
		made := c.at(t, first, keyed(token, "/api/v1/me/trips", ride, key)).Must(t, 201)
		for i := range clocks {
			again := c.at(t, i, keyed(token, "/api/v1/me/trips", ride, key)).Must(t, 201)
			if string(again.Body) != string(made.Body) || again.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("made at %v, again at %v: %s and %s", clocks[first], clocks[i], made.Body, again.Body)
			}
		}
	}
	bodies := make([]string, 4*len(clocks))
	var group sync.WaitGroup
	for n := range bodies {
		group.Go(func() {
			a := c.at(t, n%len(clocks), keyed(token, "/api/v1/me/trips", ride, "together"))
			for deadline := time.Now().Add(testkit.Patience); a.Status == 503 && time.Now().Before(deadline); {
				a = c.at(t, n%len(clocks), keyed(token, "/api/v1/me/trips", ride, "together"))
			}
			bodies[n] = fmt.Sprint(a.Status, string(a.Body))
		})
	}
	group.Wait()
	for _, body := range bodies {
		if body != bodies[0] || !strings.HasPrefix(body, "201") {
			t.Errorf("%s and %s", bodies[0], body)
		}
	}
}

// TestClocksCursors: a reader of a list sees every item that existed at the
// start exactly once. Meanwhile instances with other clocks create trips, and
// each page comes from a different instance.
func TestClocksCursors(t *testing.T) {
	testkit.Long(t)
	c := newCrowd(t)
	operator, rider := c.Token(t, c.actors[authz.Dashboard]), c.Token(t, c.actors[authz.Rider])
	request := func(at int) string {
		return apptest.JSON[struct{ ID string }](t, c.at(t, at, apptest.Request{Method: "POST", Path: "/api/v1/me/trips",
			Token: rider, Body: ride}).Must(t, 201)).ID
	}
	want := map[string]int{}
	for n := range 15 {
		want[request(n%len(clocks))] = 0
	}
	for _, filter := range []string{"", "&status=PENDING", "&customerId=" + c.actors[authz.Rider].ID} {
		seen, last := map[string]int{}, ""
		for page, cursor := 0, ""; page == 0 || cursor != ""; page++ {
			path := "/api/v1/trips?limit=2" + filter
			if cursor != "" {
				path += "&cursor=" + cursor
			}
			got := apptest.JSON[struct {
				Items []struct{ ID, RequestedAt string }
				Next  string `json:"next_cursor"`
			}](t, c.at(t, page%len(clocks), apptest.Request{Method: "GET", Path: path, Token: operator}).Must(t, 200))
			for _, one := range got.Items {
				if seen[one.ID]++; last != "" && one.RequestedAt > last {
					t.Errorf("%q: %s after %s", filter, one.RequestedAt, last)
				}
				last = one.RequestedAt
			}
			if cursor = got.Next; page < 6 {
				request(page % len(clocks)) // the list may contain it if its clock is behind
			}
			if page > 200 {
				t.Fatalf("%q: no end", filter)
			}
		}
		for id := range want {
			if seen[id] != 1 {
				t.Errorf("%q: %s was seen %d times", filter, id, seen[id])
			}
		}
	}
}
