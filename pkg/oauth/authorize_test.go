package oauth

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"svc/pkg/authz"
)

// A fault of client or redirect URI is a page, never a redirect (RFC 6749
// section 4.1.2.1); any other is a redirect with error, state and iss.
func TestAuthorizeFaults(t *testing.T) {
	h := newHouse(t)
	c := h.planner(nil)
	rider := h.planner(riders)
	both := h.planner(func(c *Client) {
		c.Audiences = []authz.Audience{authz.Dashboard, authz.Rider}
		c.Scopes = append(authz.Scopes(authz.Dashboard), authz.Scopes(authz.Rider)...)
	})
	disabled := h.planner(func(c *Client) { c.Disabled = true })
	bob := h.visitor() // who is signed in: a stranger is sent nowhere
	bob.through(ask(h.planner(nil)), "bob@metro.example")
	for _, test := range []struct {
		name string
		q    url.Values
		add  string // to the encoded query
		want string // title of a page or error of a redirect
	}{
		{"no client", ask(c, "client_id", ""), "", "This request cannot be answered"},
		{"unknown client", ask(c, "client_id", "cli_01J00000000000000000000000"), "", "Unknown application"},
		{"client with separators", ask(c, "client_id", "cli_#x"), "", "Unknown application"},
		{"disabled client", ask(disabled), "", "Unknown application"},
		{"client twice", ask(c), "&client_id=" + c.ID, "This request cannot be answered"},
		{"no redirect URI", ask(c, "redirect_uri", ""), "", "This request cannot be answered"},
		{"redirect URI twice", ask(c), "&redirect_uri=https://evil.example", "This request cannot be answered"},
		{"unknown redirect URI", ask(c, "redirect_uri", "https://evil.example/cb"), "", "Unknown return address"},
		{"malformed query", ask(c), "&a=%zz", "This request cannot be answered"},
		{"too long", ask(c, "x", strings.Repeat("a", longestQuery)), "", "This request cannot be answered"},
		{"unknown tenant", ask(c, "tenant_hint", "nobody"), "", "Unknown company"},
		{"tenant that is no slug", ask(c, "tenant_hint", "../x"), "", "Unknown company"},

		{"RFC 6749 3.1: repeated parameter", ask(c), "&scope=openid", "invalid_request"},
		{"RFC 6749 3.1: repeated state", ask(c), "&state=other", "invalid_request"},
		{"RFC 6749 3.1: repeated nonce", ask(c), "&nonce=a&nonce=b", "invalid_request"},
		{"RFC 6749 3.1: empty is omitted", ask(c), "&nonce=&prompt=", "consent"},
		{"RFC 6749 3.1: unknown is ignored", ask(c), "&x=1&x=2", "consent"},
		{"RFC 6749 4.1.2.1: no response_type", ask(c, "response_type", ""), "", "invalid_request"},
		{"RFC 6749 4.1.2.1: token", ask(c, "response_type", "token"), "", "unsupported_response_type"},
		{"hybrid", ask(c, "response_type", "code id_token"), "", "unsupported_response_type"},
		{"fragment", ask(c, "response_mode", "fragment"), "", "invalid_request"},
		{"query", ask(c, "response_mode", "query"), "", "consent"},
		{"RFC 7636 4.4.1: no challenge", ask(c, "code_challenge", ""), "", "invalid_request"},
		{"RFC 7636: plain", ask(c, "code_challenge_method", "plain"), "", "invalid_request"},
		{"RFC 7636: no method is plain", ask(c, "code_challenge_method", ""), "", "invalid_request"},
		{"RFC 7636: short challenge", ask(c, "code_challenge", "abc"), "", "invalid_request"},
		{"RFC 7636: other characters", ask(c, "code_challenge", strings.Repeat("+", 43)), "", "invalid_request"},
		{"RFC 8707: the API", ask(c, "resource", houseBase+"/api/v1"), "", "consent"},
		{"RFC 8707: another", ask(c, "resource", "https://other.example/"), "", "invalid_target"},
		{"RFC 8707: one of two", ask(c, "resource", houseBase+"/api/v1"), "&resource=https://other.example/", "invalid_target"},
		{"OIDC: request object", ask(c, "request", "eyJ"), "", "request_not_supported"},
		{"OIDC: request_uri", ask(c, "request_uri", "https://planner.example/r"), "", "request_uri_not_supported"},
		{"OIDC: registration", ask(c, "registration", "{}"), "", "registration_not_supported"},
		{"OIDC: unknown prompt", ask(c, "prompt", "dance"), "", "invalid_request"},
		{"OIDC: none and login", ask(c, "prompt", "none login"), "", "invalid_request"},
		{"OIDC: max_age", ask(c, "max_age", "-1"), "", "invalid_request"},
		{"OIDC: max_age in words", ask(c, "max_age", "1h"), "", "invalid_request"},
		{"unknown scope", ask(c, "scope", "everything"), "", "invalid_scope"},
		{"unknown scope beside another", ask(c, "scope", "offline_access openid"), "", "consent"},
		{"scope of another audience", ask(c, "scope", "rider.trips:read"), "", "invalid_scope"},
		{"two audiences", ask(both, "scope", "rider.trips:read tenant.trips:read"), "", "invalid_scope"},
		{"no scope, two audiences", ask(both, "scope", ""), "", "invalid_scope"},
		{"no scope, one audience", ask(c, "scope", ""), "", "consent"},
		{"OIDC scopes, two audiences", ask(both, "scope", "openid"), "", "invalid_scope"},
		{"OIDC scopes, one audience", ask(c, "scope", "openid"), "", "consent"},
		{"rider without tenant_hint", ask(rider, "scope", "rider.trips:read", "tenant_hint", ""), "", "invalid_request"},
		{"operator without tenant_hint", ask(c, "tenant_hint", ""), "", "consent"},
		{"long state", ask(c, "state", strings.Repeat("s", longestState+1)), "", "invalid_request"},
		{"long nonce", ask(c, "nonce", strings.Repeat("n", longestNonce+1)), "", "invalid_request"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := bob.get("/oauth/authorize?" + test.q.Encode() + test.add)
			if got := s.page(); got != test.want {
				t.Fatalf("got %q (%d), want %q", got, s.status, test.want)
			}
			switch {
			case s.location == "":
				if s.header.Get("Content-Security-Policy") == "" || s.header.Get("Cache-Control") != "no-store" {
					t.Error("the page lacks its headers")
				}
			case s.status != http.StatusSeeOther || !strings.HasPrefix(s.location, callback+"?"):
				t.Errorf("%d to %s", s.status, s.location)
			default:
				wantState := "s-1"
				if strings.Contains(test.name, "state") {
					wantState = ""
				}
				if s.answer.Get("iss") != houseBase || s.answer.Get("state") != wantState || s.answer.Get("error_description") == "" {
					t.Errorf("answer %v", s.answer)
				}
			}
		})
	}
}

