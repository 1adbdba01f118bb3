package oauth_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/oauth/link"
)

// authorizeFault is an authorization request and its expected result.
type authorizeFault struct {
	name string
	q    url.Values
	add  string // appended to the encoded query
	want string // title of a page or error of a redirect
}

// clientFaults are faults of client, redirect URI or tenant.
func clientFaults(c, disabled client) []authorizeFault {
	return []authorizeFault{
		{"no client", authorization(c, "client_id", ""), "", "This request cannot be answered"},
		{"unknown client", authorization(c, "client_id", "cli_01J00000000000000000000000"), "", "Unknown application"},
		{"client with separators", authorization(c, "client_id", "cli_#x"), "", "Unknown application"},
		{"disabled client", authorization(disabled), "", "Unknown application"},
		{"client twice", authorization(c), "&client_id=" + c.ID, "This request cannot be answered"},
		{"no redirect URI", authorization(c, "redirect_uri", ""), "", "This request cannot be answered"},
		{"redirect URI twice", authorization(c), "&redirect_uri=https://evil.example", "This request cannot be answered"},
		{"unknown redirect URI", authorization(c, "redirect_uri", "https://evil.example/cb"), "", "Unknown return address"},
		{"unknown tenant", authorization(c, "tenant_hint", "nobody"), "", "Unknown company"},
		{"tenant that is no slug", authorization(c, "tenant_hint", "../x"), "", "Unknown company"},
	}
}

// parameterFaults are faults of the parameters of RFC 6749, 7636 and 8707, and
// of parameters that are too long.
func parameterFaults(c client) []authorizeFault {
	return []authorizeFault{
		{"malformed query", authorization(c), "&a=%zz", "invalid_request"},
		{"a semicolon in the query", authorization(c), "&a=b;c=d", "invalid_request"},
		{"too long", authorization(c, "x", strings.Repeat("a", 7000)), "", "invalid_request"},
		{"RFC 6749 3.1: repeated parameter", authorization(c), "&scope=openid", "invalid_request"},
		{"RFC 6749 3.1: repeated state", authorization(c), "&state=other", "invalid_request"},
		{"RFC 6749 3.1: repeated nonce", authorization(c), "&nonce=a&nonce=b", "invalid_request"},
		{"RFC 6749 3.1: empty is omitted", authorization(c), "&nonce=&prompt=", "consent"},
		{"RFC 6749 3.1: unknown is ignored", authorization(c), "&x=1&x=2", "consent"},
		{"RFC 6749 4.1.2.1: no response_type", authorization(c, "response_type", ""), "", "invalid_request"},
		{"RFC 6749 4.1.2.1: token", authorization(c, "response_type", "token"), "", "unsupported_response_type"},
		{"hybrid", authorization(c, "response_type", "code id_token"), "", "unsupported_response_type"},
		{"fragment", authorization(c, "response_mode", "fragment"), "", "invalid_request"},
		{"query", authorization(c, "response_mode", "query"), "", "consent"},
		{"RFC 7636 4.4.1: no challenge", authorization(c, "code_challenge", ""), "", "invalid_request"},
		{"RFC 7636: plain", authorization(c, "code_challenge_method", "plain"), "", "invalid_request"},
		{"RFC 7636: no method is plain", authorization(c, "code_challenge_method", ""), "", "invalid_request"},
		{"RFC 7636: short challenge", authorization(c, "code_challenge", "abc"), "", "invalid_request"},
		{"RFC 7636: other characters", authorization(c, "code_challenge", strings.Repeat("+", 43)), "", "invalid_request"},
		{"RFC 8707: the API", authorization(c, "resource", baseURL+"/api/v1"), "", "consent"},
		{"RFC 8707: another", authorization(c, "resource", "https://other.example/"), "", "invalid_target"},
		{"RFC 8707: one of two", authorization(c, "resource", baseURL+"/api/v1"), "&resource=https://other.example/",
			"invalid_target"},
		{"long state", authorization(c, "state", strings.Repeat("s", 4097)), "", "invalid_request"},
		{"long nonce", authorization(c, "nonce", strings.Repeat("n", 513)), "", "invalid_request"},
	}
}

