package oauth_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/oauth"
	"svc/pkg/oauth/tokens"
)

func TestRefresh(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.register(nil)
	r := f.tokens(a, authz.Rider, "rider.trips:read rider.trips:create")
	seen := map[string]bool{r.text("refresh_token"): true}
	for range 5 {
		f.advance(time.Minute)
		next := f.refresh(a, r.text("refresh_token"))
		if next.status != http.StatusOK || seen[next.text("refresh_token")] ||
			next.text("scope") != "rider.trips:read rider.trips:create" {
			t.Fatalf("%d %s", next.status, next.raw)
		}
		if !f.alive(r.text("access_token")) || !f.alive(next.text("access_token")) {
			t.Error("an access token died of a refresh")
		}
		seen[next.text("refresh_token")], r = true, next
	}
}

func TestRefreshLife(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.register(nil)
	r := f.tokens(a, authz.Rider, "rider.trips:read")
	for range 3 { // 90 days from its own issue, not from the first
		f.advance(tokens.RefreshLife - time.Second)
		if r = f.refresh(a, r.text("refresh_token")); r.status != http.StatusOK {
			t.Fatalf("%d %s", r.status, r.raw)
		}
	}
	f.advance(tokens.RefreshLife)
	f.expect(f.refresh(a, r.text("refresh_token")), 400, "invalid_grant")
}

func TestRefreshScope(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.register(nil)
	r := f.tokens(a, authz.Dashboard, "tenant.trips:read tenant.drivers:read openid")
	for _, none := range []string{"tenant.wallets:read", "offline_access", "rider.trips:read everything"} {
		f.expect(f.refresh(a, r.text("refresh_token"), "scope", none), 400, "invalid_scope")
	}
	// An MSAL application repeats what it asked for at first.
	r = f.refresh(a, r.text("refresh_token"), "scope", "tenant.trips:read openid profile offline_access "+
		"tenant.drivers:read tenant.wallets:read rider.trips:read")
	if r.text("scope") != "tenant.trips:read openid tenant.drivers:read" {
		t.Fatalf("scopes that were not granted: %s", r.raw)
	}
	if access := r.text("access_token"); f.allows(access, "tenant.wallets:read") ||
		!f.allows(access, "tenant.drivers:read") {
		t.Error("the refresh grants more, or less, than was granted")
	}
	narrow := f.refresh(a, r.text("refresh_token"), "scope", "tenant.trips:read")
	if narrow.text("scope") != "tenant.trips:read" {
		t.Errorf("narrower scope: %s", narrow.raw)
	}
	wide := f.refresh(a, narrow.text("refresh_token")) // RFC 6749 section 6: the refresh token's scope stays
	if wide.text("scope") != "tenant.trips:read tenant.drivers:read openid" {
		t.Errorf("scope afterwards: %s", wide.raw)
	}
	f.set(f.actorKey(authz.Dashboard), map[string]any{"permissions": []string{"VIEW_DRIVERS"}})
	less := f.refresh(a, wide.text("refresh_token"))
	if less.text("scope") != "tenant.drivers:read openid" {
		t.Errorf("after a permission was removed: %s", less.raw)
	}
	f.expect(f.refresh(a, less.text("refresh_token"), "scope", "tenant.trips:read"), 400, "invalid_scope")
	f.set(f.actorKey(authz.Dashboard), map[string]any{"permissions": []string{"VIEW_DRIVERS", "VIEW_TRIPS"}})
	if back := f.refresh(a,
		less.text("refresh_token")); back.text("scope") != "tenant.trips:read tenant.drivers:read openid" {
		t.Errorf("after it was granted again: %s", back.raw)
	}
}

func TestRefreshFollowsTheRegistration(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.register(nil)
	r := f.tokens(a, authz.Rider, "rider.trips:read rider.wallet:read")
	put := f.sendJSON(http.MethodPut, "/oauth/register/"+a.id, a.management,
		map[string]any{"client_id": a.id, "client_name": "Less", "redirect_uris": []string{callback},
			"token_endpoint_auth_method": "none", "audiences": []string{"rider"}, "scope": "rider.wallet:read"})
	if put.status != http.StatusOK {
		t.Fatal(put.raw)
	}
	if r = f.refresh(a, r.text("refresh_token")); r.text("scope") != "rider.wallet:read" {
		t.Errorf("%d %s", r.status, r.raw)
	}
}