// RFC 9700 section 4.1: addresses that look like a registered one.
func TestRedirectTricks(t *testing.T) {
	registered := []string{"https://planner.example/cb", "https://planner.example/cb?app=1", "http://127.0.0.1/callback", "http://[::1]:5000/cb",
		"com.example.planner:/cb", "http://localhost:8000/cb"}
	for uri, want := range map[string]bool{
		"https://planner.example/cb":                   true,
		"https://planner.example/cb?app=1":             true,
		"com.example.planner:/cb":                      true,
		"http://127.0.0.1/callback":                    true,
		"http://127.0.0.1:1/callback":                  true,
		"http://127.0.0.1:65535/callback":              true,
		"http://[::1]/cb":                              true,
		"http://[::1]:61023/cb":                        true,
		"http://localhost:8000/cb":                     true,
		"http://localhost:8001/cb":                     false,
		"http://127.0.0.1:0/callback":                  false,
		"http://127.0.0.1:65536/callback":              false,
		"http://127.0.0.1:80:80/callback":              false,
		"http://127.0.0.1:/callback":                   false,
		"http://127.0.0.1@evil.example/callback":       false,
		"http://127.0.0.1:80@evil.example/callback":    false,
		"http://127.0.0.1.evil.example/callback":       false,
		"http://127.0.0.1:9000/callback/../other":      false,
		"http://127.0.0.1:9000/callback?x=1":           false,
		"http://127.0.0.1:9000/callback#x":             false,
		"https://127.0.0.1:9000/callback":              false,
		"http://127.1/callback":                        false,
		"http://0x7f.0.0.1/callback":                   false,
		"http://[0:0:0:0:0:0:0:1]/cb":                  false,
		"https://planner.example/cb/":                  false,
		"https://planner.example/CB":                   false,
		"https://planner.example//cb":                  false,
		"https://planner.example/x/../cb":              false,
		"https://planner.example/cb/..":                false,
		"https://planner.example/%63b":                 false,
		"https://planner.example/cb%2f..":              false,
		"https://planner.example/cb%00":                false,
		"https://planner.example/cb#":                  false,
		"https://planner.example/cb#x":                 false,
		"https://planner.example/cb?":                  false,
		"https://planner.example/cb?app=1&x=2":         false,
		"https://planner.example/cb?app=2":             false,
		"https://planner.example:443/cb":               false,
		"https://planner.example./cb":                  false,
		"https://PLANNER.example/cb":                   false,
		"HTTPS://planner.example/cb":                   false,
		"http://planner.example/cb":                    false,
		"https://a.planner.example/cb":                 false,
		"https://planner.example.evil.example/cb":      false,
		"https://planner.example@evil.example/cb":      false,
		"https://user@planner.example/cb":              false,
		"https://evil.example/https://planner.example": false,
		"https://evil.example\\@planner.example/cb":    false,
		"https://planner.example\\.evil.example/cb":    false,
		" https://planner.example/cb":                  false,
		"https://planner.example/cb ":                  false,
		"https://planner.example/cb\r\nX: y":           false,
		"//planner.example/cb":                         false,
		"/cb":                                          false,
		"javascript:alert(1)":                          false,
		"data:text/html,x":                             false,
		"com.example.planner://cb":                     false,
		"com.example.plannerx:/cb":                     false,
		"":                                             false,
	} {
		if got := redirectAllowed(registered, uri); got != want {
			t.Errorf("%q: %v, want %v", uri, got, want)
		}
	}
}

