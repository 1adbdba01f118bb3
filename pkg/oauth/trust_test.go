package oauth_test

import (
	"strings"
	"testing"

	"svc/pkg/data/audit"
	"svc/pkg/local/testkit"
)

// A company's own application asks for no consent: the sign-in page says whose
// it is, and so does a page where the person was signed in before.
func TestTrustedClient(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	metro := f.db.Tenant(f.metro.ID)
	set := func(trusted bool) {
		t.Helper()
		testkit.Must(t, f.server.TrustClient(t.Context(), metro, audit.By{Who: "svc", At: f.now()}, c.ID, trusted))
	}
	q := authorization(c)
	const own, foreign = "application of Metro Cabs", "made by somebody else"
	before := f.newBrowser()
	elsewhere := f.storeClient(nil)
	before.signIn(before.authorize(authorization(elsewhere)), "bob@metro.example")
	if s := before.authorize(q); !strings.Contains(s.text(), foreign) {
		t.Fatalf("before the trust: %s", s.text())
	}
	set(true)
	if s := before.authorize(q); s.page() != "consent" || !strings.Contains(s.text(), own) ||
		strings.Contains(s.text(), foreign) {
		t.Errorf("signed in before: %s", s.text())
	}
	if s := before.authorize(authorization(c, "prompt", "none")); s.page() != "consent_required" {
		t.Errorf("signed in before, without a page: %s", s.page())
	}
	b := f.newBrowser()
	signIn := b.authorize(q)
	if !strings.Contains(signIn.text(), own) {
		t.Errorf("the sign-in: %s", signIn.text())
	}
	if s := b.signIn(signIn, "ana@metro.example"); s.page() != "code" {
		t.Errorf("after the sign-in: %s", s.text())
	}
	if s := b.authorize(authorization(c, "prompt", "none")); s.page() != "code" {
		t.Errorf("again: %s", s.text())
	}
	if s := b.authorize(authorization(c, "prompt", "consent")); s.page() != "consent" {
		t.Errorf("prompt=consent: %s", s.text())
	}
	if s := b.get("/oauth/apps"); !hasApp(s) {
		t.Errorf("not among the connected applications: %s", s.text())
	}
	for name, q := range map[string][]string{"an agent": {"resource", baseURL + "/mcp"},
		"another company": {"tenant_hint", "nova"}} {
		s := b.authorize(authorization(c, q...))
		if s.page() != "consent" || !strings.Contains(s.text(), foreign) {
			t.Errorf("%s: %s", name, s.text())
		}
	}
	set(false)
	if s := b.authorize(q); s.page() != "consent" || !strings.Contains(s.text(), foreign) {
		t.Errorf("after the end of the trust: %s", s.text())
	}
	if err := f.server.TrustClient(t.Context(), metro, audit.By{Who: "svc", At: f.now()}, c.ID, false); err == nil {
		t.Error("a trust ended twice")
	}
	if err := f.server.TrustClient(t.Context(), metro, audit.By{Who: "svc", At: f.now()}, "cli_x", true); err == nil {
		t.Error("an unknown client is trusted")
	}
}

// A change of its registration does not extend the trust in a client: not to
// another name, not to another redirect address, not to more scopes.
func TestTrustIsForOneRegistration(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, change := range map[string]func(*client){
		"another name":     func(c *client) { c.Name = "Another" },
		"another redirect": func(c *client) { c.RedirectURIs = []string{"https://elsewhere.example/cb"} },
		"more scopes":      func(c *client) { c.Scopes = append(c.Scopes, "tenant.drivers:read") },
	} {
		c := f.storeClient(func(c *client) {
			c.Scopes, c.RedirectURIs = []string{"openid", "tenant.trips:read"}, []string{"https://planner.example/first"}
		})
		testkit.Must(t, f.server.TrustClient(t.Context(), f.db.Tenant(f.metro.ID), audit.By{Who: "svc", At: f.now()},
			c.ID, true))
		q := []string{"scope", "openid tenant.trips:read", "redirect_uri", "https://planner.example/first"}
		if s := f.newBrowser().authorize(authorization(c, q...)); !strings.Contains(s.text(), "application of Metro Cabs") {
			t.Errorf("%s, before: %s", name, s.text())
		}
		change(&c)
		it := f.storedClient(c.ID)
		it.Doc = c
		tx := f.db.Platform("CLIENT").Write()
		tx.Put(it)
		testkit.Must(t, tx.Commit(t.Context()))
		if name == "another redirect" {
			q[3] = "https://elsewhere.example/cb"
		}
		if name == "more scopes" {
			q[1] += " tenant.drivers:read"
		}
		b := f.newBrowser()
		if s := b.signIn(b.authorize(authorization(c, q...)), "ana@metro.example"); s.page() != "consent" ||
			!strings.Contains(s.text(), "made by somebody else") {
			t.Errorf("%s: %s", name, s.text())
		}
	}
}

// A trusted client at an address that another program on the device may take is
// named as the company's own, and the person is asked.
func TestTrustedClientOnADevice(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, address := range []string{"http://127.0.0.1/cb", "com.metro.rider:/cb"} {
		c := f.storeClient(func(c *client) { c.RedirectURIs = []string{address} })
		testkit.Must(t, f.server.TrustClient(t.Context(), f.db.Tenant(f.metro.ID), audit.By{Who: "svc", At: f.now()},
			c.ID, true))
		b := f.newBrowser()
		s := b.signIn(b.authorize(authorization(c, "redirect_uri", address)), "ana@metro.example")
		if s.page() != "consent" || !strings.Contains(s.text(), "application of Metro Cabs") {
			t.Errorf("%s: %s", address, s.text())
		}
	}
}
