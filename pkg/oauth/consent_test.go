package oauth_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/data/audit"
	"svc/pkg/domain/person"
)

// Consent is remembered per client, person and scope.
func TestConsentMemory(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c, other := f.storeClient(nil), f.storeClient(nil)
	b := f.newBrowser()
	b.obtainCode(authorization(c, "scope", "openid tenant.trips:read"), "ana@metro.example")
	for _, test := range []struct {
		name string
		q    url.Values
		want string
	}{
		{"the same", authorization(c), "code"},
		{"less", authorization(c, "scope", "tenant.trips:read"), "code"},
		{"more", authorization(c, "scope", "openid tenant.drivers:read"), "consent"},
		{"another client", authorization(other), "consent"},
	} {
		if got := b.authorize(test.q).page(); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	b.obtainCode(authorization(c, "scope", "tenant.drivers:read"), "")
	if got := b.authorize(authorization(c, "scope",
		"openid tenant.trips:read tenant.drivers:read")).page(); got != "code" {
		t.Errorf("both that were agreed to one after the other: %s", got)
	}
	bob := f.newBrowser()
	if got := bob.signIn(bob.authorize(authorization(c)), "bob@metro.example").page(); got != "consent" {
		t.Errorf("another person: %s", got)
	}
	again := f.newBrowser()
	if got := again.signIn(again.authorize(authorization(c)), "ana@metro.example").page(); got != "code" {
		t.Errorf("the same person with another browser: %s", got)
	}
}

func TestConsentDenied(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	b := f.newBrowser()
	s := b.post(b.signIn(b.authorize(authorization(c)), "ana@metro.example"), "decision", "deny")
	if s.status != http.StatusOK || s.answer.Get("error") != "access_denied" || s.answer.Get("state") != "s-1" ||
		s.answer.Get("iss") != baseURL {
		t.Errorf("%d %s", s.status, s.location)
	}
	if got := b.authorize(authorization(c)).page(); got != "consent" {
		t.Errorf("asked again: %s", got)
	}
	if s := b.post(b.authorize(authorization(c))); s.answer.Get("error") != "access_denied" {
		t.Errorf("neither button: %s", s.text())
	}
}

// CSRF on consent: a form is valid only for the session that it was shown to,
// and for the same request and scopes.
func TestConsentCSRF(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	ana, bob := f.newBrowser(), f.newBrowser()
	page := ana.signIn(ana.authorize(authorization(c)), "ana@metro.example")
	action, _ := page.form(t)
	_, bobs := bob.signIn(bob.authorize(authorization(c)), "bob@metro.example").form(t)
	_, narrower := ana.authorize(authorization(c, "scope", "openid")).form(t)
	_, other := ana.authorize(authorization(f.storeClient(nil))).form(t)
	for name, csrf := range map[string]string{"another person's": bobs, "of other scopes": narrower,
		"of another client": other, "none": "", "garbage": "x"} {
		s := ana.do(http.MethodPost, action, url.Values{"csrf": {csrf}, "decision": {"allow"}})
		if s.status != http.StatusSeeOther || s.answer.Get("code") != "" {
			t.Errorf("%s: %d %s", name, s.status, s.location)
		}
		if got := ana.follow(s).page(); got != "consent" {
			t.Errorf("%s: then %s", name, got)
		}
	}
	_, good := page.form(t)
	stranger := f.newBrowser().do(http.MethodPost, action, url.Values{"csrf": {good}, "decision": {"allow"}})
	if got := stranger.answer.Get("code"); got != "" || stranger.status != http.StatusSeeOther {
		t.Errorf("without a session: %d %s", stranger.status, stranger.location)
	}
	if s := ana.do(http.MethodPost, action+"&state=other",
		url.Values{"csrf": {good}, "decision": {"allow"}}); s.answer.Get("code") != "" {
		t.Error("a changed request was agreed to")
	}
	if got := ana.consent(page).page(); got != "code" {
		t.Errorf("the form itself: %s", got)
	}
}

// If more scopes would be granted than the form showed, the form is not valid:
// the person is asked again, for example after getting a new permission.
func TestConsentShowsWhatItGrants(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	b := f.newBrowser()
	page := b.signIn(b.authorize(authorization(c, "scope", "tenant.trips:read tenant.wallets:read")), "bob@metro.example")
	if strings.Contains(page.body, "see wallets") {
		t.Fatalf("shows a scope that is not granted: %s", page.text())
	}
	people := person.Store{DB: f.db}
	_, err := people.Grant(context.Background(), f.db.Tenant(f.metro.ID), audit.By{Who: "test", At: f.now()}, f.bob.ID,
		"VIEW_WALLETS")
	testkit.Must(t, err)
	s := b.consent(page)
	if got := s.page(); got != "consent" || !strings.Contains(s.body, "see wallets") {
		t.Errorf("got %s", got)
	}
}

// The page says that the client's name is unverified.
func TestConsentPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	evil := f.storeClient(func(c *client) {
		c.Name = `<b>Metro Cabs</b> "official"`
		c.PolicyURI, c.TermsURI = "javascript:alert(1)", "https://planner.example/terms"
	})
	b := f.newBrowser()
	s := b.signIn(b.authorize(authorization(evil)), "ana@metro.example")
	for _, want := range []string{"&lt;b&gt;Metro Cabs&lt;/b&gt;", "not verified",
		"<code><bdi>planner.example</bdi></code>", "see all trips of the company", "ana@metro.example"} {
		if !strings.Contains(s.body, want) {
			t.Errorf("no %q on the page", want)
		}
	}
	if strings.Contains(s.body, "javascript:") {
		t.Error("a script came through")
	}
	policy := s.header.Get("Content-Security-Policy")
	if !strings.HasSuffix(policy, "form-action 'self'") || !strings.Contains(policy, "frame-ancestors 'none'") ||
		!strings.Contains(policy, "default-src 'none'") {
		t.Errorf("policy %s", policy)
	}
	spanish := b.do(http.MethodGet, "/oauth/authorize?"+authorization(evil).Encode(), nil, "Accept-Language",
		"es-CO, en;q=0.5")
	if !strings.Contains(spanish.body, "no ha sido verificado") || spanish.header.Get("Content-Language") != "es" {
		t.Error("no Spanish page")
	}
}