func FuzzRedirect(f *testing.F) {
	f.Add("http://127.0.0.1:80/callback")
	f.Add("https://planner.example/cb")
	f.Fuzz(func(t *testing.T, uri string) {
		if !redirectAllowed([]string{"https://planner.example/cb", "http://127.0.0.1/callback"}, uri) {
			return
		}
		u, err := url.Parse(uri)
		if err != nil || u.User != nil || u.Fragment != "" || (u.Hostname() != "planner.example" && u.Hostname() != "127.0.0.1") {
			t.Errorf("%q is taken", uri)
		}
	})
}

func FuzzRequest(f *testing.F) {
	f.Add("client_id=a&redirect_uri=b&state=c&prompt=none&max_age=1&scope=openid")
	f.Fuzz(func(t *testing.T, raw string) {
		a, err := parseRequest(raw)
		if err != nil {
			return
		}
		if a.clientID == "" || a.redirectURI == "" || len(a.state) > longestState {
			t.Errorf("%q: %+v", raw, a)
		}
		if a.read() == nil && (!s256.MatchString(a.challenge) || a.maxAge < 0 || (a.asks("none") && len(a.prompt) != 1)) {
			t.Errorf("%q: %+v", raw, a)
		}
		if _, err := parseRequest(a.query.Encode()); err != nil && len(a.query.Encode()) <= longestQuery {
			t.Errorf("%q is not read again: %v", raw, err)
		}
	})
}

// The answer keeps a query of the redirect URI and says code, state and iss.
func TestAuthorizeAnswer(t *testing.T) {
	h := newHouse(t)
	c := h.planner(func(c *Client) { c.RedirectURIs = []string{callback + "?app=1&b=x%20y"} })
	v := h.visitor()
	for _, status := range []int{http.StatusOK, http.StatusSeeOther} { // after the form of the consent, then without one
		s := v.through(ask(c, "state", "a b&c=d"), "bob@metro.example")
		if s.status != status || !strings.HasPrefix(s.location, callback+"?app=1&b=x%20y&") || s.answer.Get("state") != "a b&c=d" || s.answer.Get("iss") != houseBase {
			t.Errorf("%d %s", s.status, s.location)
		}
		if s.header.Get("Referrer-Policy") != "no-referrer" || s.header.Get("Cache-Control") != "no-store" {
			t.Errorf("headers %v", s.header)
		}
		if status == http.StatusOK && !strings.Contains(html.UnescapeString(s.body), s.location) {
			t.Errorf("no link on the page: %s", s.body)
		}
	}
}