func TestRefreshFaults(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, other := f.register(nil), f.register(nil)
	r := f.tokens(a, authz.Rider, "rider.trips:read")
	token := r.text("refresh_token")
	parts := strings.Split(token, ".")
	stranger := f.tokens(a, authz.Driver, "driver.trips:accept").text("refresh_token")
	for name, tc := range map[string]struct {
		registration registration
		token        string
		status       int
		want         string
	}{
		"absent":           {a, "", 400, "invalid_request"},
		"no token of ours": {a, "x", 400, "invalid_grant"},
		"the access token": {a, r.text("access_token"), 400, "invalid_grant"},
		"another client's": {other, token, 400, "invalid_grant"},
		"another secret":   {a, parts[0] + "." + ids.Secret() + "." + parts[2], 400, "invalid_grant"},
		"another family's address": {a, strings.Split(stranger, ".")[0] + "." + parts[1] + "." + parts[2], 400,
			"invalid_grant"},
		"cut":                       {a, token[:len(token)-1], 400, "invalid_grant"},
		"very long":                 {a, token + strings.Repeat("a", 5000), 400, "invalid_grant"},
		"unknown client":            {registration{id: "cli_x"}, token, 401, "invalid_client"},
		"client_id with separators": {registration{id: "cli_01#T#x"}, token, 401, "invalid_client"},
	} {
		t.Run(name, func(*testing.T) { f.expect(f.refresh(tc.registration, tc.token), tc.status, tc.want) })
	}
	if r := f.refresh(a, token); r.status != http.StatusOK {
		t.Errorf("the token was hurt: %d %s", r.status, r.raw)
	}
}

func TestRefreshOfWhomMayNot(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.register(nil)
	r := f.tokens(a, authz.Rider, "rider.trips:read")
	for name, disabled := range map[string]func(bool){
		"actor":  func(on bool) { f.set(f.actorKey(authz.Rider), map[string]any{"disabled": on}) },
		"tenant": func(on bool) { f.setFlag("disabled", on) },
	} {
		t.Run(name, func(t *testing.T) {
			disabled(true)
			f.expect(f.refresh(a, r.text("refresh_token")), 400, "invalid_grant")
			if f.alive(r.text("access_token")) {
				t.Error("the access token lives")
			}
			disabled(false)
			if r = f.refresh(a, r.text("refresh_token")); r.status != http.StatusOK {
				t.Errorf("afterwards: %d %s", r.status, r.raw)
			}
		})
	}
}

// Reusing any generation but the last revokes all tokens of the client and
// actor, also those of other sign-ins. Tokens of other clients and actors stay
// valid.
func TestRefreshReuse(t *testing.T) {
	t.Parallel()
	const generations = 4
	for n := range generations {
		f := newFixture(t)
		a, other := f.register(nil), f.register(nil)
		r := f.tokens(a, authz.Rider, "rider.trips:read")
		all := []string{r.text("refresh_token")}
		for range generations {
			r = f.refresh(a, r.text("refresh_token"))
			all = append(all, r.text("refresh_token"))
		}
		second := f.tokens(a, authz.Rider, "rider.trips:read")
		elsewhere, someone := f.tokens(other, authz.Rider, "rider.trips:read"),
			f.tokens(a, authz.Driver, "driver.trips:accept")
		f.expect(f.refresh(other, all[n]), 400, "invalid_grant")
		if !f.alive(r.text("access_token")) {
			t.Fatalf("generation %d: another client's attempt revoked the tokens", n)
		}
		f.expect(f.refresh(a, all[n]), 400, "invalid_grant")
		for name, dead := range map[string]reply{"its own chain": r, "another sign-in": second} {
			if f.alive(dead.text("access_token")) {
				t.Errorf("generation %d: %s: the access token lives", n, name)
			}
			f.expect(f.refresh(a, dead.text("refresh_token")), 400, "invalid_grant")
		}
		if !f.alive(elsewhere.text("access_token")) || !f.alive(someone.text("access_token")) {
			t.Errorf("generation %d: tokens of another client or actor died", n)
		}
		later := f.tokens(a, authz.Rider, "rider.trips:read") // a token of an ended grant must not affect later sign-ins
		f.expect(f.refresh(a, all[n]), 400, "invalid_grant")
		if !f.alive(later.text("access_token")) {
			t.Errorf("generation %d: an invalid token revoked a later sign-in", n)
		}
	}
}