// openIDFaults returns faults of the parameters of OpenID Connect.
func openIDFaults(c client) []authorizeFault {
	return []authorizeFault{
		{"OIDC: request object", authorization(c, "request", "eyJ"), "", "request_not_supported"},
		{"OIDC: request_uri", authorization(c, "request_uri", "https://planner.example/r"), "", "request_uri_not_supported"},
		{"OIDC: registration", authorization(c, "registration", "{}"), "", "registration_not_supported"},
		{"OIDC: unknown prompt", authorization(c, "prompt", "dance"), "", "invalid_request"},
		{"OIDC: none and login", authorization(c, "prompt", "none login"), "", "invalid_request"},
		{"OIDC: max_age", authorization(c, "max_age", "-1"), "", "invalid_request"},
		{"OIDC: max_age in words", authorization(c, "max_age", "1h"), "", "invalid_request"},
	}
}

// scopeFaults are faults of scope and tenant_hint, for clients of operators, of
// riders and of both.
func scopeFaults(c, rider, both client) []authorizeFault {
	return []authorizeFault{
		{"unknown scope", authorization(c, "scope", "everything"), "", "invalid_scope"},
		{"unknown scope beside another", authorization(c, "scope", "offline_access openid"), "", "consent"},
		{"scope of another audience", authorization(c, "scope", "rider.trips:read"), "", "invalid_scope"},
		{"scope of another audience beside one", authorization(c, "scope", "rider.trips:read tenant.trips:read"), "",
			"consent"},
		{"two audiences", authorization(both, "scope", "rider.trips:read tenant.trips:read"), "", "invalid_scope"},
		{"no scope, two audiences", authorization(both, "scope", ""), "", "invalid_scope"},
		{"no scope, one audience", authorization(c, "scope", ""), "", "consent"},
		{"OIDC scopes, two audiences", authorization(both, "scope", "openid"), "", "As what do you sign in?"},
		{"OIDC scopes, two audiences, no page", authorization(both, "scope", "openid", "prompt", "none"), "",
			"account_selection_required"},
		{"OIDC scopes, a chosen audience", authorization(both, "scope", "openid", "audience", "dashboard"), "", "consent"},
		{"OIDC scopes, an audience of nobody", authorization(both, "scope", "openid", "audience", "https://api.example"), "",
			"As what do you sign in?"},
		{"OIDC scopes, an audience that is not registered", authorization(both, "scope", "openid", "audience", "driver"), "",
			"As what do you sign in?"},
		{"an audience against the scopes", authorization(both, "audience", "rider"), "", "consent"},
		{"OIDC scopes, one audience", authorization(c, "scope", "openid"), "", "consent"},
		{"rider without tenant_hint", authorization(rider, "scope", "rider.trips:read", "tenant_hint", ""), "",
			"Which company?"},
		{"rider without tenant_hint or page", authorization(rider, "scope", "rider.trips:read", "tenant_hint", "", "prompt",
			"none"), "", "account_selection_required"},
		{"operator without tenant_hint", authorization(c, "tenant_hint", ""), "", "consent"},
	}
}

// check sends the request with a signed-in browser and checks the response.
func (test authorizeFault) check(t *testing.T, b *browser) {
	t.Helper()
	s := b.get("/oauth/authorize?" + test.q.Encode() + test.add)
	if got := s.page(); got != test.want {
		t.Fatalf("got %q (%d), want %q", got, s.status, test.want)
	}
	switch {
	case s.location == "":
		if s.header.Get("Content-Security-Policy") == "" || s.header.Get("Cache-Control") != "no-store" {
			t.Error("the page lacks its headers")
		}
	case s.status != http.StatusSeeOther || !strings.HasPrefix(s.location, plannerCallback+"?"):
		t.Errorf("%d to %s", s.status, s.location)
	default:
		wantState := "s-1"
		if strings.Contains(test.name, "state") {
			wantState = ""
		}
		if s.answer.Get("iss") != baseURL || s.answer.Get("state") != wantState || s.answer.Get("error_description") == "" {
			t.Errorf("answer %v", s.answer)
		}
	}
}

