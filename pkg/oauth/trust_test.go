package oauth_test

import (
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/data/audit"
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
	const own = "application of Metro Cabs"
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
		f.change(c.ID, func(now *client) { *now = c })
		if name == "another redirect" {
			q[3] = "https://elsewhere.example/cb"
		}
		if name == "more scopes" {
			q[1] += " tenant.drivers:read"
		}
		b := f.newBrowser()
		if s := b.signIn(b.authorize(authorization(c, q...)), "ana@metro.example"); s.page() != "consent" ||
			!strings.Contains(s.text(), foreign) {
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

// The API reference's page is the platform's own, and asks for a consent each
// time. What its client says about itself is not shown: anybody may register it.
func TestReferencePageIsTheOwn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, address := range []string{baseURL + "/docs", baseURL + "/docs/"} {
		c := f.storeClient(func(c *client) {
			c.Name, c.PolicyURI, c.RedirectURIs = "Win a prize", "https://evil.example/privacy", []string{address}
		})
		q := authorization(c, "redirect_uri", address)
		b := f.newBrowser()
		signIn := b.authorize(q)
		if !strings.Contains(signIn.text(), ownOfPlatform) || strings.Contains(signIn.text(), c.Name) {
			t.Errorf("%s: the sign-in: %s", address, signIn.text())
		}
		s := b.signIn(signIn, "ana@metro.example")
		if s.page() != "consent" || !strings.Contains(s.text(), ownOfPlatform) || strings.Contains(s.text(), foreign) ||
			strings.Contains(s.text(), c.Name) || strings.Contains(s.body, "evil.example") {
			t.Errorf("%s: the consent: %s", address, s.text())
		}
		if s = b.post(s, "decision", "allow"); s.answer.Get("code") == "" {
			t.Errorf("%s: consented: %s", address, s.text())
		}
		if s = b.authorize(q); s.page() != "consent" {
			t.Errorf("%s: again: %s", address, s.page())
		}
		// The consent was given under the platform's name. It must not hold for
		// the address that the client has later.
		f.change(c.ID, func(c *client) { c.RedirectURIs = []string{"https://evil.example/cb"} })
		s = b.authorize(authorization(c, "redirect_uri", "https://evil.example/cb"))
		if s.page() != "consent" || !strings.Contains(s.text(), foreign) || !strings.Contains(s.text(), c.Name) {
			t.Errorf("%s: moved away: %s", address, s.text())
		}
	}
}

// The console is the platform's own. After the sign-in page it asks nothing, also on a laptop:
// at its address is this service. An agent's consent is asked all the same.
func TestConsoleIsTheOwn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	address := baseURL + "/console/"
	c := f.storeClient(func(c *client) { c.Name, c.RedirectURIs = "Win a prize", []string{address} })
	b := f.newBrowser()
	signIn := b.authorize(authorization(c, "redirect_uri", address))
	if !strings.Contains(signIn.text(), ownOfPlatform) || strings.Contains(signIn.text(), c.Name) {
		t.Errorf("the sign-in: %s", signIn.text())
	}
	if s := b.signIn(signIn, "ana@metro.example"); s.answer.Get("code") == "" {
		t.Errorf("after the sign-in: %s", s.text())
	}
	if s := b.authorize(authorization(c, "redirect_uri", address, "resource", baseURL+"/mcp")); s.page() != "consent" ||
		!strings.Contains(s.text(), foreign) {
		t.Errorf("an agent: %s", s.text())
	}
	f.change(c.ID, func(c *client) { c.RedirectURIs = append(c.RedirectURIs, "https://evil.example/cb") })
	for _, at := range []string{address, "https://evil.example/cb"} {
		s := b.authorize(authorization(c, "redirect_uri", at))
		if s.page() != "consent" || !strings.Contains(s.text(), foreign) {
			t.Errorf("moved away, %s: %s", at, s.text())
		}
	}
}

// Nothing that resembles the address of the API reference or the console is the platform's own.
func TestNearlyTheReferencePage(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	host := strings.TrimPrefix(baseURL, "https://")
	for _, addresses := range [][]string{
		{"https://" + host + ".evil/docs"}, {"https://evil.example/docs"}, {"https://evil.example/" + baseURL + "/docs"},
		{"https://" + host + ":8443/docs"}, {baseURL + "/docsx"}, {baseURL + "/docs.evil"}, {baseURL + "/docs?x"},
		{baseURL + "/"}, {baseURL + "/api/docs/"}, {baseURL + "/DOCS"}, {"HTTPS://" + host + "/docs"},
		{"https://" + strings.ToUpper(host) + "/docs"}, {"http://" + host + "/docs"},
		{"https://" + host + "@evil.example/docs"}, {"https://a@" + host + "/docs"},
		{"http://127.0.0.1/docs"}, {"com.evil:/docs"},
		{baseURL + "/console"}, {baseURL + "/console/x"}, {baseURL + "/console/", baseURL + "/docs"},
		{"https://evil.example/console/"}, {"http://127.0.0.1/console/"}, {baseURL + "/console/?x"},
		{baseURL + "/docs", "https://evil.example/cb"}, {baseURL + "/docs", "com.evil:/cb"},
	} {
		c := f.storeClient(func(c *client) { c.RedirectURIs = addresses })
		for _, address := range addresses {
			s := f.newBrowser().authorize(authorization(c, "redirect_uri", address))
			if strings.Contains(s.text(), ownOfPlatform) || !strings.Contains(s.text(), c.Name) {
				t.Errorf("%q of %q: %s", address, addresses, s.text())
			}
		}
	}
	c := f.storeClient(func(c *client) { c.RedirectURIs = []string{baseURL + "/docs"} })
	b := f.newBrowser()
	q := authorization(c, "redirect_uri", baseURL+"/docs", "resource", baseURL+"/mcp")
	s := b.signIn(b.authorize(q), "ana@metro.example")
	if s.page() != "consent" || strings.Contains(s.text(), ownOfPlatform) {
		t.Errorf("an agent: %s", s.text())
	}
}