func TestRefreshGrace(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(c *oauth.Config) { c.RefreshGrace = 20 * time.Second })
	a := f.register(nil)
	r := f.tokens(a, authz.Rider, "rider.trips:read rider.wallet:read openid")
	first := f.refresh(a, r.text("refresh_token"), "scope", "rider.trips:read openid")
	f.advance(10 * time.Second)
	again := f.refresh(a, r.text("refresh_token"))
	if again.status != http.StatusOK || again.text("refresh_token") != first.text("refresh_token") ||
		again.text("scope") != first.text("scope") {
		t.Fatalf("within the grace: %d %s", again.status, again.raw)
	}
	one, _ := f.keys.Verify(t.Context(), first.text("access_token"))
	two, err := f.keys.Verify(t.Context(), again.text("access_token"))
	if err != nil || one.ID != two.ID || !one.Expires.Equal(two.Expires) || again.body["expires_in"] != 3590.0 {
		t.Errorf("not the same successor: %+v %+v %v %v", one, two, err, again.body["expires_in"])
	}
	next := f.refresh(a, again.text("refresh_token"))
	if next.status != http.StatusOK {
		t.Fatal(next.raw)
	}
	f.expect(f.refresh(a, r.text("refresh_token")), 400, "invalid_grant") // older than the last: reuse
	if f.alive(next.text("access_token")) {
		t.Error("reuse within the grace is not seen")
	}
	r = f.tokens(a, authz.Rider, "rider.trips:read")
	next = f.refresh(a, r.text("refresh_token"))
	f.advance(20 * time.Second)
	f.expect(f.refresh(a, r.text("refresh_token")), 400, "invalid_grant")
	if f.alive(next.text("access_token")) {
		t.Error("reuse after the grace is not seen")
	}
}

// A repeated refresh within the grace gets the successor only if it asks for
// what the successor has: no narrower scope, no other resource. A rejected
// repetition changes nothing.
func TestRefreshRepeatsWhatWasAsked(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(c *oauth.Config) { c.RefreshGrace = 20 * time.Second })
	a := f.register(nil)
	const all, less = "tenant.trips:read tenant.drivers:read openid", "tenant.trips:read openid"
	api, agents := baseURL+authz.API, baseURL+"/mcp"
	q := authorizationOf(a.id, callback, all)
	q["resource"] = []string{api, agents}
	r := f.redeem(a, f.newBrowser().obtainCode(q, f.emails[authz.Dashboard]).answer.Get("code"))
	for _, c := range []struct {
		name         string
		first, again []string
		want         string // error code, "" for the same successor
	}{
		{"the same", []string{"scope", less, "resource", api}, []string{"scope", less, "resource", api}, ""},
		{"nothing named", []string{"scope", less, "resource", api}, nil, ""},
		{"a wider scope that was granted", []string{"scope", less}, []string{"scope", all}, ""},
		{"a narrower scope", []string{"scope", less}, []string{"scope", "openid"}, "invalid_scope"},
		{"a narrower scope than all", nil, []string{"scope", less}, "invalid_scope"},
		{"a scope that was not granted", nil, []string{"scope", all + " tenant.wallets:read offline_access"}, ""},
		{"only scopes that were not granted", nil, []string{"scope", "tenant.wallets:read"}, "invalid_scope"},
		{"the resources by name", nil, []string{"resource", agents, "resource", api}, ""},
		{"another resource", []string{"resource", api}, []string{"resource", agents}, "invalid_target"},
		{"the API instead", []string{"resource", agents}, []string{"resource", api}, "invalid_target"},
		{"more resources", []string{"resource", api}, []string{"resource", api, "resource", agents}, "invalid_target"},
		{"fewer resources", nil, []string{"resource", agents}, "invalid_target"},
		{"a resource that was not granted", nil, []string{"resource", agents + "/rider/metro"}, "invalid_target"},
	} {
		token := r.text("refresh_token")
		first := f.refresh(a, token, c.first...)
		if first.status != http.StatusOK {
			t.Fatalf("%s: %d %s", c.name, first.status, first.raw)
		}
		again := f.refresh(a, token, c.again...)
		if c.want != "" {
			if again.text("error") != c.want {
				t.Errorf("%s: %d %s, want %s", c.name, again.status, again.raw, c.want)
			}
			again = f.refresh(a, token, c.first...)
		}
		if again.text("refresh_token") != first.text("refresh_token") || again.text("scope") != first.text("scope") ||
			!f.alive(again.text("access_token")) {
			t.Errorf("%s: not the same successor: %d %s", c.name, again.status, again.raw)
		}
		r = first
		f.advance(time.Minute)
	}
}

