package oauth_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"svc/internal/test/testkit"
)

// An empty secret is none: a public client may send it by either method. A
// confidential client gets nothing for it.
func TestEmptySecret(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s := newService(t)
	with := func(a registration, header string, pairs ...string) (status int, code, challenge string) {
		t.Helper()
		got := s.signIn(t, a)
		headers := []string{}
		if header != "" {
			headers = []string{"Authorization", header}
		}
		answer := s.send(t, "/oauth/token", formOf(append([]string{"grant_type", "refresh_token", "refresh_token",
			got.Refresh}, pairs...)...).Encode(), headers...)
		return answer.Status, answer.Code(), answer.Header.Get("WWW-Authenticate")
	}
	for name, test := range map[string]struct {
		a      registration
		header string
		pairs  []string
		status int
	}{
		"public, Basic": {s.public, basicHeader(s.public.id, ""), nil, 200},
		"public, Basic and client_id": {s.public, basicHeader(s.public.id, ""), []string{"client_id", s.public.id},
			200},
		"public, Basic and an empty secret": {s.public, basicHeader(s.public.id, ""), []string{"client_secret", ""}, 200},
		"public, in the body":               {s.public, "", []string{"client_id", s.public.id, "client_secret", ""}, 200},
		"public, a secret":                  {s.public, basicHeader(s.public.id, "x"), nil, 401},
		"public, a blank":                   {s.public, basicHeader(s.public.id, " "), nil, 401},
		"public, another client's id":       {s.public, basicHeader(s.public.id, ""), []string{"client_id", s.basic.id}, 400},
		"client_secret_basic":               {s.basic, basicHeader(s.basic.id, ""), nil, 401},
		"client_secret_post":                {s.post, "", []string{"client_id", s.post.id, "client_secret", ""}, 401},
		"client_secret_post by Basic":       {s.post, basicHeader(s.post.id, ""), nil, 401},
	} {
		status, code, challenge := with(test.a, test.header, test.pairs...)
		if status != test.status || status == 401 && (code != "invalid_client" ||
			(challenge != "") != (test.header != "")) { // RFC 6749 section 5.2
			t.Errorf("%s: %d %s, challenge %q", name, status, code, challenge)
		}
	}
	access := s.signIn(t, s.public).Access
	refused(t, s.send(t, "/oauth/introspect", formOf("token", access).Encode(), "Authorization",
		basicHeader(s.public.id, "")), 401, "invalid_client")
	s.send(t, "/oauth/revoke", formOf("token", access).Encode(), "Authorization",
		basicHeader(s.public.id, "")).Must(t, 200)
	if s.lives(t, access) {
		t.Error("the revoked token lives")
	}
}

// The error for a wrong method names the registered one, whatever the secret is.
// A disabled and an unknown client, and a wrong secret, get the usual text.
func TestWrongMethod(t *testing.T) {
	t.Parallel()
	s := newService(t)
	ask := func(header string, pairs ...string) string {
		t.Helper()
		headers := []string{}
		if header != "" {
			headers = []string{"Authorization", header}
		}
		a := s.send(t, "/oauth/token", formOf(append([]string{"grant_type", "refresh_token", "refresh_token", "x"},
			pairs...)...).Encode(), headers...)
		refused(t, a, 401, "invalid_client")
		return string(a.Body)
	}
	wrong := ask(basicHeader(s.basic.id, "x"))
	for name, test := range map[string]struct{ body, want string }{
		"post for basic": {ask("", "client_id", s.basic.id, "client_secret", s.basic.secret),
			"client_secret_basic"},
		"post for basic, no secret": {ask("", "client_id", s.basic.id), "client_secret_basic"},
		"post for basic, wrong":     {ask("", "client_id", s.basic.id, "client_secret", "x"), "client_secret_basic"},
		"basic for post":            {ask(basicHeader(s.post.id, s.post.secret)), "client_secret_post"},
		"a secret for none":         {ask(basicHeader(s.public.id, "x")), "authentication method none"},
	} {
		if !strings.Contains(test.body, "registered the authentication method") || !strings.Contains(test.body, test.want) {
			t.Errorf("%s: %s", name, test.body)
		}
	}
	if strings.Contains(wrong, "method client_secret") {
		t.Errorf("a wrong secret: %s", wrong)
	}
	if err := s.Runtime.AuthorizationServer().DisableClient(t.Context(), s.post.id, true); err != nil {
		t.Fatal(err)
	}
	if got := ask(basicHeader(s.post.id, s.post.secret)); got != wrong {
		t.Errorf("a disabled client: %s", got)
	}
	if got := ask(basicHeader("cli_01J00000000000000000000000", "x")); got != wrong {
		t.Errorf("an unknown client: %s", got)
	}
}

var posted = regexp.MustCompile(`<input type="hidden" name="([a-z_]+)" value="([^"]*)">`)

