package oauth_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/pkg/authz"
	"svc/pkg/ids"
	"svc/pkg/local/testkit"
	"svc/pkg/oauth"
	"svc/pkg/table"
)

func TestRefresh(t *testing.T) {
	w := newWorld(t)
	a := w.register(nil)
	r := w.signIn(a, authz.Rider, "rider.trips:read rider.trips:create")
	seen := map[string]bool{r.text("refresh_token"): true}
	for range 5 {
		w.clock.add(time.Minute)
		next := w.refresh(a, r.text("refresh_token"))
		if next.status != http.StatusOK || seen[next.text("refresh_token")] || next.text("scope") != "rider.trips:read rider.trips:create" {
			t.Fatalf("%d %s", next.status, next.raw)
		}
		if !w.alive(r.text("access_token")) || !w.alive(next.text("access_token")) {
			t.Error("an access token died of a refresh")
		}
		seen[next.text("refresh_token")], r = true, next
	}
}

func TestRefreshLife(t *testing.T) {
	w := newWorld(t)
	a := w.register(nil)
	r := w.signIn(a, authz.Rider, "rider.trips:read")
	for range 3 { // 90 days from its own issue, not from the first
		w.clock.add(oauth.RefreshLife - time.Second)
		if r = w.refresh(a, r.text("refresh_token")); r.status != http.StatusOK {
			t.Fatalf("%d %s", r.status, r.raw)
		}
	}
	w.clock.add(oauth.RefreshLife)
	w.expect(w.refresh(a, r.text("refresh_token")), 400, "invalid_grant")
}

func TestRefreshScope(t *testing.T) {
	w := newWorld(t)
	a := w.register(nil)
	r := w.signIn(a, authz.Dashboard, "tenant.trips:read tenant.drivers:read openid")
	w.expect(w.refresh(a, r.text("refresh_token"), "scope", "tenant.trips:read tenant.wallets:read"), 400, "invalid_scope")
	narrow := w.refresh(a, r.text("refresh_token"), "scope", "tenant.trips:read")
	if narrow.text("scope") != "tenant.trips:read" {
		t.Errorf("narrower scope: %s", narrow.raw)
	}
	wide := w.refresh(a, narrow.text("refresh_token")) // RFC 6749 section 6: the refresh token's scope stays
	if wide.text("scope") != "tenant.trips:read tenant.drivers:read openid" {
		t.Errorf("scope afterwards: %s", wide.raw)
	}
	w.set(w.actorKey(authz.Dashboard), map[string]any{"permissions": []string{"VIEW_DRIVERS"}})
	less := w.refresh(a, wide.text("refresh_token"))
	if less.text("scope") != "tenant.drivers:read openid" {
		t.Errorf("after a permission was removed: %s", less.raw)
	}
	w.expect(w.refresh(a, less.text("refresh_token"), "scope", "tenant.trips:read"), 400, "invalid_scope")
	w.set(w.actorKey(authz.Dashboard), map[string]any{"permissions": []string{"VIEW_DRIVERS", "VIEW_TRIPS"}})
	if back := w.refresh(a, less.text("refresh_token")); back.text("scope") != "tenant.trips:read tenant.drivers:read openid" {
		t.Errorf("after it was granted again: %s", back.raw)
	}
}

func TestRefreshFollowsTheRegistration(t *testing.T) {
	w := newWorld(t)
	a := w.register(nil)
	r := w.signIn(a, authz.Rider, "rider.trips:read rider.wallet:read")
	put := w.json(http.MethodPut, "/oauth/register/"+a.id, a.management, map[string]any{"client_id": a.id, "client_name": "Less", "redirect_uris": []string{callback},
		"token_endpoint_auth_method": "none", "audiences": []string{"rider"}, "scope": "rider.wallet:read"})
	if put.status != http.StatusOK {
		t.Fatal(put.raw)
	}
	if r = w.refresh(a, r.text("refresh_token")); r.text("scope") != "rider.wallet:read" {
		t.Errorf("%d %s", r.status, r.raw)
	}
}

