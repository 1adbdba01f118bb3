package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/oauth/flow"
	"svc/pkg/oauth/link"
)

func (f *fixture) userinfo(token string) (response, map[string]any) {
	f.t.Helper()
	s := f.newBrowser().get("/oauth/userinfo", "Authorization", "Bearer "+token)
	var claims map[string]any
	testkit.Must(f.t, json.Unmarshal([]byte(s.body), &claims))
	return s, claims
}

// A token for an address of the MCP server alone is good there alone.
func TestUserinfoIsOfTheAPI(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(forRiders)
	mcp, api := baseURL+"/mcp/rider/metro", baseURL+authz.API
	for _, test := range []struct {
		name      string
		resources []string
		want      int
	}{{"the API", []string{api}, http.StatusOK}, {"both", []string{api, mcp}, http.StatusOK},
		{"the MCP server", []string{mcp}, http.StatusUnauthorized}} {
		q := authorization(c, "scope", "openid email rider.trips:read")
		q["resource"] = test.resources
		got := f.postForm("/oauth/token", "grant_type", "authorization_code", "client_id", c.ID,
			"code", f.newBrowser().obtainCode(q, "rita@home.example").answer.Get("code"),
			"redirect_uri", q.Get("redirect_uri"), "code_verifier", verifier)
		s, claims := f.userinfo(got.text("access_token"))
		if s.status != test.want {
			t.Errorf("%s: %d %v", test.name, s.status, claims)
		}
		if challenge := s.header.Get("WWW-Authenticate"); test.want == http.StatusUnauthorized &&
			(claims["error"] != "invalid_token" || !strings.HasPrefix(challenge, `Bearer error="invalid_token"`)) {
			t.Errorf("%s: %v %s", test.name, claims, challenge)
		}
	}
}

// OpenID Connect Core section 5.3 and 5.4.
func TestUserinfo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c, rider := f.storeClient(nil), f.storeClient(forRiders)
	drivers := f.storeClient(func(c *client) {
		c.Audiences, c.Scopes = []authz.Audience{authz.Driver}, authz.Scopes(authz.Driver)
	})
	for _, test := range []struct {
		name, email, scope string
		client             client
		want               map[string]any
	}{
		{"openid alone", "ana@metro.example", "openid", c, map[string]any{"sub": f.ana.ID}},
		{"an operator", "ana@metro.example", "openid profile email", c, map[string]any{"sub": f.ana.ID, "name": "Ana Ruiz",
			"given_name":  "Ana",
			"family_name": "Ruiz", "email": "ana@metro.example", "email_verified": false}},
		{"a rider", "rita@home.example", "openid profile email rider.trips:read", rider,
			map[string]any{"sub": f.rita, "name": "Rita Sol", "given_name": "Rita",
				"family_name": "Sol", "email": "rita@home.example", "email_verified": false}},
		{"a driver", "dan@home.example", "openid profile", drivers, map[string]any{"sub": f.dan, "name": "Dan Vega",
			"given_name": "Dan", "family_name": "Vega"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			token := f.tokensBy(f.newBrowser(), test.client, test.email, "scope", test.scope).AccessToken
			s, claims := f.userinfo(token)
			if diff := cmp.Diff(test.want, claims); s.status != http.StatusOK || diff != "" {
				t.Errorf("%d %s", s.status, diff)
			}
			posted := f.newBrowser().do(http.MethodPost, "/oauth/userinfo", url.Values{"access_token": {token}})
			if posted.status != http.StatusOK {
				t.Errorf("posted: %d", posted.status)
			}
		})
	}
}

