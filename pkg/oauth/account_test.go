package oauth

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

	"svc/pkg/authz"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/oauth/flow"
)

// tokens goes through the whole flow for the visitor's browser.
func (h *house) tokens(v *visitor, c Client, email string, changes ...string) flow.Tokens {
	h.t.Helper()
	verifier := ids.Secret()
	q := ask(c, changes...)
	q.Set("code_challenge", challengeOf(verifier))
	s := v.through(q, email)
	out, err := flow.Exchange(context.Background(), flow.Options{BaseURL: houseBase, ClientID: c.ID, RedirectURI: q.Get("redirect_uri"), HTTPClient: h.client},
		s.answer.Get("code"), verifier)
	must(h.t, err)
	return out
}

func (h *house) userinfo(token string) (seen, map[string]any) {
	h.t.Helper()
	s := h.visitor().get("/oauth/userinfo", "Authorization", "Bearer "+token)
	var claims map[string]any
	must(h.t, json.Unmarshal([]byte(s.body), &claims))
	return s, claims
}

// OpenID Connect Core section 5.3 and 5.4.
func TestUserinfo(t *testing.T) {
	h := newHouse(t)
	c, rider := h.planner(nil), h.planner(riders)
	drivers := h.planner(func(c *Client) {
		c.Audiences, c.Scopes = []authz.Audience{authz.Driver}, authz.Scopes(authz.Driver)
	})
	for _, test := range []struct {
		name, email, scope string
		client             Client
		want               map[string]any
	}{
		{"openid alone", "ana@metro.example", "openid", c, map[string]any{"sub": h.ana.ID}},
		{"an operator", "ana@metro.example", "openid profile email", c, map[string]any{"sub": h.ana.ID, "name": "Ana Ruiz", "given_name": "Ana",
			"family_name": "Ruiz", "email": "ana@metro.example", "email_verified": false}},
		{"a rider", "rita@home.example", "openid profile email rider.trips:read", rider, map[string]any{"sub": h.rita, "name": "Rita Sol", "given_name": "Rita",
			"family_name": "Sol", "email": "rita@home.example", "email_verified": false}},
		{"a driver", "dan@home.example", "openid profile", drivers, map[string]any{"sub": h.dan, "name": "Dan Vega", "given_name": "Dan", "family_name": "Vega"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			token := h.tokens(h.visitor(), test.client, test.email, "scope", test.scope).AccessToken
			s, claims := h.userinfo(token)
			if diff := cmp.Diff(test.want, claims); s.status != http.StatusOK || diff != "" {
				t.Errorf("%d %s", s.status, diff)
			}
			posted := h.visitor().do(http.MethodPost, "/oauth/userinfo", url.Values{"access_token": {token}})
			if posted.status != http.StatusOK {
				t.Errorf("posted: %d", posted.status)
			}
		})
	}
}

func TestUserinfoRefusals(t *testing.T) {
	h := newHouse(t)
	c := h.planner(nil)
	v := h.visitor()
	tokens := h.tokens(v, c, "ana@metro.example")
	without := h.tokens(v, c, "ana@metro.example", "scope", "tenant.trips:read")
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
		{"without openid", []string{"Authorization", "Bearer " + without.AccessToken}, nil, 403, `error="insufficient_scope", scope="openid"`},
		{"two tokens", []string{"Authorization", "Bearer " + tokens.AccessToken}, url.Values{"access_token": {tokens.AccessToken}}, 400, ""},
	} {
		method := http.MethodGet
		if test.form != nil {
			method = http.MethodPost
		}
		s := h.visitor().do(method, "/oauth/userinfo", test.form, test.header...)
		if s.status != test.status || !strings.Contains(s.header.Get("WWW-Authenticate"), test.want) {
			t.Errorf("%s: %d %q", test.name, s.status, s.header.Get("WWW-Authenticate"))
		}
	}
}