func TestRefreshFaults(t *testing.T) {
	w := newWorld(t)
	a, other := w.register(nil), w.register(nil)
	r := w.signIn(a, authz.Rider, "rider.trips:read")
	token := r.text("refresh_token")
	parts := strings.Split(token, ".")
	stranger := w.signIn(a, authz.Driver, "driver.trips:accept").text("refresh_token")
	for name, tc := range map[string]struct {
		app    app
		token  string
		status int
		want   string
	}{
		"absent":                    {a, "", 400, "invalid_request"},
		"no token of ours":          {a, "x", 400, "invalid_grant"},
		"the access token":          {a, r.text("access_token"), 400, "invalid_grant"},
		"another client's":          {other, token, 400, "invalid_grant"},
		"another secret":            {a, parts[0] + "." + ids.Secret() + "." + parts[2], 400, "invalid_grant"},
		"another family's address":  {a, strings.Split(stranger, ".")[0] + "." + parts[1] + "." + parts[2], 400, "invalid_grant"},
		"cut":                       {a, token[:len(token)-1], 400, "invalid_grant"},
		"very long":                 {a, token + strings.Repeat("a", 5000), 400, "invalid_grant"},
		"unknown client":            {app{id: "cli_x"}, token, 401, "invalid_client"},
		"client_id with separators": {app{id: "cli_01#T#x"}, token, 401, "invalid_client"},
	} {
		t.Run(name, func(*testing.T) { w.expect(w.refresh(tc.app, tc.token), tc.status, tc.want) })
	}
	if r := w.refresh(a, token); r.status != http.StatusOK {
		t.Errorf("the token was hurt: %d %s", r.status, r.raw)
	}
}

func TestRefreshOfWhomMayNot(t *testing.T) {
	w := newWorld(t)
	a := w.register(nil)
	r := w.signIn(a, authz.Rider, "rider.trips:read")
	for name, disabled := range map[string]func(bool){
		"actor":  func(on bool) { w.set(w.actorKey(authz.Rider), map[string]any{"disabled": on}) },
		"tenant": func(on bool) { w.flag("disabled", on) },
	} {
		t.Run(name, func(t *testing.T) {
			disabled(true)
			w.expect(w.refresh(a, r.text("refresh_token")), 400, "invalid_grant")
			if w.alive(r.text("access_token")) {
				t.Error("the access token lives")
			}
			disabled(false)
			if r = w.refresh(a, r.text("refresh_token")); r.status != http.StatusOK {
				t.Errorf("afterwards: %d %s", r.status, r.raw)
			}
		})
	}
}

// Every generation but the last, presented again, ends all tokens of the
// client and actor, also those of another sign-in; others live on.
func TestRefreshReuse(t *testing.T) {
	const generations = 4
	for n := range generations {
		w := newWorld(t)
		a, other := w.register(nil), w.register(nil)
		r := w.signIn(a, authz.Rider, "rider.trips:read")
		all := []string{r.text("refresh_token")}
		for range generations {
			r = w.refresh(a, r.text("refresh_token"))
			all = append(all, r.text("refresh_token"))
		}
		second := w.signIn(a, authz.Rider, "rider.trips:read")
		elsewhere, someone := w.signIn(other, authz.Rider, "rider.trips:read"), w.signIn(a, authz.Driver, "driver.trips:accept")
		w.expect(w.refresh(other, all[n]), 400, "invalid_grant")
		if !w.alive(r.text("access_token")) {
			t.Fatalf("generation %d: another client's attempt revoked the tokens", n)
		}
		w.expect(w.refresh(a, all[n]), 400, "invalid_grant")
		for name, dead := range map[string]reply{"its own chain": r, "another sign-in": second} {
			if w.alive(dead.text("access_token")) {
				t.Errorf("generation %d: %s: the access token lives", n, name)
			}
			w.expect(w.refresh(a, dead.text("refresh_token")), 400, "invalid_grant")
		}
		if !w.alive(elsewhere.text("access_token")) || !w.alive(someone.text("access_token")) {
			t.Errorf("generation %d: tokens of another client or actor died", n)
		}
		later := w.signIn(a, authz.Rider, "rider.trips:read") // dead tokens cannot hurt what comes after
		w.expect(w.refresh(a, all[n]), 400, "invalid_grant")
		if !w.alive(later.text("access_token")) {
			t.Errorf("generation %d: a dead token revoked a later sign-in", n)
		}
	}
}

