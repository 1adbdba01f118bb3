package oauth_test

import (
	"html"
	"net/http"
	"slices"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/oauth"
)

// faultsForClient returns every fault of which the client learns.
func (f *fixture) faultsForClient(t *testing.T) (c client, faults []authorizeFault) {
	t.Helper()
	c = f.storeClient(nil)
	rider := f.storeClient(forRiders)
	both := f.storeClient(func(c *client) {
		c.Audiences = []authz.Audience{authz.Dashboard, authz.Rider}
		c.Scopes = append(authz.Scopes(authz.Dashboard), authz.Scopes(authz.Rider)...)
	})
	for _, one := range slices.Concat(parameterFaults(c), openIDFaults(c), scopeFaults(c, rider, both)) {
		if strings.Contains(one.want, "_") { // an error code, and no page
			faults = append(faults, one)
		}
	}
	if len(faults) < 20 {
		t.Fatalf("%d faults", len(faults))
	}
	return c, faults
}

// OpenID Connect Core section 3.1.2.1: with prompt=none nobody sees a page, whatever is
// wrong with the request, once client and redirect address are known.
func TestSilentRequestShowsNoPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c, faults := f.faultsForClient(t)
	faults = append(faults,
		authorizeFault{"unknown company", authorization(c, "tenant_hint", "nobody"), "", "invalid_request"},
		authorizeFault{"no slug", authorization(c, "tenant_hint", "../x"), "", "invalid_request"},
		authorizeFault{"a typed company", authorization(c, "tenant_hint", "nobody", "company", "chosen"), "",
			"account_selection_required"},
		authorizeFault{"no id_token", authorization(c, "id_token_hint", "eyJ"), "", "login_required"},
		authorizeFault{"no fault", authorization(c), "", "login_required"})
	for _, test := range faults {
		if test.q.Get("prompt") == "" {
			test.q.Set("prompt", "none")
		}
		if test.q.Get("prompt") != "none" {
			continue
		}
		address := "/oauth/authorize?" + test.q.Encode() + test.add
		s := f.newBrowser().get(address)
		if s.status != http.StatusSeeOther || !strings.HasPrefix(s.location, plannerCallback+"?") || s.page() != test.want {
			t.Errorf("%s: %d to %s, want %s", test.name, s.status, s.location, test.want)
		}
		if test.q.Has("response_mode") {
			continue
		}
		if _, fields := formPost(t, f.newBrowser().get(address+"&response_mode=form_post")); fields["error"] != test.want {
			t.Errorf("%s by form_post: %v", test.name, fields)
		}
	}
}

// If the table fails, the client of a silent request learns that the service is
// unavailable.
func TestSilentRequestWithoutTheTable(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c, b := f.storeClient(nil), f.newBrowser()
	b.obtainCode(authorization(c), "ana@metro.example")
	for p := range testkit.Points(t, 30) {
		passed := p.N + 1 // the first one reads the client
		f.wire.BreakAfter(passed)
		s := b.get("/oauth/authorize?" + authorization(c, "prompt", "none").Encode())
		f.wire.Restore()
		if !p.Reached(s.answer.Get("code") == "") {
			if passed < 4 {
				t.Errorf("a code after %d requests to the table", passed)
			}
		} else if s.page() != "temporarily_unavailable" || s.status != http.StatusSeeOther {
			t.Fatalf("%d requests passed: %d %s", passed, s.status, s.text())
		}
	}
}