func TestUserinfoRefusals(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	b := f.newBrowser()
	tokens := f.tokensBy(b, c, "ana@metro.example")
	without := f.tokensBy(b, c, "ana@metro.example", "scope", "tenant.trips:read")
	for _, test := range []struct {
		name   string
		header []string
		form   url.Values
		status int
		want   string
	}{
		{"no token", nil, nil, 401, "Bearer"},
		{"garbage", []string{"Authorization", "Bearer x.y.z"}, nil, 401, `error="invalid_token"`},
		{"an id_token", []string{"Authorization", "Bearer " + tokens.IDToken}, nil, 401, `error="invalid_token"`},
		{"a refresh token", []string{"Authorization", "Bearer " + tokens.RefreshToken}, nil, 401, `error="invalid_token"`},
		{"basic", []string{"Authorization", "Basic " + tokens.AccessToken}, nil, 401, "Bearer"},
		{"without openid", []string{"Authorization", "Bearer " + without.AccessToken}, nil, 403,
			`error="insufficient_scope", scope="openid"`},
		{"two tokens", []string{"Authorization", "Bearer " + tokens.AccessToken},
			url.Values{"access_token": {tokens.AccessToken}}, 400, ""},
	} {
		method := http.MethodGet
		if test.form != nil {
			method = http.MethodPost
		}
		s := f.newBrowser().do(method, "/oauth/userinfo", test.form, test.header...)
		if s.status != test.status || !strings.Contains(s.header.Get("WWW-Authenticate"), test.want) {
			t.Errorf("%s: %d %q", test.name, s.status, s.header.Get("WWW-Authenticate"))
		}
	}
}

// A person sees the clients that they allowed, and ends their access: the
// tokens become invalid at once.
func TestConnectedApps(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c, other := f.storeClient(nil), f.storeClient(func(c *client) { c.Name = "Other" })
	b := f.newBrowser()
	if got := b.authorize(url.Values{}).status; got != http.StatusBadRequest {
		t.Errorf("no request at all: %d", got)
	}
	first := f.tokensBy(b, c, "ana@metro.example")
	second := f.tokensBy(f.newBrowser(), c, "ana@metro.example") // another device
	third := f.tokensBy(b, other, "ana@metro.example")
	bobs := f.tokensBy(f.newBrowser(), c, "bob@metro.example")
	s := b.get("/oauth/apps")
	if s.status != http.StatusOK || strings.Count(s.body, "<section") != 2 || !strings.Contains(s.body, "Planner") {
		t.Fatalf("%d %s", s.status, s.text())
	}
	_, csrf := s.form(t)
	end := url.Values{"csrf": {csrf}, "client": {c.ID}, "of": {f.metro.ID}}
	for name, change := range map[string][2]string{"no token": {"csrf", ""}, "garbage": {"csrf", "x"},
		"another tenant": {"of", "ten_x"}, "a trick": {"client", "a#b"}} {
		form := url.Values{"csrf": {csrf}, "client": {c.ID}, "of": {f.metro.ID}}
		form.Set(change[0], change[1])
		b.do(http.MethodPost, "/oauth/apps", form)
		if s, _ := f.userinfo(first.AccessToken); s.status != http.StatusOK {
			t.Fatalf("%s ended the access", name)
		}
	}
	if s := f.newBrowser().do(http.MethodPost, "/oauth/apps", end); s.status != http.StatusSeeOther {
		t.Errorf("without a session: %d", s.status)
	}
	s = b.follow(b.do(http.MethodPost, "/oauth/apps", end))
	if s.status != http.StatusOK || strings.Count(s.body, "<section") != 1 || !strings.Contains(s.body, `role="status"`) {
		t.Errorf("%d %s", s.status, s.text())
	}
	for name, test := range map[string]struct {
		token string
		want  int
	}{"the client's": {first.AccessToken, 401}, "the client's on another device": {second.AccessToken, 401},
		"another client's": {third.AccessToken, 200}, "another person's": {bobs.AccessToken, 200}} {
		if s, _ := f.userinfo(test.token); s.status != test.want {
			t.Errorf("%s: %d, want %d", name, s.status, test.want)
		}
	}
	if _, err := flow.Refresh(context.Background(), flow.Options{BaseURL: baseURL, ClientID: c.ID, HTTPClient: f.client},
		first.RefreshToken); err == nil {
		t.Error("the refresh token lives")
	}
	if got := b.authorize(authorization(c)).page(); got != "consent" {
		t.Errorf("the client again: %s", got)
	}
}