// The platform's trust holds in every company, and has the limits of a company's.
func TestClientOfThePlatform(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const device = "http://127.0.0.1/cb"
	c := f.storeClient(func(c *client) { c.RedirectURIs = append(c.RedirectURIs, device) })
	testkit.Must(t, f.server.TrustClientEverywhere(t.Context(), c.ID, true))
	b := f.newBrowser()
	signIn := b.authorize(authorization(c))
	if !strings.Contains(signIn.text(), ownOfPlatform) || !strings.Contains(signIn.text(), c.Name) {
		t.Errorf("the sign-in: %s", signIn.text())
	}
	if s := b.signIn(signIn, "ana@metro.example"); s.page() != "code" {
		t.Errorf("after the sign-in: %s", s.text())
	}
	s := b.authorize(authorization(c, "tenant_hint", "nova", "prompt", "consent"))
	if !strings.Contains(s.text(), ownOfPlatform) {
		t.Errorf("in another company: %s", s.text())
	}
	s = b.authorize(authorization(c, "redirect_uri", device))
	if s.page() != "consent" || !strings.Contains(s.text(), ownOfPlatform) {
		t.Errorf("on the device: %s", s.text())
	}
	s = b.authorize(authorization(c, "resource", baseURL+"/mcp"))
	if s.page() != "consent" || !strings.Contains(s.text(), foreign) {
		t.Errorf("an agent: %s", s.text())
	}
	f.change(c.ID, func(c *client) { c.Name = "Another" })
	if s := b.authorize(authorization(c)); s.page() != "consent" || !strings.Contains(s.text(), foreign) {
		t.Errorf("under another name: %s", s.text())
	}
	f.change(c.ID, func(now *client) { now.Name = c.Name })
	if s := b.authorize(authorization(c)); s.page() != "code" {
		t.Errorf("under its name again: %s", s.text())
	}
	testkit.Must(t, f.server.TrustClientEverywhere(t.Context(), c.ID, false))
	if s := b.authorize(authorization(c)); s.page() != "consent" || !strings.Contains(s.text(), foreign) {
		t.Errorf("after the end: %s", s.text())
	}
	for _, trusted := range []bool{true, false} {
		if f.server.TrustClientEverywhere(t.Context(), "cli_x", trusted) == nil {
			t.Errorf("an unknown client: trusted %v", trusted)
		}
	}
}

const (
	ownOfPlatform = "pplication of this service itself"
	foreign       = "made by somebody else"
)

// change stores a client's changed registration.
func (f *fixture) change(id string, change func(*client)) {
	f.t.Helper()
	it := f.storedClient(id)
	var c client
	testkit.Must(f.t, it.Decode(&c))
	change(&c)
	it.Doc = c
	tx := f.db.Platform("CLIENT").Write()
	tx.Put(it)
	testkit.Must(f.t, tx.Commit(f.t.Context()))
}

// The pages show the logo of a client for which the company or the platform vouches, as
// it was then, and no other: anybody may register anybody's logo.
func TestLogoOfATrustedClient(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const logo = "https://planner.example/logo.png"
	by := audit.By{Who: "svc", At: f.now()}
	c := f.storeClient(func(c *client) { c.LogoURI = logo })
	shown := func(when string, want bool) {
		t.Helper()
		b := f.newBrowser()
		signIn := b.authorize(authorization(c, "prompt", "consent"))
		consent := b.signIn(signIn, "ana@metro.example")
		for _, s := range []response{signIn, consent} {
			if strings.Contains(s.body, `<img src="`) != want || strings.Contains(s.body, "evil") {
				t.Errorf("%s, %s: %s", when, s.page(), s.body)
			}
		}
		if consent.page() != "consent" {
			t.Errorf("%s: %s", when, consent.page())
		}
	}
	shown("nobody vouches", false)
	for name, set := range map[string]func(bool) error{
		"the company": func(on bool) error {
			return f.server.TrustClient(t.Context(), f.db.Tenant(f.metro.ID), by, c.ID, on)
		},
		"the platform": func(on bool) error { return f.server.TrustClientEverywhere(t.Context(), c.ID, on) },
	} {
		testkit.Must(t, set(true))
		shown(name, true)
		f.change(c.ID, func(c *client) { c.LogoURI = "https://evil.example/logo.png" })
		shown(name+", another logo", false)
		f.change(c.ID, func(c *client) { c.LogoURI = logo })
		testkit.Must(t, set(false))
		shown(name+" no longer", false)
	}
	testkit.Must(t, f.server.TrustClient(t.Context(), f.db.Tenant(f.metro.ID), by, c.ID, true))
	q := authorization(c, "resource", baseURL+"/mcp")
	if s := f.newBrowser().authorize(q); strings.Contains(s.body, "<img") {
		t.Error("an agent's logo is shown")
	}
}