// A person sees the clients she let in and ends them: their tokens die at once.
func TestConnectedApps(t *testing.T) {
	h := newHouse(t)
	c, other := h.planner(nil), h.planner(func(c *Client) { c.Name = "Other" })
	v := h.visitor()
	if got := v.authorize(url.Values{}).status; got != http.StatusBadRequest {
		t.Errorf("no request at all: %d", got)
	}
	first := h.tokens(v, c, "ana@metro.example")
	second := h.tokens(h.visitor(), c, "ana@metro.example") // another device
	third := h.tokens(v, other, "ana@metro.example")
	bobs := h.tokens(h.visitor(), c, "bob@metro.example")
	s := v.get("/oauth/apps")
	if s.status != http.StatusOK || strings.Count(s.body, "<section") != 2 || !strings.Contains(s.body, "Planner") {
		t.Fatalf("%d %s", s.status, s.text())
	}
	_, csrf := s.form(t)
	end := url.Values{"csrf": {csrf}, "client": {c.ID}, "of": {h.metro.ID}}
	for name, change := range map[string][2]string{"no token": {"csrf", ""}, "garbage": {"csrf", "x"}, "another tenant": {"of", "ten_x"}, "a trick": {"client", "a#b"}} {
		form := url.Values{"csrf": {csrf}, "client": {c.ID}, "of": {h.metro.ID}}
		form.Set(change[0], change[1])
		v.do(http.MethodPost, "/oauth/apps", form)
		if s, _ := h.userinfo(first.AccessToken); s.status != http.StatusOK {
			t.Fatalf("%s ended the access", name)
		}
	}
	if s := h.visitor().do(http.MethodPost, "/oauth/apps", end); s.status != http.StatusSeeOther {
		t.Errorf("without a session: %d", s.status)
	}
	s = v.follow(v.do(http.MethodPost, "/oauth/apps", end))
	if s.status != http.StatusOK || strings.Count(s.body, "<section") != 1 || !strings.Contains(s.body, `role="status"`) {
		t.Errorf("%d %s", s.status, s.text())
	}
	for name, test := range map[string]struct {
		token string
		want  int
	}{"the client's": {first.AccessToken, 401}, "the client's on another device": {second.AccessToken, 401},
		"another client's": {third.AccessToken, 200}, "another person's": {bobs.AccessToken, 200}} {
		if s, _ := h.userinfo(test.token); s.status != test.want {
			t.Errorf("%s: %d, want %d", name, s.status, test.want)
		}
	}
	if _, err := flow.Refresh(context.Background(), flow.Options{BaseURL: houseBase, ClientID: c.ID, HTTPClient: h.client}, first.RefreshToken); err == nil {
		t.Error("the refresh token lives")
	}
	if got := v.authorize(ask(c)).page(); got != "consent" {
		t.Errorf("the client again: %s", got)
	}
}

// The page signs people in by itself.
func TestConnectedAppsSignIn(t *testing.T) {
	h := newHouse(t)
	h.tokens(h.visitor(), h.planner(riders), "rita@home.example", "scope", "rider.trips:read")
	for _, test := range []struct{ query, email, want string }{
		{"", "ana@metro.example", "No application"},
		{"?audience=rider&tenant_hint=metro", "rita@home.example", "see your trips"},
	} {
		v := h.visitor()
		s := v.get("/oauth/apps" + test.query)
		if s.page() != "sign-in" {
			t.Fatalf("%s: %s", test.query, s.text())
		}
		if s = v.enter(s, test.email); !strings.Contains(s.body, test.want) {
			t.Errorf("%s: %d %s", test.query, s.status, s.text())
		}
		again := h.visitor()
		action, _ := again.get("/oauth/apps" + test.query).form(t)
		if s := again.do(http.MethodPost, "/oauth/"+action, url.Values{"email": {test.email}, "password": {secretWords}}); s.cookie("__Host-svc-session") != nil {
			t.Errorf("%s: signed in without the form's token", test.query)
		}
	}
	for query, want := range map[string]string{"?audience=rider": "This request cannot be answered", "?audience=x": "This request cannot be answered",
		"?audience=rider&tenant_hint=nobody": "Unknown company"} {
		if got := h.visitor().get("/oauth/apps" + query).page(); got != want {
			t.Errorf("%s: %s", query, got)
		}
	}
}

// OpenID Connect RP-Initiated Logout.
func TestLogout(t *testing.T) {
	h := newHouse(t)
	c := h.planner(nil)
	bye := url.Values{"post_logout_redirect_uri": {"https://planner.example/bye"}, "state": {"x y"}, "client_id": {c.ID}}.Encode()
	for _, test := range []struct {
		name, query string
		hint        bool
		want        string // page or location
		asks        bool
	}{
		{"a hint ends it at once", bye, true, "https://planner.example/bye?state=x+y", false},
		{"without a hint the person is asked", bye, false, "https://planner.example/bye?state=x+y", true},
		{"no client", "", false, "You are signed out", true},
		{"a hint alone", "", true, "You are signed out", false},
		{"an address that is not registered", "client_id=" + c.ID + "&post_logout_redirect_uri=https://evil.example/", true, "Unknown return address", false},
		{"an address without a client", "post_logout_redirect_uri=https://planner.example/bye", false, "Unknown application", false},
		{"a hint that is no id_token", "id_token_hint=eyJ", false, "This request cannot be answered", false},
		{"another client's hint", "client_id=cli_x", true, "This request cannot be answered", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := h.visitor()
			tokens := h.tokens(v, c, "ana@metro.example")
			query := test.query
			if test.hint {
				query += "&id_token_hint=" + tokens.IDToken
			}
			s := v.get("/oauth/logout?" + strings.TrimPrefix(query, "&"))
			if (s.page() == "Sign out?") != test.asks {
				t.Fatalf("got %s", s.text())
			}
			if test.asks {
				if got := v.authorize(ask(c)).page(); got != "code" {
					t.Fatalf("signed out before the person agreed: %s", got)
				}
				form := url.Values{}
				for _, m := range hiddenInput.FindAllStringSubmatch(s.body, -1) {
					form.Set(m[1], m[2])
				}
				s = v.do(http.MethodPost, "/oauth/logout", form)
			}
			if got := s.page(); got != test.want && s.location != test.want {
				t.Fatalf("got %q %q, want %q", got, s.location, test.want)
			}
			want := "sign-in"
			if strings.HasPrefix(test.want, "U") || strings.HasPrefix(test.want, "T") {
				want = "code"
			}
			if got := v.authorize(ask(c)).page(); got != want {
				t.Errorf("afterwards: %s, want %s", got, want)
			}
		})
	}
	v := h.visitor()
	h.tokens(v, c, "ana@metro.example")
	if s := v.do(http.MethodPost, "/oauth/logout", url.Values{}); v.follow(s).page() != "Sign out?" {
		t.Errorf("a post of another site: %d %s", s.status, s.text())
	}
}