// A rider or driver without tenant_hint belongs to the company of id_token_hint, else to
// that of the browser's session, if the person allowed the client there.
func TestSilentRequestFindsTheCompany(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, audience := range []authz.Audience{authz.Rider, authz.Driver} {
		scope, email := "openid "+string(audience)+".trips:read", f.emails[audience]
		stored := func() client {
			return f.storeClient(func(c *client) {
				c.Audiences, c.Scopes = []authz.Audience{audience}, authz.Scopes(audience)
			})
		}
		c, other, b := stored(), stored(), f.newBrowser()
		silent := []string{"scope", scope, "tenant_hint", "", "prompt", "none"}
		hint := f.tokensBy(b, c, email, "scope", scope).IDToken
		operators := f.tokensBy(f.newBrowser(), f.storeClient(nil), "ana@metro.example").IDToken
		for _, test := range []struct {
			name string
			b    *browser
			c    client
			hint string
			want string
		}{
			{"the session of this client", b, c, "", "code"},
			{"its hint", b, c, hint, "code"},
			{"nobody", f.newBrowser(), c, "", "account_selection_required"},
			{"nobody, its hint", f.newBrowser(), c, hint, "login_required"},
			{"another client's session", b, other, "", "account_selection_required"},
			{"another client's hint", b, other, hint, "consent_required"},
			{"an operator's hint", b, c, operators, "login_required"},
			{"no id_token", b, c, "eyJ", "login_required"},
		} {
			q := authorization(test.c, append(slices.Clone(silent), "id_token_hint", test.hint)...)
			if s := test.b.get("/oauth/authorize?" + q.Encode()); s.page() != test.want || s.status != http.StatusSeeOther {
				t.Errorf("%s, %s: %d %s, want %s", audience, test.name, s.status, s.text(), test.want)
			}
		}
		if got := b.authorize(authorization(c, "scope", scope, "tenant_hint", "", "id_token_hint",
			hint)); got.page() != "code" {
			t.Errorf("%s, with pages: %s", audience, got.text())
		}
		if got := f.tenantOfCode(b, authorizationOf(c.ID, plannerCallback, scope, silent[2:]...)); got != f.metro.ID {
			t.Errorf("the code is for %s", got)
		}
	}
	operator := f.newBrowser()
	c := f.storeClient(nil)
	operator.obtainCode(authorization(c), "ana@metro.example")
	if got := operator.authorize(authorization(f.storeClient(forRiders), "scope", "rider.trips:read", "tenant_hint", "",
		"prompt", "none")); got.page() != "account_selection_required" {
		t.Errorf("an operator's session: %s", got.text())
	}
}

func (f *fixture) tenantOfCode(b *browser, q map[string][]string) string {
	f.t.Helper()
	return f.storedCode(b.authorize(q).answer.Get("code")).Tenant
}

// The company of a hint may have a domain of its own: the request goes on there.
func TestSilentRequestAtACompanysDomain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c, b := f.storeClient(forRiders), f.newBrowser()
	b.base = novaURL
	first := b.obtainCode(authorization(c, "scope", "openid rider.trips:read", "tenant_hint", "nova"), "rita@home.example")
	hint := f.redeemAt(c, first.answer.Get("code")).text("id_token")
	b.base = baseURL
	q := authorization(c, "scope", "openid rider.trips:read", "tenant_hint", "", "prompt", "none", "id_token_hint", hint)
	s := b.get("/oauth/authorize?" + q.Encode())
	if s.status != http.StatusFound || !strings.HasPrefix(s.location, novaURL+"/oauth/authorize?") {
		t.Fatalf("%d to %s", s.status, s.location)
	}
	if got := b.get(s.location); got.page() != "code" {
		t.Errorf("at the domain: %d %s", got.status, got.text())
	}
}

// TestErrorPageHonoursFormPost: the page that a stranger gets after a faulty request leads
// to the client as the request says, by a form or by a link.
func TestErrorPageHonoursFormPost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, faults := f.faultsForClient(t)
	for _, test := range faults {
		if test.q.Get("prompt") == "none" || test.q.Has("response_mode") {
			continue
		}
		address := "/oauth/authorize?" + test.q.Encode() + test.add
		byLink, byForm := f.newBrowser().get(address), f.newBrowser().get(address+"&response_mode=form_post")
		if byLink.status != 400 || !strings.Contains(html.UnescapeString(byLink.body), `<a href="`+plannerCallback+"?error="+
			test.want) || strings.Contains(byLink.body, "<form") {
			t.Errorf("%s: %d %s", test.name, byLink.status, byLink.body)
		}
		fields := map[string]string{}
		for _, field := range posted.FindAllStringSubmatch(byForm.body, -1) {
			fields[field[1]] = html.UnescapeString(field[2])
		}
		policy := byForm.header.Get("Content-Security-Policy")
		if action := formAction.FindStringSubmatch(byForm.body); byForm.status != 400 || action == nil ||
			html.UnescapeString(action[1]) != plannerCallback || fields["error"] != test.want || fields["iss"] != baseURL ||
			fields["error_description"] == "" || strings.Contains(byForm.body, "error=") ||
			strings.Contains(byForm.body, "<script") || strings.Contains(policy, "form-action") {
			t.Errorf("%s by form_post: %d %s %s", test.name, byForm.status, policy, byForm.body)
		}
	}
}