// With the grace of the staging and prod profiles, a client whose response was
// lost repeats the request and gets the same successor, 600 times of 600.
func TestLostAnswersOfARefresh(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	const people, refreshes = 6, 100
	f := newFixture(t, func(c *oauth.Config) { c.RefreshGrace = 10 * time.Second })
	a := f.register(nil)
	for range people {
		token := f.tokens(a, authz.Rider, "rider.trips:read").text("refresh_token")
		for range refreshes {
			lost := f.refresh(a, token)
			f.advance(9 * time.Second)
			again := f.refresh(a, token)
			if again.status != http.StatusOK || again.text("refresh_token") != lost.text("refresh_token") {
				t.Fatalf("another successor: %d %s, not %s", again.status, again.raw, lost.raw)
			}
			if !f.alive(again.text("access_token")) {
				t.Fatal("the access token is refused")
			}
			token = again.text("refresh_token")
		}
	}
}

// A family has a bounded number of live access tokens, and ending it ends all.
func TestManyAccessTokens(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.register(nil)
	r := f.tokens(a, authz.Rider, "rider.trips:read")
	all := []string{r.text("access_token")}
	for range tokens.MostAccessTokens {
		f.advance(time.Second)
		r = f.refresh(a, r.text("refresh_token"))
		all = append(all, r.text("access_token"))
	}
	for i, token := range all {
		if f.alive(token) != (i > 0) {
			t.Errorf("token %d of %d: valid %v", i, len(all), f.alive(token))
		}
	}
	if got := f.postForm("/oauth/revoke", "client_id", a.id, "token",
		r.text("refresh_token")); got.status != http.StatusOK {
		t.Fatal(got.raw)
	}
	for i, token := range all {
		if f.alive(token) {
			t.Errorf("token %d lives after the revocation", i)
		}
	}
}

func TestRefreshBudget(t *testing.T) {
	t.Parallel()
	scopes := strings.Join(authz.Scopes(authz.Dashboard), " ")
	for name, grace := range map[string]time.Duration{"without grace": 0, "with grace": 30 * time.Second} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, func(c *oauth.Config) { c.RefreshGrace, c.Limits.TokenFailures = grace, 300 })
			f.set(f.actorKey(authz.Dashboard), map[string]any{"permissions": authz.Permissions()})
			a := f.register(nil)
			r := f.tokens(a, authz.Dashboard, scopes)
			var most table.Usage
			for range tokens.MostAccessTokens + 2 { // the last refreshes also end the oldest access token
				f.advance(time.Second)
				ctx, meter := table.Metered(t.Context())
				req := formRequest("/oauth/token", formOf("grant_type", "refresh_token", "client_id", a.id, "refresh_token",
					r.text("refresh_token")))
				if r = f.do(req.WithContext(ctx)); r.status != http.StatusOK {
					t.Fatal(r.raw)
				}
				used := meter.Usage()
				most.Sequential, most.Requests = max(most.Sequential, used.Sequential), max(most.Requests, used.Requests)
				most.ReadUnits, most.WriteUnits = max(most.ReadUnits, used.ReadUnits),
					max(most.WriteUnits, testkit.WriteUnits(used))
			}
			if most.Sequential > 2 || most.Requests > 2 || most.ReadUnits > 6 || most.WriteUnits > 14 {
				t.Errorf("over budget (2 round trips, 6 read units, 14 write units): %+v", most)
			}
			t.Logf("%+v", most)
		})
	}
}