// A fault of client or redirect URI leads to a page, never to a redirect (RFC
// 6749 section 4.1.2.1). Any other fault leads to a redirect with error, state
// and iss.
func TestAuthorizeFaults(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	rider := f.storeClient(forRiders)
	both := f.storeClient(func(c *client) {
		c.Audiences = []authz.Audience{authz.Dashboard, authz.Rider}
		c.Scopes = append(authz.Scopes(authz.Dashboard), authz.Scopes(authz.Rider)...)
	})
	disabled := f.storeClient(func(c *client) { c.Disabled = true })
	bob := f.newBrowser() // who is signed in: a stranger is sent nowhere
	bob.obtainCode(authorization(f.storeClient(nil)), "bob@metro.example")
	for _, test := range slices.Concat(clientFaults(c, disabled), parameterFaults(c), openIDFaults(c),
		scopeFaults(c, rider, both)) {
		t.Run(test.name, func(t *testing.T) { test.check(t, bob) })
	}
}

// The response keeps the query of the redirect URI and adds code, state and
// iss.
func TestAuthorizeAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(func(c *client) { c.RedirectURIs = []string{plannerCallback + "?app=1&b=x%20y"} })
	b := f.newBrowser()
	for _, status := range []int{http.StatusOK, http.StatusSeeOther} { // after the form of the consent, then without one
		s := b.obtainCode(authorization(c, "state", "a b&c=d"), "bob@metro.example")
		if s.status != status || !strings.HasPrefix(s.location, plannerCallback+"?app=1&b=x%20y&") ||
			s.answer.Get("state") != "a b&c=d" || s.answer.Get("iss") != baseURL {
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

// OpenID Connect Core section 3.1.2.1: the authorization endpoint accepts POST
// too.
func TestAuthorizeByPost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	b := f.newBrowser()
	s := b.do(http.MethodPost, "/oauth/authorize", authorization(c))
	if s.status != http.StatusSeeOther || !strings.HasPrefix(s.location, "authorize?") {
		t.Fatalf("%d to %s", s.status, s.location)
	}
	if got := b.follow(s).page(); got != "sign-in" {
		t.Errorf("then %s", got)
	}
	twice := b.follow(b.do(http.MethodPost, "/oauth/authorize?client_id="+c.ID, authorization(c)))
	if got := twice.page(); got != "This request cannot be answered" {
		t.Errorf("client_id in query and body: %s", got)
	}
	large := b.do(http.MethodPost, "/oauth/authorize", url.Values{"x": {strings.Repeat("a", 64<<10+1)}})
	if large.status != http.StatusRequestEntityTooLarge {
		t.Errorf("too large a body: %d", large.status)
	}
}

// People sign in at their tenant's own domain, and no header of a caller can
// redirect them to another host.
func TestCustomDomain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(forRiders)
	q := authorization(c, "scope", "rider.trips:read", "tenant_hint", "nova")
	s := f.newBrowser().get("/oauth/authorize?" + q.Encode())
	if want := "https://ride.nova.example/oauth/authorize?" + q.Encode(); s.status != http.StatusFound ||
		s.location != want {
		t.Fatalf("%d to %s", s.status, s.location)
	}
	b := f.newBrowser()
	b.base = novaURL
	answer := b.obtainCode(q, "rita@home.example")
	if !strings.HasPrefix(answer.location, plannerCallback) || answer.answer.Get("iss") != baseURL {
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
		s := f.newBrowser().get("/oauth/authorize?"+q.Encode(), header...)
		if s.status != http.StatusFound || !strings.HasPrefix(s.location, "https://ride.nova.example/oauth/authorize?") {
			t.Errorf("%s: %d to %s", name, s.status, s.location)
		}
		if s := f.newBrowser().get("/oauth/authorize?"+authorization(f.storeClient(nil)).Encode(),
			header...); strings.Contains(s.body+s.location, "evil.example") {
			t.Errorf("%s is in the answer: %s", name, s.text())
		}
		if s := f.newBrowser().get("/.well-known/openid-configuration", header...); strings.Contains(s.body,
			"evil.example") || strings.Contains(s.body, "nova.example") {
			t.Errorf("%s is in the discovery document", name)
		}
	}
}