func TestRefreshGrace(t *testing.T) {
	w := newWorld(t, func(c *oauth.Config) { c.RefreshGrace = 20 * time.Second })
	a := w.register(nil)
	r := w.signIn(a, authz.Rider, "rider.trips:read rider.wallet:read openid")
	first := w.refresh(a, r.text("refresh_token"), "scope", "rider.trips:read openid")
	w.clock.add(10 * time.Second)
	again := w.refresh(a, r.text("refresh_token"))
	if again.status != http.StatusOK || again.text("refresh_token") != first.text("refresh_token") || again.text("scope") != first.text("scope") {
		t.Fatalf("within the grace: %d %s", again.status, again.raw)
	}
	one, _ := w.keys.Verify(t.Context(), first.text("access_token"))
	two, err := w.keys.Verify(t.Context(), again.text("access_token"))
	if err != nil || one.ID != two.ID || !one.Expires.Equal(two.Expires) || again.body["expires_in"] != 3590.0 {
		t.Errorf("not the same successor: %+v %+v %v %v", one, two, err, again.body["expires_in"])
	}
	next := w.refresh(a, again.text("refresh_token"))
	if next.status != http.StatusOK {
		t.Fatal(next.raw)
	}
	w.expect(w.refresh(a, r.text("refresh_token")), 400, "invalid_grant") // older than the last: reuse
	if w.alive(next.text("access_token")) {
		t.Error("reuse within the grace is not seen")
	}
	r = w.signIn(a, authz.Rider, "rider.trips:read")
	next = w.refresh(a, r.text("refresh_token"))
	w.clock.add(20 * time.Second)
	w.expect(w.refresh(a, r.text("refresh_token")), 400, "invalid_grant")
	if w.alive(next.text("access_token")) {
		t.Error("reuse after the grace is not seen")
	}
}

// A family has a bounded number of live access tokens, and ending it ends all.
func TestManyAccessTokens(t *testing.T) {
	w := newWorld(t)
	a := w.register(nil)
	r := w.signIn(a, authz.Rider, "rider.trips:read")
	all := []string{r.text("access_token")}
	for range oauth.MostAccessTokens {
		w.clock.add(time.Second)
		r = w.refresh(a, r.text("refresh_token"))
		all = append(all, r.text("access_token"))
	}
	for i, token := range all {
		if w.alive(token) != (i > 0) {
			t.Errorf("token %d of %d: alive %v", i, len(all), w.alive(token))
		}
	}
	if got := w.form("/oauth/revoke", "client_id", a.id, "token", r.text("refresh_token")); got.status != http.StatusOK {
		t.Fatal(got.raw)
	}
	for i, token := range all {
		if w.alive(token) {
			t.Errorf("token %d lives after the revocation", i)
		}
	}
}

func TestRefreshBudget(t *testing.T) {
	scopes := strings.Join(authz.Scopes(authz.Dashboard), " ")
	for name, grace := range map[string]time.Duration{"without grace": 0, "with grace": 30 * time.Second} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(c *oauth.Config) { c.RefreshGrace, c.Address = grace, fixedAddress })
			w.set(w.actorKey(authz.Dashboard), map[string]any{"permissions": authz.Permissions()})
			a := w.register(nil)
			r := w.signIn(a, authz.Dashboard, scopes)
			var most table.Usage
			for range oauth.MostAccessTokens + 2 { // the last ones also end an access token
				w.clock.add(time.Second)
				ctx, meter := table.Metered(t.Context())
				req := formRequest("/oauth/token", formOf("grant_type", "refresh_token", "client_id", a.id, "refresh_token", r.text("refresh_token")))
				if r = w.do(req.WithContext(ctx)); r.status != http.StatusOK {
					t.Fatal(r.raw)
				}
				used := meter.Usage()
				most.Sequential, most.Requests = max(most.Sequential, used.Sequential), max(most.Requests, used.Requests)
				most.ReadUnits, most.WriteUnits = max(most.ReadUnits, used.ReadUnits), max(most.WriteUnits, testkit.WriteUnits(used))
			}
			if most.Sequential > 2 || most.Requests > 2 || most.ReadUnits > 6 || most.WriteUnits > 12 {
				t.Errorf("over budget (2 round trips, 6 read units, 12 write units): %+v", most)
			}
			t.Logf("%+v", most)
		})
	}
}

func FuzzRefreshToken(f *testing.F) {
	f.Add("x.y.z")
	f.Add("dGVuXzAxSlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaLnJpZGVyLmN1c18wMS5mYW1fMDE." + strings.Repeat("a", 43) + "." + strings.Repeat("b", 43))
	f.Fuzz(func(t *testing.T, token string) {
		first, ok := oauth.Reads(token)
		if ok && !strings.HasPrefix(token, first) {
			t.Errorf("%q is read as %q: a token has more than one form", token, first)
		}
	})
}

func FuzzBasic(f *testing.F) {
	f.Add("Basic Y2xpXzE6c2VjcmV0")
	f.Add("basic   %3A:%")
	f.Fuzz(func(_ *testing.T, header string) { _, _, _ = oauth.ReadBasic(header) })
}
