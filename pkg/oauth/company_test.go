package oauth_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"svc/pkg/access/authz"
)

var (
	getForm  = regexp.MustCompile(`<form method="get" action="([^"]*)"`)
	linkText = regexp.MustCompile(`<a href="([^"]*)"[^>]*>([^<]*)</a>`)
)

// choose types the short name of a company on the page that asks for it.
func (b *browser) choose(s response, slug string) response {
	b.t.Helper()
	form := getForm.FindStringSubmatch(s.body)
	if s.page() != "Which company?" || form == nil {
		b.t.Fatalf("not asked for a company: %d %s", s.status, s.text())
	}
	q := url.Values{"tenant_hint": {slug}}
	for _, m := range hiddenInput.FindAllStringSubmatch(s.body, -1) {
		q.Add(m[1], html.UnescapeString(m[2]))
	}
	return b.get("/oauth/" + form[1] + "?" + q.Encode())
}

// click follows the link with the text.
func (b *browser) click(s response, text string) response {
	b.t.Helper()
	for _, m := range linkText.FindAllStringSubmatch(s.body, -1) {
		if m[2] == text {
			to, err := s.at.Parse(html.UnescapeString(m[1]))
			if err != nil {
				b.t.Fatal(err)
			}
			return b.follow(b.get(to.String()))
		}
	}
	b.t.Fatalf("no link %q: %s", text, s.text())
	return response{}
}

// A rider whose client names no company is asked for it, and then returns to
// the client. The browser remembers the company, and the rider can choose
// another one.
func TestWhichCompany(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c, b := f.storeClient(forRiders), f.newBrowser()
	q := authorization(c, "scope", "rider.trips:read", "tenant_hint", "")
	unknown := b.choose(b.authorize(q), "nobody")
	if unknown.status != http.StatusBadRequest || !strings.Contains(unknown.body, `value="nobody"`) ||
		!strings.Contains(unknown.text(), "no company") {
		t.Errorf("an unknown name: %d %s", unknown.status, unknown.text())
	}
	signIn := b.choose(unknown, " Metro ")
	if signIn.page() != "sign-in" || !strings.Contains(signIn.body, "Metro Cabs") {
		t.Fatalf("%d %s", signIn.status, signIn.text())
	}
	consent := b.signIn(signIn, "rita@home.example")
	again := b.click(consent, "Choose another company")
	if !strings.Contains(again.body, `value="metro"`) {
		t.Errorf("the company is not remembered: %s", again.body)
	}
	away := b.choose(again, "nova") // riders of nova sign in at its own domain
	if away.location == "" || !strings.HasPrefix(away.location, novaURL+"/oauth/authorize?") ||
		away.status != http.StatusOK {
		t.Errorf("to the company's domain: %d %s", away.status, away.location)
	}
	answer := b.consent(b.choose(again, "metro"))
	if answer.answer.Get("code") == "" || answer.answer.Get("state") != "s-1" {
		t.Fatalf("%d %s", answer.status, answer.text())
	}
	// The rider is signed in and has consented. A page leads to the client,
	// because a form led to this request.
	if s := b.choose(b.authorize(q), "metro"); s.status != http.StatusOK || s.answer.Get("code") == "" {
		t.Errorf("once more: %d %s", s.status, s.text())
	}
}

// An operator can go back from the consent page to the picker.
func TestAnotherCompanyForAnOperator(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.newBrowser()
	picker := b.signIn(b.authorize(authorization(f.storeClient(nil), "tenant_hint", "")), "ana@metro.example")
	consent := b.follow(b.post(picker, "tenant", "metro"))
	if !strings.Contains(consent.text(), "Metro Cabs") {
		t.Fatal(consent.text())
	}
	picker = b.click(consent, "Choose another company")
	if picker.page() != "picker" {
		t.Fatalf("%d %s", picker.status, picker.text())
	}
	if consent = b.follow(b.post(picker, "tenant", "nova")); consent.page() != "consent" ||
		!strings.Contains(consent.text(), "Nova") {
		t.Errorf("%d %s", consent.status, consent.text())
	}
	bob := f.newBrowser()
	only := bob.signIn(bob.authorize(authorization(f.storeClient(nil), "tenant_hint", "")), "bob@metro.example")
	if only.page() != "consent" || strings.Contains(only.text(), "Choose another company") {
		t.Errorf("with one membership: %s", only.text())
	}
}

// A rider reaches the page of connected applications from its address without
// parameters, and after setting a password.
func TestRidersReachTheirApps(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.newBrowser()
	signIn := b.choose(b.click(b.get("/oauth/apps"), "I am a rider"), "metro")
	if s := b.signIn(signIn, "rita@home.example"); !strings.Contains(s.text(), "rita@home.example") ||
		!strings.Contains(s.text(), "Connected applications") {
		t.Errorf("%d %s", s.status, s.text())
	}
	for _, test := range []struct {
		audience authz.Audience
		tenant   string
	}{{authz.Rider, f.metro.ID}, {authz.Driver, f.metro.ID}, {authz.Dashboard, ""}} {
		email, fresh := f.emails[test.audience], f.newBrowser()
		saved := fresh.post(fresh.get(f.newLink(test.audience, test.tenant, email)), "password", password, "again", password)
		if s := fresh.signIn(fresh.click(saved, "Sign in"), email); !strings.Contains(s.text(), "Connected applications") {
			t.Errorf("%s: %d %s", test.audience, s.status, s.text())
		}
	}
}

// The error for a request with unknown scopes names them.
func TestUnknownScopesAreNamed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.newBrowser()
	s := b.authorize(authorization(f.storeClient(nil), "scope", "everything tenant.trips:raed"))
	if s.status != http.StatusBadRequest || !strings.Contains(s.text(), "everything tenant.trips:raed") {
		t.Errorf("%d %s", s.status, s.text())
	}
}