// The page of connected applications signs people in without a client.
func TestConnectedAppsSignIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.tokensBy(f.newBrowser(), f.storeClient(forRiders), "rita@home.example", "scope", "rider.trips:read")
	for _, test := range []struct{ query, email, want string }{
		{"", "ana@metro.example", "No application"},
		{"?audience=rider&tenant_hint=metro", "rita@home.example", "see your trips"},
		{"?audience=rider&tenant_hint=Metro", "rita@home.example", "see your trips"},
	} {
		b := f.newBrowser()
		s := b.get("/oauth/apps" + test.query)
		if s.page() != "sign-in" {
			t.Fatalf("%s: %s", test.query, s.text())
		}
		if s = b.signIn(s, test.email); !strings.Contains(s.body, test.want) {
			t.Errorf("%s: %d %s", test.query, s.status, s.text())
		}
		again := f.newBrowser()
		action, _ := again.get("/oauth/apps" + test.query).form(t)
		if s := again.do(http.MethodPost, action,
			url.Values{"email": {test.email}, "password": {password}}); s.cookie("__Host-svc-session") != nil {
			t.Errorf("%s: signed in without the form's token", test.query)
		}
	}
	for query, want := range map[string]string{"?audience=rider": "Which company?",
		"?audience=x":                        "This request cannot be answered",
		"?audience=rider&tenant_hint=nobody": "Unknown company"} {
		if got := f.newBrowser().get("/oauth/apps" + query).page(); got != want {
			t.Errorf("%s: %s", query, got)
		}
	}
}

// hiddenInputs returns the hidden inputs of a page, by name.
func hiddenInputs(s response) url.Values {
	inputs := url.Values{}
	for _, m := range hiddenInput.FindAllStringSubmatch(s.body, -1) {
		inputs.Set(m[1], m[2])
	}
	return inputs
}

// OpenID Connect RP-Initiated Logout.
func TestLogout(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	bye := url.Values{"post_logout_redirect_uri": {"https://planner.example/bye"}, "state": {"x y"},
		"client_id": {c.ID}}.Encode()
	for _, test := range []struct {
		name, query string
		hint        bool
		want        string // page or location
		asks        bool
	}{
		{"a hint ends it at once", bye, true, "https://planner.example/bye?state=x+y", false},
		{"without a hint the person is asked", bye, false, "You are signed out", true},
		{"no client", "", false, "You are signed out", true},
		{"a hint alone", "", true, "You are signed out", false},
		{"an address that is not registered", "client_id=" + c.ID + "&post_logout_redirect_uri=https://evil.example/", true,
			"Unknown return address", false},
		{"an address without a client", "post_logout_redirect_uri=https://planner.example/bye", false,
			"This request cannot be answered", false},
		{"a hint that is no id_token", "id_token_hint=eyJ", false, "This request cannot be answered", false},
		{"another client's hint", "client_id=cli_x", true, "This request cannot be answered", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := f.newBrowser()
			tokens := f.tokensBy(b, c, "ana@metro.example")
			query := test.query
			if test.hint {
				query += "&id_token_hint=" + tokens.IDToken
			}
			s := b.get("/oauth/logout?" + strings.TrimPrefix(query, "&"))
			if (s.page() == "Sign out?") != test.asks {
				t.Fatalf("got %s", s.text())
			}
			if test.asks {
				if got := b.authorize(authorization(c)).page(); got != "code" {
					t.Fatalf("signed out before the person agreed: %s", got)
				}
				s = b.do(http.MethodPost, "/oauth/logout", hiddenInputs(s))
			}
			if test.asks && test.query == bye && !strings.Contains(s.body, `href="https://planner.example/bye?state=x&#43;y"`) {
				t.Errorf("no link to the client: %s", s.body)
			}
			if got := s.page(); got != test.want && s.location != test.want {
				t.Fatalf("got %q %q, want %q", got, s.location, test.want)
			}
			want := "sign-in"
			if strings.HasPrefix(test.want, "U") || strings.HasPrefix(test.want, "T") {
				want = "code"
			}
			if got := b.authorize(authorization(c)).page(); got != want {
				t.Errorf("afterwards: %s, want %s", got, want)
			}
		})
	}
	b := f.newBrowser()
	f.tokensBy(b, c, "ana@metro.example")
	if s := b.do(http.MethodPost, "/oauth/logout", url.Values{}); b.follow(s).page() != "Sign out?" {
		t.Errorf("a post of another site: %d %s", s.status, s.text())
	}
}

// hasApp reports whether the page lists a client.
func hasApp(s response) bool { return strings.Contains(s.body, "<section") }

// wrongPasswords lists pairs of a new password and its repetition that the page
// rejects, with the page's message.
var wrongPasswords = []struct{ name, one, two, want string }{
	{"short", "short", "short", "too short"}, {"different", "a long enough one", "another long one", "not the same"},
	{"long", strings.Repeat("x", 1100), strings.Repeat("x", 1100), "too long"},
	{"the address", "ANA@metro.example", "ANA@metro.example", "must not be"},
}

