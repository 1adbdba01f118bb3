package oauth

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"svc/pkg/audit"
	"svc/pkg/person"
)

// Consent is remembered per client, person and scope.
func TestConsentMemory(t *testing.T) {
	h := newHouse(t)
	c, other := h.planner(nil), h.planner(nil)
	v := h.visitor()
	v.through(ask(c, "scope", "openid tenant.trips:read"), "ana@metro.example")
	for _, test := range []struct {
		name string
		q    url.Values
		want string
	}{
		{"the same", ask(c), "code"},
		{"less", ask(c, "scope", "tenant.trips:read"), "code"},
		{"more", ask(c, "scope", "openid tenant.drivers:read"), "consent"},
		{"another client", ask(other), "consent"},
	} {
		if got := v.authorize(test.q).page(); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	v.through(ask(c, "scope", "tenant.drivers:read"), "")
	if got := v.authorize(ask(c, "scope", "openid tenant.trips:read tenant.drivers:read")).page(); got != "code" {
		t.Errorf("both that were agreed to one after the other: %s", got)
	}
	bob := h.visitor()
	if got := bob.enter(bob.authorize(ask(c)), "bob@metro.example").page(); got != "consent" {
		t.Errorf("another person: %s", got)
	}
	again := h.visitor()
	if got := again.enter(again.authorize(ask(c)), "ana@metro.example").page(); got != "code" {
		t.Errorf("the same person with another browser: %s", got)
	}
}

func TestConsentDenied(t *testing.T) {
	h := newHouse(t)
	c := h.planner(nil)
	v := h.visitor()
	s := v.post(v.enter(v.authorize(ask(c)), "ana@metro.example"), "decision", "deny")
	if s.status != http.StatusOK || s.answer.Get("error") != "access_denied" || s.answer.Get("state") != "s-1" || s.answer.Get("iss") != houseBase {
		t.Errorf("%d %s", s.status, s.location)
	}
	if got := v.authorize(ask(c)).page(); got != "consent" {
		t.Errorf("asked again: %s", got)
	}
	if s := v.post(v.authorize(ask(c))); s.answer.Get("error") != "access_denied" {
		t.Errorf("neither button: %s", s.text())
	}
}

// CSRF on consent: only the form that this session was shown, for this request
// and these scopes, agrees to anything.
func TestConsentCSRF(t *testing.T) {
	h := newHouse(t)
	c := h.planner(nil)
	ana, bob := h.visitor(), h.visitor()
	page := ana.enter(ana.authorize(ask(c)), "ana@metro.example")
	action, _ := page.form(t)
	_, bobs := bob.enter(bob.authorize(ask(c)), "bob@metro.example").form(t)
	_, narrower := ana.authorize(ask(c, "scope", "openid")).form(t)
	_, other := ana.authorize(ask(h.planner(nil))).form(t)
	for name, csrf := range map[string]string{"another person's": bobs, "of other scopes": narrower, "of another client": other, "none": "", "garbage": "x"} {
		s := ana.do(http.MethodPost, "/oauth/"+action, url.Values{"csrf": {csrf}, "decision": {"allow"}})
		if s.status != http.StatusSeeOther || s.answer.Get("code") != "" {
			t.Errorf("%s: %d %s", name, s.status, s.location)
		}
		if got := ana.follow(s).page(); got != "consent" {
			t.Errorf("%s: then %s", name, got)
		}
	}
	_, good := page.form(t)
	stranger := h.visitor().do(http.MethodPost, "/oauth/"+action, url.Values{"csrf": {good}, "decision": {"allow"}})
	if got := stranger.answer.Get("code"); got != "" || stranger.status != http.StatusSeeOther {
		t.Errorf("without a session: %d %s", stranger.status, stranger.location)
	}
	if s := ana.do(http.MethodPost, "/oauth/"+action+"&state=other", url.Values{"csrf": {good}, "decision": {"allow"}}); s.answer.Get("code") != "" {
		t.Error("a changed request was agreed to")
	}
	if got := ana.allow(page).page(); got != "code" {
		t.Errorf("the form itself: %s", got)
	}
}

// A form that was shown for fewer scopes than would be granted now agrees to
// nothing: a permission that came in between asks again.
func TestConsentShowsWhatItGrants(t *testing.T) {
	h := newHouse(t)
	c := h.planner(nil)
	v := h.visitor()
	page := v.enter(v.authorize(ask(c, "scope", "tenant.trips:read tenant.wallets:read")), "bob@metro.example")
	if strings.Contains(page.body, "see wallets") {
		t.Fatalf("shows a scope that is not granted: %s", page.text())
	}
	people := person.Store{DB: h.db}
	_, err := people.Grant(context.Background(), h.db.Tenant(h.metro.ID), audit.By{Who: "test", At: h.clock()}, h.bob.ID, "VIEW_WALLETS")
	must(t, err)
	s := v.allow(page)
	if got := s.page(); got != "consent" || !strings.Contains(s.body, "see wallets") {
		t.Errorf("got %s", got)
	}
}

// The client's name is shown as what an unknown party says of itself.
func TestConsentPage(t *testing.T) {
	h := newHouse(t)
	evil := h.planner(func(c *Client) {
		c.Name = `<b>Metro Cabs</b> "official"`
		c.PolicyURI, c.TermsURI = "javascript:alert(1)", "https://planner.example/terms"
	})
	v := h.visitor()
	s := v.enter(v.authorize(ask(evil)), "ana@metro.example")
	for _, want := range []string{"&lt;b&gt;Metro Cabs&lt;/b&gt;", "not verified", "<code><bdi>planner.example</bdi></code>", "see all trips of the company", "ana@metro.example"} {
		if !strings.Contains(s.body, want) {
			t.Errorf("no %q on the page", want)
		}
	}
	if strings.Contains(s.body, "javascript:") {
		t.Error("a script came through")
	}
	policy := s.header.Get("Content-Security-Policy")
	if !strings.HasSuffix(policy, "form-action 'self'") || !strings.Contains(policy, "frame-ancestors 'none'") || !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("policy %s", policy)
	}
	spanish := v.do(http.MethodGet, "/oauth/authorize?"+ask(evil).Encode(), nil, "Accept-Language", "es-CO, en;q=0.5")
	if !strings.Contains(spanish.body, "no ha sido verificado") || spanish.header.Get("Content-Language") != "es" {
		t.Error("no Spanish page")
	}
}

