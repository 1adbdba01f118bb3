package oauth_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
)

// put sends a replacement of a registration with the token.
func (f *fixture) put(a registration, token string, changes map[string]any) reply {
	f.t.Helper()
	body := map[string]any{"client_id": a.id, "client_name": "Renamed", "redirect_uris": []string{callback},
		"audiences": []string{"rider"}, "token_endpoint_auth_method": "none"}
	for name, value := range changes {
		body[name] = value
	}
	return f.sendJSON(http.MethodPut, "/oauth/register/"+a.id, token, body)
}

// If the answer to a PUT of a registration is lost, the old registration access
// token is still valid. The first use of the new token ends the old one for good.
func TestLostAnswerOfARegistration(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.register(nil)
	status := func(token string, want int) {
		t.Helper()
		if got := f.sendJSON(http.MethodGet, "/oauth/register/"+a.id, token, ""); got.status != want {
			t.Errorf("GET: %d %s, want %d", got.status, got.raw, want)
		}
	}
	lost := f.put(a, a.management, nil).text("registration_access_token")
	status(a.management, 200)
	again := f.put(a, a.management, nil) // the client repeats the request
	next := again.text("registration_access_token")
	if again.status != 200 || next == "" || next == a.management || next == lost {
		t.Fatalf("%d %s", again.status, again.raw)
	}
	status(lost, 401) // it was replaced before anybody used it
	status(a.management, 200)
	status(next, 200)
	status(a.management, 401) // the new one was used
	f.expect(f.put(a, a.management, nil), 401, "invalid_token")
	f.expect(f.sendJSON(http.MethodDelete, "/oauth/register/"+a.id, a.management, ""), 401, "invalid_token")
	third := f.put(a, next, nil).text("registration_access_token")
	status(a.management, 401) // another PUT does not revive it
	status(lost, 401)
	f.expect(f.put(a, third, map[string]any{"client_id": "x"}), 400, "invalid_request") // a faulty use is a use
	status(next, 401)
	fourth := f.put(a, third, nil).text("registration_access_token")
	fifth := f.put(a, fourth, nil).text("registration_access_token") // the use is the next PUT
	for _, old := range []string{a.management, lost, next, third} {
		status(old, 401)
	}
	status(fifth, 200)
	status(fourth, 401)
	if got := f.sendJSON(http.MethodDelete, "/oauth/register/"+a.id, fifth, ""); got.status != http.StatusNoContent {
		t.Errorf("DELETE: %d %s", got.status, got.raw)
	}
}

// A secret that was lost with the answer is created again. A secret that the
// client knows stays.
func TestLostSecret(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.register(nil)
	post := map[string]any{"token_endpoint_auth_method": "client_secret_post"}
	lost := f.put(a, a.management, post).text("client_secret")
	again := f.put(a, a.management, post)
	secret := again.text("client_secret")
	if lost == "" || secret == "" || secret == lost {
		t.Fatalf("%q, %q: %s", lost, secret, again.raw)
	}
	works := func(secret string, want string) {
		t.Helper()
		if got := f.postForm("/oauth/token", "grant_type", "refresh_token", "refresh_token", "x", "client_id", a.id,
			"client_secret", secret); got.text("error") != want {
			t.Errorf("%d %s, want %s", got.status, got.raw, want)
		}
	}
	works(lost, "invalid_client")
	works(secret, "invalid_grant")
	next := again.text("registration_access_token")
	kept := f.put(a, next, post)
	repeated := f.put(a, next, post)
	if kept.text("client_secret") != "" || repeated.status != 200 || repeated.text("client_secret") != "" {
		t.Errorf("a secret that the client knows is replaced: %s %s", kept.raw, repeated.raw)
	}
	works(secret, "invalid_grant")
}

// The new token is used and the old one replaces the registration at the same
// time: whichever comes first, the old one is dead when the new one was used.
func TestRegistrationTokensRace(t *testing.T) {
	testkit.LongHere(t)
	t.Parallel()
	f := newFixture(t)
	for range 20 {
		a := f.register(nil)
		next := f.put(a, a.management, nil).text("registration_access_token")
		var used, repeated reply
		var both sync.WaitGroup
		both.Go(func() { used = f.sendJSON(http.MethodGet, "/oauth/register/"+a.id, next, "") })
		both.Go(func() { repeated = f.put(a, a.management, nil) })
		both.Wait()
		if used.status == 200 == (repeated.status == 200) {
			// Both succeed only if the use came before the old token's PUT was
			// judged, which the version of the record excludes.
			t.Errorf("used %d, repeated %d", used.status, repeated.status)
		}
		alive := 0
		for _, token := range []string{a.management, next, repeated.text("registration_access_token")} {
			if token != "" && f.sendJSON(http.MethodGet, "/oauth/register/"+a.id, token, "").status == 200 {
				alive++
			}
		}
		if want := map[bool]int{true: 1, false: 2}[used.status == 200]; alive != want {
			t.Errorf("%d tokens are valid, want %d", alive, want)
		}
	}
}

