package oauth_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/domain/machine"
	"svc/pkg/oauth"
)

// shown reads a machine.
func (w works) shown(t *testing.T, id string) machine.Machine {
	t.Helper()
	return apptest.JSON[machine.Machine](t, w.Get(t, w.boss, "/api/v1/machines/"+id).Must(t, 200))
}

// TestMachineChangesMeanwhile: a machine that changes while its token is issued keeps both
// changes, or gets the refusal that it would get a moment later. The use of a secret is noted
// at that secret alone.
func TestMachineChangesMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorks(t, apptest.Options{})
	w.Still(t)
	w.Get(t, "", "/.well-known/jwks.json").Must(t, 200)
	for name, tt := range map[string]struct {
		change func(m apptest.Program)
		status int
	}{
		"deleted": {func(m apptest.Program) {
			w.Do(t, apptest.Request{Method: "DELETE", Path: "/api/v1/machines/" + m.ID, Token: w.boss}).Must(t, 200)
		}, 401},
		"disabled": {func(m apptest.Program) {
			w.Patch(t, w.boss, "/api/v1/machines/"+m.ID, `{"enabled":false}`).Must(t, 200)
		}, 401},
		"its secret removed, and another made": {func(m apptest.Program) {
			w.Do(t, apptest.Request{Method: "DELETE", Path: "/api/v1/machines/" + m.ID + "/secrets/" + m.SecretID,
				Token: w.boss}).Must(t, 200)
			w.NewSecret(t, w.boss, m.ID, "{}")
		}, 401},
		"renamed": {func(m apptest.Program) {
			w.Patch(t, w.boss, "/api/v1/machines/"+m.ID, `{"name":"Renamed"}`).Must(t, 200)
		}, 200},
	} {
		m := w.Machine(t, w.boss, "VIEW_TRIPS")
		w.Wire.Meanwhile(1, func() { tt.change(m) })
		a := w.Ask(t, m.ClientID, m.Secret)
		if !w.Wire.Interrupted() {
			t.Fatalf("%s: nothing came between", name)
		}
		if a.Status != tt.status {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
		if a.Status == 401 && !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Basic ") {
			t.Errorf("%s: WWW-Authenticate is %q", name, a.Header.Get("WWW-Authenticate"))
		}
		if name == "deleted" {
			continue
		}
		got := w.shown(t, m.ID)
		if used := got.Secrets[0].LastUsedAt != nil; used != (a.Status == 200) || name == "renamed" && got.Name != "Renamed" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestUseIsNotedMeanwhile: a change of a machine keeps the hour that a token notes while the
// change is made.
func TestUseIsNotedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorks(t, apptest.Options{})
	w.Still(t)
	w.Get(t, "", "/.well-known/jwks.json").Must(t, 200)
	w.Wire.Meanwhile(1, func() { w.Works(t, w.m) })
	w.Patch(t, w.boss, "/api/v1/machines/"+w.m.ID, `{"name":"Renamed"}`).Must(t, 200)
	if !w.Wire.Interrupted() {
		t.Fatal("nothing came between")
	}
	if got := w.shown(t, w.m.ID); got.Secrets[0].LastUsedAt == nil || got.Name != "Renamed" {
		t.Errorf("%+v", got)
	}
}

// TestAssertionOfARefusedRequest: an assertion whose signature was good is used up, whatever
// the request is refused for.
func TestAssertionOfARefusedRequest(t *testing.T) {
	t.Parallel()
	w := newWorks(t, apptest.Options{})
	k := newClientKey(t)
	w.Patch(t, w.boss, "/api/v1/machines/"+w.m.ID, `{"jwks":`+k.text()+`}`).Must(t, 200)
	for _, refusedFor := range [][]string{
		{"grant_type", "client_credentials", "scope", "tenant.trips:delete"},
		{"grant_type", "client_credentials", "resource", "https://other.example"},
		{"grant_type", "client_credentials", "resource", w.URL + "/mcp/rider/metro"},
		{"grant_type", "refresh_token", "refresh_token", "x"},
		{"grant_type", "authorization_code", "code", "x", "redirect_uri", callback},
	} {
		assertion := k.assertion(w.m.ClientID, w.URL, w.Clock.Now())
		if a := asserted(t, w.Service, "/oauth/token", assertion, refusedFor...); a.Status != 400 {
			t.Errorf("%v: %d %s", refusedFor, a.Status, a.Body)
		}
		refused(t, asserted(t, w.Service, "/oauth/token", assertion, "grant_type", "client_credentials"), 401,
			"invalid_client")
	}
	asserted(t, w.Service, "/oauth/token", k.assertion(w.m.ClientID, w.URL, w.Clock.Now()), "grant_type",
		"client_credentials").Must(t, 200)
}