// formPost returns the address and the fields of a page that posts a response.
func formPost(t *testing.T, got response) (to string, fields map[string]string) {
	t.Helper()
	action := formAction.FindStringSubmatch(got.body)
	if got.status != 200 || action == nil || got.location != "" ||
		!strings.Contains(got.body, "<script>document.forms[0].submit()</script>") {
		t.Fatalf("not a page that posts: %d to %q %s", got.status, got.location, got.body)
	}
	policy := got.header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "script-src 'sha256-") || strings.Contains(policy, "unsafe") ||
		strings.Contains(policy, "form-action") || !strings.Contains(policy, "frame-ancestors 'none'") ||
		!strings.Contains(policy, "default-src 'none'") {
		t.Errorf("policy %s", policy)
	}
	fields = map[string]string{}
	for _, field := range posted.FindAllStringSubmatch(got.body, -1) {
		fields[field[1]] = html.UnescapeString(field[2])
	}
	return html.UnescapeString(action[1]), fields
}

// With response_mode=form_post a page posts the response, a code or an error, to
// the redirect URI. Nothing of it is in an address.
func TestFormPost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	state := `"><script>alert(1)</script>&x=` + strings.Repeat("s", 100)
	c := f.storeClient(func(c *client) {
		c.RedirectURIs = append(c.RedirectURIs, "com.example.planner:/cb", "https://planner.example/cb?x=1&y=2")
	})
	b := f.newBrowser()
	page := b.signIn(b.authorize(authorization(c, "response_mode", "form_post", "state", state)), "ana@metro.example")
	got := b.consent(page)
	to, fields := formPost(t, got)
	if to != plannerCallback || fields["state"] != state || fields["iss"] != baseURL || len(fields) != 3 ||
		strings.Contains(got.body, "<script>alert") {
		t.Errorf("%s %v", to, fields)
	}
	if r := f.redeemAt(c, fields["code"]); r.status != http.StatusOK {
		t.Errorf("%d %s", r.status, r.raw)
	}
	to, fields = formPost(t, b.authorize(authorization(c, "response_mode", "form_post", "redirect_uri",
		"https://planner.example/cb?x=1&y=2")))
	if to != "https://planner.example/cb?x=1&y=2" || fields["code"] == "" {
		t.Errorf("%s %v", to, fields)
	}
	_, fields = formPost(t, b.authorize(authorization(c, "response_mode", "form_post", "scope", "everything")))
	if fields["error"] != "invalid_scope" || fields["code"] != "" || fields["state"] != "s-1" {
		t.Errorf("an error: %v", fields)
	}
	_, fields = formPost(t, f.newBrowser().authorize(authorization(c, "response_mode", "form_post", "prompt", "none")))
	if fields["error"] != "login_required" {
		t.Errorf("prompt=none: %v", fields)
	}
	for name, changes := range map[string][]string{
		"a private scheme":  {"response_mode", "form_post", "redirect_uri", "com.example.planner:/cb"},
		"a fragment":        {"response_mode", "fragment"},
		"a window":          {"response_mode", "web_message"},
		"in another letter": {"response_mode", "FORM_POST"},
	} {
		if got := b.authorize(authorization(c, changes...)); got.page() != "invalid_request" {
			t.Errorf("%s: %s", name, got.page())
		}
	}
	q := authorization(c)
	q["response_mode"] = []string{"form_post", "query"}
	if got := b.authorize(q); got.page() != "invalid_request" {
		t.Errorf("twice: %s", got.page())
	}
	if got := b.authorize(authorization(c, "response_mode", "query")); got.page() != "code" {
		t.Errorf("query: %s", got.page())
	}
	if got := b.get("/oauth/authorize?" + authorization(c, "response_mode", "form_post", "redirect_uri",
		"https://evil.example/cb").Encode()); got.status != 400 || strings.Contains(got.body, "evil.example") {
		t.Errorf("an address that is not registered: %d %s", got.status, got.text())
	}
}

// A state of 4,096 bytes comes back as it was sent. A longer one is refused.
func TestLongState(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	b := f.newBrowser()
	for _, state := range []string{strings.Repeat("s", 4096), strings.Repeat("aB3+/9", 600) + "==",
		`{"return_to":"/a?b=c#d","nonce":"` + strings.Repeat("é", 100) + `"}`} {
		got := b.obtainCode(authorization(c, "state", state), "ana@metro.example")
		if got.answer.Get("state") != state || len(got.location) > 9000 {
			t.Errorf("%d bytes came back of %d, in an address of %d", len(got.answer.Get("state")), len(state),
				len(got.location))
		}
	}
	if got := b.authorize(authorization(c, "state", strings.Repeat("s", 4097))); got.page() != "invalid_request" ||
		got.answer.Get("state") != "" {
		t.Errorf("4,097 bytes: %s", got.page())
	}
}