// OpenID Connect Core section 3.1.2.1: authorize takes POST too.
func TestAuthorizeByPost(t *testing.T) {
	h := newHouse(t)
	c := h.planner(nil)
	v := h.visitor()
	s := v.do(http.MethodPost, "/oauth/authorize", ask(c))
	if s.status != http.StatusSeeOther || !strings.HasPrefix(s.location, "authorize?") {
		t.Fatalf("%d to %s", s.status, s.location)
	}
	if got := v.follow(s).page(); got != "sign-in" {
		t.Errorf("then %s", got)
	}
	twice := v.follow(v.do(http.MethodPost, "/oauth/authorize?client_id="+c.ID, ask(c)))
	if got := twice.page(); got != "This request cannot be answered" {
		t.Errorf("client_id in query and body: %s", got)
	}
	large := v.do(http.MethodPost, "/oauth/authorize", url.Values{"x": {strings.Repeat("a", maxBody+1)}})
	if large.status != http.StatusRequestEntityTooLarge {
		t.Errorf("too large a body: %d", large.status)
	}
}

// The tenant's own domain is where its people sign in; no header that a caller
// sets leads anywhere else.
func TestCustomDomain(t *testing.T) {
	h := newHouse(t)
	c := h.planner(riders)
	q := ask(c, "scope", "rider.trips:read", "tenant_hint", "nova")
	s := h.visitor().get("/oauth/authorize?" + q.Encode())
	if want := "https://ride.nova.example/oauth/authorize?" + q.Encode(); s.status != http.StatusFound || s.location != want {
		t.Fatalf("%d to %s", s.status, s.location)
	}
	v := h.visitor()
	v.host = "https://ride.nova.example"
	answer := v.through(q, "rita@home.example")
	if !strings.HasPrefix(answer.location, callback) || answer.answer.Get("iss") != houseBase {
		t.Errorf("to %s", answer.location)
	}
	for name, header := range map[string][]string{
		"Host":             {"Host", "evil.example"},
		"Host with port":   {"Host", "evil.example:443"},
		"X-Forwarded-Host": {"X-Forwarded-Host", "ride.nova.example"},
		"Forwarded":        {"Forwarded", "host=ride.nova.example;proto=http"},
		"X-Original-Host":  {"X-Original-Host", "evil.example"},
		"X-Forwarded-For":  {"X-Forwarded-Proto", "http"},
	} {
		s := h.visitor().get("/oauth/authorize?"+q.Encode(), header...)
		if s.status != http.StatusFound || !strings.HasPrefix(s.location, "https://ride.nova.example/oauth/authorize?") {
			t.Errorf("%s: %d to %s", name, s.status, s.location)
		}
		if s := h.visitor().get("/oauth/authorize?"+ask(h.planner(nil)).Encode(), header...); strings.Contains(s.body+s.location, "evil.example") {
			t.Errorf("%s is in the answer: %s", name, s.text())
		}
		if s := h.visitor().get("/.well-known/openid-configuration", header...); strings.Contains(s.body, "evil.example") || strings.Contains(s.body, "nova.example") {
			t.Errorf("%s is in the discovery document", name)
		}
	}
}

// Every answer has the request's id, the caller's own when it is a sane one.
func TestRequestID(t *testing.T) {
	h := newHouse(t)
	for _, path := range []string{"/oauth/authorize", "/oauth/userinfo", "/oauth/nothing", "/.well-known/openid-configuration"} {
		if got := h.visitor().get(path, "X-Request-Id", "mine-1").header.Get("X-Request-Id"); got != "mine-1" {
			t.Errorf("%s: %q", path, got)
		}
		if got := h.visitor().get(path, "X-Request-Id", "<b>").header.Get("X-Request-Id"); !strings.HasPrefix(got, "req_") {
			t.Errorf("%s, not a sane one: %q", path, got)
		}
	}
}

// A table that cannot be reached is a page that says no more than that.
func TestBrokenTable(t *testing.T) {
	h := newHouse(t)
	c := h.planner(nil)
	v := h.visitor()
	form := v.authorize(ask(c))
	h.wire.Break()
	for name, s := range map[string]seen{"authorize": v.authorize(ask(c)), "sign-in": v.post(form, "email", "ana@metro.example", "password", secretWords)} {
		if s.status != http.StatusServiceUnavailable || s.header.Get("Retry-After") == "" || s.page() != "Something went wrong" || strings.Contains(s.body, "wire") {
			t.Errorf("%s: %d %s", name, s.status, s.text())
		}
	}
}