// TestEndedMachineEverywhere: what a removed secret got is refused at the next request of the
// API, of the MCP server and of the endpoints of tokens; of a disabled machine everything is.
func TestEndedMachineEverywhere(t *testing.T) {
	t.Parallel()
	w := newWorks(t, apptest.Options{})
	_, second := w.NewSecret(t, w.boss, w.m.ID, "{}")
	get := func(resource string) string {
		return apptest.JSON[granted](t, w.Ask(t, w.m.ClientID, w.m.Secret, "resource", w.URL+resource).Must(t, 200)).Access
	}
	plain, agent := get("/api/v1"), get("/mcp")
	is := func(status int, active string) {
		t.Helper()
		w.Get(t, plain, "/api/v1/events").Must(t, status)
		w.Do(t, apptest.Request{Method: http.MethodPost, Path: "/mcp", Token: agent,
			Body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, Header: map[string]string{
				"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}}).Must(t, status)
		for _, token := range []string{plain, agent} {
			a := w.send(t, "/oauth/introspect", formOf("token", token).Encode(), "Authorization", basicHeader(w.m.ClientID,
				second))
			if !strings.Contains(string(a.Body), active) {
				t.Errorf("the introspection: %d %s, want %s", a.Status, a.Body, active)
			}
		}
	}
	is(200, `"active":true`)
	w.Do(t, apptest.Request{Method: "DELETE", Path: "/api/v1/machines/" + w.m.ID + "/secrets/" + w.m.SecretID,
		Token: w.boss}).Must(t, 200)
	is(401, `"active":false`)
	w.Patch(t, w.boss, "/api/v1/machines/"+w.m.ID, `{"enabled":false}`).Must(t, 200)
	is(401, "invalid_client")
}

// TestMachineKeysHaveTheLimitsOfDocuments: a caller makes the server fetch the keys of few
// machines that have not signed in by one, as of few strangers' clients.
func TestMachineKeysHaveTheLimitsOfDocuments(t *testing.T) {
	t.Parallel()
	p, k := newPublisher(), newClientKey(t)
	w := newWorks(t, apptest.Options{Documents: p, Limits: oauth.Limits{Registrations: -1, TokenFailures: -1,
		Documents: 2}})
	w.Clock.Hold()
	fetched, last := 0, apptest.Answer{}
	for n := range 4 {
		m := w.Machine(t, w.boss, "VIEW_TRIPS")
		at := fmt.Sprintf("https://keys%d.metro.example/jwks.json", n)
		w.Patch(t, w.boss, "/api/v1/machines/"+m.ID, `{"jwksUri":"`+at+`"}`).Must(t, 200)
		last = asserted(t, w.Service, "/oauth/token", k.assertion(m.ClientID, w.URL, w.Clock.Now()), "grant_type",
			"client_credentials")
		fetched += p.times(at)
	}
	if fetched != 2 || last.Status != 429 {
		t.Errorf("%d fetches, then %d %s", fetched, last.Status, last.Body)
	}
}

// TestClientEndsMeanwhile: a client that is deleted while its code is redeemed gets no tokens.
func TestClientEndsMeanwhile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, at := range []int{1, 2} {
		a := f.register(nil)
		code := f.code(a, authz.Rider, "rider.trips:read")
		f.wire.Meanwhile(at, func() {
			if r := f.sendJSON(http.MethodDelete, "/oauth/register/"+a.id, a.management, nil); r.status != 204 {
				t.Errorf("the deletion: %d", r.status)
			}
		})
		got := f.redeem(a, code)
		if !f.wire.Interrupted() || got.status == 200 {
			t.Errorf("before request %d: %d %v", at, got.status, got.body)
		}
	}
}

// TestVeryManyWrongSecrets: after the limit a guess costs no write, and the good secret works
// from another address and from the same.
func TestVeryManyWrongSecrets(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w := newWorks(t, apptest.Options{Limits: oauth.Limits{Registrations: -1, TokenFailures: 10, Documents: -1}})
	w.Still(t)
	slowed, begin := 0, time.Now()
	const guesses = 100_000
	for n := range guesses {
		if a := w.Ask(t, w.m.ClientID, fmt.Sprintf("svc_sk_live_%049d", n)); a.Status == 429 {
			slowed++
		} else {
			refused(t, a, 401, "invalid_client")
		}
		if n%(guesses/50) == 0 {
			w.Works(t, w.m)
		}
	}
	if allowed := 10 * (int(time.Since(begin)/time.Minute) + 2); guesses-slowed > allowed {
		t.Errorf("%d of %d guesses were answered, at most %d may be", guesses-slowed, guesses, allowed)
	}
}