// newLink creates a one-time link.
func (f *fixture) newLink(audience authz.Audience, tenantID, email string) string {
	f.t.Helper()
	link, err := link.New(context.Background(), f.db, baseURL, audience, tenantID, email, f.now())
	testkit.Must(f.t, err)
	return link
}

// refusesWrongPasswords enters invalid passwords on a link's page and checks
// that they are rejected.
func (b *browser) refusesWrongPasswords(t *testing.T, page response) {
	t.Helper()
	for _, wrong := range wrongPasswords {
		if s := b.post(page, "password", wrong.one, "again", wrong.two); s.status != http.StatusBadRequest ||
			!strings.Contains(s.body, wrong.want) {
			t.Errorf("%s: %d %s", wrong.name, s.status, s.text())
		}
	}
}

// onlyNewPassword checks that Ana can sign in with her new password, and not with
// the old one.
func onlyNewPassword(t *testing.T, b *browser, c client) {
	t.Helper()
	if s := b.post(b.authorize(authorization(c)), "email", "ana@metro.example", "password",
		password); s.status != http.StatusBadRequest {
		t.Errorf("the old password: %d", s.status)
	}
	if s := b.post(b.authorize(authorization(c)), "email", "ana@metro.example", "password",
		"a new long password"); s.status != http.StatusSeeOther {
		t.Errorf("the new password: %d", s.status)
	}
}

// A one-time link sets the password once and ends every session.
func TestPasswordLink(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	signedIn := f.newBrowser()
	signedIn.obtainCode(authorization(c), "ana@metro.example")
	f.advance(time.Second)
	first := f.newLink(authz.Dashboard, "", "ana@metro.example")
	second := f.newLink(authz.Dashboard, "", "Ana@metro.example")
	b := f.newBrowser()
	page := b.get(first)
	if page.status != http.StatusOK || !strings.Contains(page.body, "Choose a new password") ||
		b.get(first).status != http.StatusOK {
		t.Fatalf("%d %s", page.status, page.text())
	}
	b.refusesWrongPasswords(t, page)
	action, _ := page.form(t)
	another := f.newBrowser()
	for _, want := range []int{http.StatusBadRequest, http.StatusSeeOther} { // first without a cookie
		if s := another.do(http.MethodPost, action, url.Values{"password": {"a new long password"},
			"again": {"a new long password"}}); s.status != want {
			t.Errorf("without the form's token: %d", s.status)
		}
	}
	s := b.post(page, "password", "a new long password", "again", "a new long password")
	if s.status != http.StatusOK || s.page() != "Your password is saved" {
		t.Fatalf("%d %s", s.status, s.text())
	}
	if got := signedIn.authorize(authorization(c)).page(); got != "sign-in" {
		t.Errorf("the session before: %s", got)
	}
	for name, link := range map[string]string{"used": first, "older than the password": second,
		"unknown": baseURL + "/oauth/password?link=" + ids.Secret(), "none": baseURL + "/oauth/password"} {
		if s := f.newBrowser().get(link); s.status != http.StatusBadRequest || s.page() != "This link is no longer good" {
			t.Errorf("%s: %d %s", name, s.status, s.page())
		}
	}
	onlyNewPassword(t, f.newBrowser(), c)
	riderLink(t, f)
}

// riderLink checks the link of a rider: its page has the tenant's branding, the
// link expires, and no link is created for an unknown rider.
func riderLink(t *testing.T, f *fixture) {
	t.Helper()
	late := f.newLink(authz.Rider, f.metro.ID, "rita@home.example")
	if s := f.newBrowser().get(late); !strings.Contains(s.body, "Metro Cabs") {
		t.Errorf("a rider's link is not in the tenant's branding: %s", s.text())
	}
	f.advance(login.LinkLife)
	if s := f.newBrowser().get(late); s.page() != "This link is no longer good" {
		t.Errorf("after its time: %s", s.page())
	}
	if _, err := link.New(context.Background(), f.db, baseURL, authz.Rider, f.metro.ID, "nobody@home.example",
		f.now()); !errors.Is(err, fault.NotFound()) {
		t.Errorf("a link for nobody: %v", err)
	}
}