// Every response has the request's id: the caller's own if it is valid.
func TestRequestID(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, path := range []string{"/oauth/authorize", "/oauth/userinfo", "/oauth/nothing",
		"/.well-known/openid-configuration"} {
		if got := f.newBrowser().get(path, "X-Request-Id", "mine-1").header.Get("X-Request-Id"); got != "mine-1" {
			t.Errorf("%s: %q", path, got)
		}
		if got := f.newBrowser().get(path, "X-Request-Id", "<b>").header.Get("X-Request-Id"); !strings.HasPrefix(got,
			"req_") {
			t.Errorf("%s, not a sane one: %q", path, got)
		}
	}
}

// If the table is unavailable, a page has the status 503, keeps what was typed
// except the password, and offers to try again.
func TestBrokenTable(t *testing.T) {
	t.Parallel()
	f, _ := newFixtureWithMail(t)
	c, b := f.storeClient(nil), f.newBrowser()
	link, err := link.New(t.Context(), f.db, baseURL, authz.Dashboard, "", "bob@metro.example", f.now())
	testkit.Must(t, err)
	const words = "another battery staple"
	signIn, reset := b.authorize(authorization(c)), b.get(link)
	forgot := b.get("/oauth/forgot?audience=dashboard")
	hers := f.newBrowser()
	consent := hers.signIn(hers.authorize(authorization(c)), "ana@metro.example")
	f.wire.Break()
	for _, test := range []struct {
		name       string
		got        response
		keeps, not string
	}{
		{"authorize", b.get(signIn.at.String()), `href="authorize?client_id=`, "<form"},
		{"sign-in", b.post(signIn, "email", "ana@metro.example", "password", password), `"ana@metro.example"`, password},
		{"consent", hers.post(consent, "decision", "allow"), `href="consent?client_id=`, "<form"},
		{"reset", b.post(reset, "password", words, "again", words, "username", "bob@metro.example"), "bob@metro.example",
			words},
		{"forgot", b.post(forgot, "email", "ana@metro.example"), `"ana@metro.example"`, "Check your mail"},
	} {
		expectTryAgain(t, test.name, test.got, test.keeps, test.not)
	}
	for p := range testkit.Points(t, 20) { // the table fails at a later call each time
		f.wire.Restore()
		f.wire.BreakAfter(p.N)
		s := b.post(signIn, "email", "ana@metro.example", "password", password)
		f.wire.Restore()
		if p.Reached(s.status != http.StatusSeeOther) {
			expectTryAgain(t, fmt.Sprint("sign-in, broken at ", p), s, `"ana@metro.example"`, password)
			s = b.post(s, "email", "ana@metro.example", "password", password)
		}
		if got := b.follow(s).page(); got != "consent" {
			t.Errorf("after %v: %s", p, got)
		}
	}
}

// expectTryAgain fails the test unless the page says that the service is busy,
// and keeps one text but not the other.
func expectTryAgain(t *testing.T, name string, s response, keeps, not string) {
	t.Helper()
	if s.status != http.StatusServiceUnavailable || s.header.Get("Retry-After") == "" ||
		strings.Contains(s.body, "wire") || !strings.Contains(s.body, "busy") ||
		!strings.Contains(s.body, keeps) || strings.Contains(s.body, not) {
		t.Errorf("%s: %d %s", name, s.status, s.body)
	}
}