// hasApp says whether the page lists a client.
func hasApp(s seen) bool { return strings.Contains(s.body, "<section") }

// A one-time link sets the password once; every session is over.
func TestPasswordLink(t *testing.T) {
	h := newHouse(t)
	ctx, c := context.Background(), h.planner(nil)
	newLink := func(audience authz.Audience, tenantID, email string) string {
		t.Helper()
		link, err := NewLink(ctx, h.db, houseBase, audience, tenantID, email, h.clock())
		must(t, err)
		return link
	}
	signedIn := h.visitor()
	signedIn.through(ask(c), "ana@metro.example")
	h.pass(time.Second)
	first, second := newLink(authz.Dashboard, "", "ana@metro.example"), newLink(authz.Dashboard, "", "Ana@metro.example")
	v := h.visitor()
	page := v.get(first)
	if page.status != http.StatusOK || !strings.Contains(page.body, "Choose a new password") || v.get(first).status != http.StatusOK {
		t.Fatalf("%d %s", page.status, page.text())
	}
	for _, wrong := range []struct{ name, one, two, want string }{
		{"short", "short", "short", "too short"}, {"different", "a long enough one", "another long one", "not the same"},
		{"long", strings.Repeat("x", 1100), strings.Repeat("x", 1100), "too long"}, {"the address", "ANA@metro.example", "ANA@metro.example", "must not be"},
	} {
		if s := v.post(page, "password", wrong.one, "again", wrong.two); s.status != http.StatusBadRequest || !strings.Contains(s.body, wrong.want) {
			t.Errorf("%s: %d %s", wrong.name, s.status, s.text())
		}
	}
	action, _ := page.form(t)
	if s := h.visitor().do(http.MethodPost, "/oauth/"+action, url.Values{"password": {"a new long password"}, "again": {"a new long password"}}); s.status != http.StatusSeeOther {
		t.Errorf("without the form's token: %d", s.status)
	}
	s := v.post(page, "password", "a new long password", "again", "a new long password")
	if s.status != http.StatusOK || s.page() != "Your password is saved" {
		t.Fatalf("%d %s", s.status, s.text())
	}
	if got := signedIn.authorize(ask(c)).page(); got != "sign-in" {
		t.Errorf("the session before: %s", got)
	}
	for name, link := range map[string]string{"used": first, "older than the password": second, "unknown": houseBase + "/oauth/password?link=" + ids.Secret(), "none": houseBase + "/oauth/password"} {
		if s := h.visitor().get(link); s.status != http.StatusBadRequest || s.page() != "This link is no longer good" {
			t.Errorf("%s: %d %s", name, s.status, s.page())
		}
	}
	v = h.visitor()
	if s := v.post(v.authorize(ask(c)), "email", "ana@metro.example", "password", secretWords); s.status != http.StatusBadRequest {
		t.Errorf("the old password: %d", s.status)
	}
	if s := v.post(v.authorize(ask(c)), "email", "ana@metro.example", "password", "a new long password"); s.status != http.StatusSeeOther {
		t.Errorf("the new password: %d", s.status)
	}
	late := newLink(authz.Rider, h.metro.ID, "rita@home.example")
	if s := h.visitor().get(late); !strings.Contains(s.body, "Metro Cabs") {
		t.Errorf("a rider's link is not in the tenant's branding: %s", s.text())
	}
	h.pass(LinkLife)
	if s := h.visitor().get(late); s.page() != "This link is no longer good" {
		t.Errorf("after its time: %s", s.page())
	}
	if _, err := NewLink(ctx, h.db, houseBase, authz.Rider, h.metro.ID, "nobody@home.example", h.clock()); !errors.Is(err, fault.NotFound()) {
		t.Errorf("a link for nobody: %v", err)
	}
}