// A client that registered no audience may ask for openid alone. The person chooses as
// what to sign in, and the last choice for the client comes first.
func TestOpenIDIsAWholeRequest(t *testing.T) {
	t.Parallel()
	f, _ := newFixtureWithMail(t, func(c *oauth.Config) { c.Limits.Registrations = -1 })
	a := f.register(map[string]any{"audiences": nil})
	q := authorizationOf(a.id, callback, "openid profile email")
	words := map[authz.Audience]string{authz.Dashboard: "I work for a company", authz.Rider: "I am a rider",
		authz.Driver: "I am a driver"}
	b := f.newBrowser()
	for _, audience := range []authz.Audience{authz.Driver, authz.Dashboard, authz.Rider} {
		asked := b.authorize(q)
		if asked.page() != "As what do you sign in?" {
			t.Fatalf("%d %s", asked.status, asked.text())
		}
		s := b.click(asked, words[audience])
		if s.page() != "sign-in" {
			t.Fatalf("%s: %s", audience, s.text())
		}
		s = b.pass(s, f.emails[audience])
		r := f.redeem(a, s.answer.Get("code"))
		if _, body := claims(t, r.text("access_token")); body["aud"] != string(audience) ||
			body["sub"] != f.actors[audience] || r.text("scope") != "openid profile email" {
			t.Errorf("%s: %d %v", audience, r.status, body)
		}
		again := b.authorize(q)
		if first := linkText.FindStringSubmatch(again.body); first == nil || first[2] != words[audience] {
			t.Errorf("%s is not first: %s", audience, again.text())
		}
		if got := b.click(again, words[audience]); got.page() != "code" {
			t.Errorf("%s again: %s", audience, got.text())
		}
		hinted := authorizationOf(a.id, callback, "openid", "tenant_hint", "", "prompt", "none", "id_token_hint",
			r.text("id_token"))
		if got := b.authorize(hinted); audience != authz.Dashboard && got.page() != "code" {
			t.Errorf("%s by its hint: %s", audience, got.text())
		}
		for _, one := range []*browser{b, f.newBrowser()} {
			silent := authorizationOf(a.id, callback, "openid profile email", "prompt", "none")
			if got := one.authorize(silent); got.page() != "account_selection_required" {
				t.Errorf("without a page: %s", got.text())
			}
		}
	}
	other := f.register(map[string]any{"audiences": nil})
	if first := linkText.FindStringSubmatch(b.authorize(authorizationOf(other.id, callback, "openid")).body); first[2] !=
		words[authz.Dashboard] {
		t.Errorf("for another client: %v", first)
	}
	two := f.register(map[string]any{"audiences": []string{"driver", "rider"}})
	if got := b.authorize(authorizationOf(two.id, callback, "openid")).text(); strings.Contains(got, "I work") ||
		!strings.Contains(got, "I am a rider") || !strings.Contains(got, "I am a driver") {
		t.Errorf("two audiences: %s", got)
	}
	asked := b.authorize(authorizationOf(a.id, callback, "openid", "tenant_hint", ""))
	if got := b.click(asked, words[authz.Rider]); got.page() != "Which company?" {
		t.Errorf("a rider of no company: %s", got.text())
	}
	if got := b.click(asked, words[authz.Dashboard]); got.page() != "sign-in" {
		t.Errorf("an operator of no company: %s", got.text())
	}
}