// A consent that is sent twice gives one code. The second answer has the same
// code as long as it can be redeemed, and then starts the request again.
func TestConsentTwice(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	b := f.newBrowser()
	page := b.signIn(b.authorize(authorization(c)), "ana@metro.example")
	to, csrf := page.form(t)
	allow := url.Values{"csrf": {csrf}, "decision": {"allow"}}
	answers := make([]response, 4)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = b.do(http.MethodPost, to, allow) })
	}
	all.Wait()
	code := answers[0].answer.Get("code")
	for _, got := range answers {
		if got.page() != "code" || got.answer.Get("code") != code || got.answer.Get("state") != "s-1" {
			t.Errorf("%d %s, want the code %s", got.status, got.location, code)
		}
	}
	r := f.redeemAt(c, code)
	if r.status != 200 {
		t.Fatalf("%d %s", r.status, r.raw)
	}
	if got := b.do(http.MethodPost, to, allow); got.answer.Get("code") != "" ||
		!strings.HasPrefix(got.location, "authorize?") {
		t.Errorf("after the code was redeemed: %d %s", got.status, got.location)
	}
	if !f.alive(r.text("access_token")) {
		t.Error("a form that is sent again ended the tokens")
	}
	other := b.authorize(authorization(c, "prompt", "consent"))
	again := b.authorize(authorization(c, "prompt", "consent"))
	if one, two := b.consent(other), b.consent(again); one.answer.Get("code") == two.answer.Get("code") ||
		one.page() != "code" || two.page() != "code" {
		t.Errorf("two consent pages: %s, %s", one.location, two.location)
	}
	for name, token := range map[string]string{"half": csrf[:43], "of another session": strings.Repeat("x", 86),
		"another once": strings.Repeat("x", 43) + csrf[43:], "none": ""} {
		got := b.do(http.MethodPost, to, url.Values{"csrf": {token}, "decision": {"allow"}})
		if got.answer.Get("code") != "" {
			t.Errorf("%s: %s", name, got.location)
		}
	}
}

// redeemAt exchanges a code of a stored client.
func (f *fixture) redeemAt(c client, code string) reply {
	f.t.Helper()
	return f.postForm("/oauth/token", "grant_type", "authorization_code", "client_id", c.ID, "code", code,
		"redirect_uri", c.RedirectURIs[0], "code_verifier", verifier)
}

// HEAD changes nothing: it issues no code, ends no session and sets no cookie.
func TestHeadIsSafe(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	b := f.newBrowser()
	tokens := f.tokensBy(b, c, "ana@metro.example")
	hint := "/oauth/logout?" + url.Values{"id_token_hint": {tokens.IDToken}}.Encode()
	for _, at := range []string{"/oauth/authorize?" + authorization(c).Encode(), hint, "/oauth/logout", "/oauth/apps",
		"/oauth/authorize?" + authorization(c, "prompt", "none").Encode(), "/oauth/authorize", "/oauth/password?token=x"} {
		got := b.do(http.MethodHead, at, nil)
		if got.status != 200 || got.location != "" || len(got.cookies) > 0 || got.body != "" ||
			got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", at, got.status, got.header)
		}
	}
	if got := b.authorize(authorization(c)).page(); got != "code" {
		t.Errorf("afterwards: %s", got)
	}
	if got := b.get(hint); got.status != 200 { // GET does end the session
		t.Errorf("%d", got.status)
	}
	if got := b.authorize(authorization(c)).page(); got != "sign-in" {
		t.Errorf("after GET /oauth/logout: %s", got)
	}
}

// A login_hint of another account than the browser's asks for that account. It
// never signs anybody in, and the person may insist on another one.
func TestLoginHint(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	b := f.newBrowser()
	b.obtainCode(authorization(c), "ana@metro.example")
	for hint, want := range map[string]string{"": "code", "ana@metro.example": "code", "ANA@Metro.Example": "code",
		"bob@metro.example": "sign-in", "nobody@metro.example": "sign-in", "O.CiQopaque": "code", f.bob.ID: "code"} {
		s := b.authorize(authorization(c, "login_hint", hint))
		if s.page() != want || want == "sign-in" && !strings.Contains(s.body, `value="`+hint+`"`) {
			t.Errorf("%q: %s", hint, s.page())
		}
		silent := map[string]string{"code": "code", "sign-in": "login_required"}[want]
		if got := b.authorize(authorization(c, "login_hint", hint, "prompt", "none")).page(); got != silent {
			t.Errorf("%q, prompt=none: %s", hint, got)
		}
	}
	s := b.signIn(b.authorize(authorization(c, "login_hint", "nobody@metro.example")), "bob@metro.example")
	if s.page() == "consent" {
		s = b.consent(s)
	}
	if s.page() != "code" || f.storedCode(s.answer.Get("code")).Actor != f.bob.ID {
		t.Errorf("another account than the hint's: %s", s.page())
	}
	rider := f.storeClient(forRiders)
	if got := b.authorize(authorization(rider, "scope", "rider.trips:read", "login_hint",
		f.emails[authz.Rider])).page(); got != "sign-in" {
		t.Errorf("a rider's request with an operator's session: %s", got)
	}
}