// RFC 8252 section 8.6: an address that any application could take over asks
// each time.
func TestConsentOfAPrivateSchemeIsAskedEachTime(t *testing.T) {
	h := newHouse(t)
	c := h.planner(func(c *Client) {
		c.RedirectURIs, c.ApplicationType = []string{"com.example.planner:/cb", "http://127.0.0.1/cb"}, "native"
	})
	v := h.visitor()
	s := v.enter(v.authorize(ask(c)), "ana@metro.example")
	if !strings.Contains(s.header.Get("Content-Security-Policy"), "form-action 'self' com.example.planner:") {
		t.Errorf("policy %s", s.header.Get("Content-Security-Policy"))
	}
	if got := v.allow(s); got.status != http.StatusSeeOther || !strings.HasPrefix(got.location, "com.example.planner:/cb?") {
		t.Fatalf("%d to %s", got.status, got.location)
	}
	if got := v.authorize(ask(c)).page(); got != "consent" {
		t.Errorf("again: %s", got)
	}
	if got := v.authorize(ask(c, "prompt", "none")).page(); got != "consent_required" {
		t.Errorf("prompt=none: %s", got)
	}
	if got := v.authorize(ask(c, "redirect_uri", "http://127.0.0.1:51234/cb")).page(); got != "code" {
		t.Errorf("a loopback address: %s", got)
	}
}

// The picker: an operator with several memberships and no tenant_hint.
func TestPicker(t *testing.T) {
	h := newHouse(t)
	c := h.planner(nil)
	q := ask(c, "tenant_hint", "")
	v := h.visitor()
	s := v.enter(v.authorize(q), "ana@metro.example")
	if s.page() != "picker" || !strings.Contains(s.body, `value="metro"`) || !strings.Contains(s.body, `value="nova"`) {
		t.Fatalf("got %s: %s", s.page(), s.text())
	}
	action, csrf := s.form(t)
	for name, form := range map[string]url.Values{"no token": {"tenant": {"metro"}}, "another tenant": {"csrf": {csrf}, "tenant": {"other"}}, "nothing": {"csrf": {csrf}}} {
		if got := v.follow(v.do(http.MethodPost, "/oauth/"+action, form)).page(); got != "picker" {
			t.Errorf("%s: %s", name, got)
		}
	}
	picked := v.follow(v.post(s, "tenant", "metro"))
	if picked.page() != "consent" || !strings.Contains(picked.body, "Metro Cabs") {
		t.Fatalf("after picking: %s", picked.text())
	}
	answer := v.allow(picked)
	it, err := h.server.p.Get(context.Background(), h.server.codeKey(answer.answer.Get("code")))
	must(t, err)
	var code AuthorizationCode
	must(t, it.Decode(&code))
	if code.TenantID != h.metro.ID {
		t.Errorf("the code is of tenant %s", code.TenantID)
	}
	if got := v.authorize(q).page(); got != "picker" {
		t.Errorf("the next time: %s", got)
	}
	bob := h.visitor()
	if got := bob.enter(bob.authorize(q), "bob@metro.example").page(); got != "consent" {
		t.Errorf("one membership: %s", got)
	}
}

// Reloading a page that was posted leads back to the request.
func TestReload(t *testing.T) {
	h := newHouse(t)
	c := h.planner(nil)
	for _, path := range []string{"signin", "consent", "tenant"} {
		v := h.visitor()
		s := v.get("/oauth/" + path + "?" + ask(c).Encode())
		if s.status != http.StatusSeeOther || v.follow(s).page() != "sign-in" {
			t.Errorf("%s: %d %s", path, s.status, s.location)
		}
	}
}