// RFC 8252 section 8.6: if any application could claim the client's address,
// the person is asked each time.
func TestConsentOfAPrivateSchemeIsAskedEachTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(func(c *client) {
		c.RedirectURIs, c.ApplicationType = []string{"com.example.planner:/cb", "http://127.0.0.1/cb"}, "native"
	})
	b := f.newBrowser()
	s := b.signIn(b.authorize(authorization(c)), "ana@metro.example")
	if !strings.Contains(s.header.Get("Content-Security-Policy"), "form-action 'self' com.example.planner:") {
		t.Errorf("policy %s", s.header.Get("Content-Security-Policy"))
	}
	if got := b.consent(s); got.status != http.StatusSeeOther ||
		!strings.HasPrefix(got.location, "com.example.planner:/cb?") {
		t.Fatalf("%d to %s", got.status, got.location)
	}
	if got := b.authorize(authorization(c)).page(); got != "consent" {
		t.Errorf("again: %s", got)
	}
	if got := b.authorize(authorization(c, "prompt", "none")).page(); got != "consent_required" {
		t.Errorf("prompt=none: %s", got)
	}
	if got := b.authorize(authorization(c, "redirect_uri", "http://127.0.0.1:51234/cb")).page(); got != "code" {
		t.Errorf("a loopback address: %s", got)
	}
}

// An operator with several memberships and no tenant_hint gets the picker.
func TestPicker(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	q := authorization(c, "tenant_hint", "")
	b := f.newBrowser()
	s := b.signIn(b.authorize(q), "ana@metro.example")
	if s.page() != "picker" || !strings.Contains(s.body, `value="metro"`) || !strings.Contains(s.body, `value="nova"`) {
		t.Fatalf("got %s: %s", s.page(), s.text())
	}
	action, csrf := s.form(t)
	for name, form := range map[string]url.Values{"no token": {"tenant": {"metro"}},
		"another tenant": {"csrf": {csrf}, "tenant": {"other"}}, "nothing": {"csrf": {csrf}}} {
		if got := b.follow(b.do(http.MethodPost, action, form)).page(); got != "picker" {
			t.Errorf("%s: %s", name, got)
		}
	}
	picked := b.follow(b.post(s, "tenant", "metro"))
	if picked.page() != "consent" || !strings.Contains(picked.body, "Metro Cabs") {
		t.Fatalf("after picking: %s", picked.text())
	}
	answer := b.consent(picked)
	code := f.storedCode(answer.answer.Get("code"))
	if code.Tenant != f.metro.ID {
		t.Errorf("the code is of tenant %s", code.Tenant)
	}
	if got := b.authorize(q).page(); got != "picker" {
		t.Errorf("the next time: %s", got)
	}
	bob := f.newBrowser()
	if got := bob.signIn(bob.authorize(q), "bob@metro.example").page(); got != "consent" {
		t.Errorf("one membership: %s", got)
	}
}

// Reloading a posted page redirects to the authorization request.
func TestReload(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	for _, path := range []string{"signin", "consent", "tenant"} {
		b := f.newBrowser()
		s := b.get("/oauth/" + path + "?" + authorization(c).Encode())
		if s.status != http.StatusSeeOther || b.follow(s).page() != "sign-in" {
			t.Errorf("%s: %d %s", path, s.status, s.location)
		}
	}
}
