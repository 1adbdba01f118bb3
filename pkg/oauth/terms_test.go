package oauth_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/tenant"
)

const newTerms = "New terms"

// newAgreed returns a fixture with a rider who signed up under the version 2026-03 of
// the terms, which is then 2026-09.
func newAgreed(t *testing.T) (*fixture, client, func(version string)) {
	t.Helper()
	f := newFixture(t)
	f.letSignUp(f.metro.ID, tenant.SignUpOpen)
	f.setTerms(metroTerms)
	_, err := customer.Store.Create(t.Context(), f.tenant, f.by(), customer.Record{Customer: customer.Customer{
		FirstName: "Nina", Email: newcomer}, Agreed: &customer.Agreement{At: timestamp.Format(f.now()), Version: "2026-03",
		Terms: metroTerms}}, passwordHash())
	testkit.Must(t, err)
	return f, f.storeClient(forRiders), func(version string) {
		f.changeTenant(f.metro.ID, func(n *tenant.Tenant) { n.TermsVersion = version })
	}
}

// agreeing returns the value of a page's check box.
func agreeing(s response) string {
	_, value, _ := strings.Cut(s.body, `name="agree" type="checkbox" value="`)
	value, _, _ = strings.Cut(value, `"`)
	return value
}

// A rider who signed up agrees once to each further version of the terms, before an
// authorization goes on. Tokens and silent requests go on without it.
func TestNewerTerms(t *testing.T) {
	t.Parallel()
	f, c, publish := newAgreed(t)
	b := f.newBrowser()
	ask := []string{"scope", "openid rider.trips:read offline_access"}
	tokens := f.tokensBy(b, c, newcomer, ask...)
	before := b.authorize(authorization(c, append(ask, "prompt", "consent")...))
	if before.page() != "consent" {
		t.Fatalf("before: %s", before.text())
	}
	publish("2026-09")
	if r := f.refresh(registration{id: c.ID}, tokens.RefreshToken); r.status != http.StatusOK {
		t.Errorf("a refresh: %d %s", r.status, r.raw)
	}
	if s := b.authorize(authorization(c, append(ask, "prompt", "none")...)); s.page() != "code" {
		t.Errorf("a silent request: %s", s.text())
	}
	if s := b.consent(before); s.page() != newTerms {
		t.Errorf("a consent from before: %s", s.text())
	}
	q := authorization(c, ask...)
	page := b.authorize(q)
	if page.page() != newTerms || !strings.Contains(page.body, metroTerms) || !strings.Contains(page.text(), newcomer) {
		t.Fatalf("the page: %s", page.text())
	}
	old := agreeing(page)
	for _, value := range []string{"", "other terms"} {
		s := b.post(page, "agree", value)
		if s.status != http.StatusBadRequest || !strings.Contains(s.text(), "you have to agree") {
			t.Errorf("agreeing with %q: %d %s", value, s.status, s.text())
		}
	}
	publish("2026-10")
	f.advance(time.Second) // the audit log is ordered by time
	if s := b.post(page, "agree", old); s.status != http.StatusBadRequest || agreeing(s) == old {
		t.Errorf("agreeing to what is no longer current: %d %s", s.status, s.text())
	}
	s := f.newBrowser().do(http.MethodPost, "/oauth/terms?"+q.Encode(), formOf("agree", old))
	if s.status != http.StatusSeeOther {
		t.Errorf("nobody signed in: %d %s", s.status, s.text())
	}
	if r := f.rider(newcomer); r.Agreed.Version != "2026-03" {
		t.Errorf("agreed to %+v", r.Agreed)
	}
	page = b.authorize(q)
	if s := b.follow(b.post(page, "agree", agreeing(page))); s.page() != "code" {
		t.Fatalf("after agreeing: %s", s.text())
	}
	r := f.rider(newcomer)
	if *r.Agreed != (customer.Agreement{At: timestamp.Format(f.now()), Version: "2026-10", Terms: metroTerms,
		Privacy: "https://metro.example/privacy"}) {
		t.Errorf("agreed to %+v", r.Agreed)
	}
	entries, _, err := audit.List(t.Context(), f.tenant, "", 1)
	testkit.Must(t, err)
	if e := entries[0]; e.Who != r.ID || e.Subject != r.ID || e.Client != c.ID {
		t.Errorf("the audit log: %+v", e)
	}
	if s := b.authorize(q); s.page() != "code" {
		t.Errorf("the next time: %s", s.text())
	}
}

// Nobody else is asked: riders whom an operator added, operators, and riders of a company
// that publishes no terms or names no version.
func TestNewerTermsOfOthers(t *testing.T) {
	t.Parallel()
	f, c, publish := newAgreed(t)
	publish("2026-09")
	ask := []string{"scope", "openid rider.trips:read"}
	if s := f.newBrowser().finish(authorization(c, ask...), "rita@home.example"); s.page() != "code" {
		t.Errorf("a rider whom an operator added: %s", s.text())
	}
	if s := f.newBrowser().finish(authorization(f.storeClient(nil)), "ana@metro.example"); s.page() != "code" {
		t.Errorf("an operator: %s", s.text())
	}
	if s := f.newBrowser().finish(authorization(c, ask...), newcomer); s.page() != newTerms {
		t.Errorf("a rider who signed up: %s", s.text())
	}
	publish("")
	if s := f.newBrowser().finish(authorization(c, ask...), newcomer); s.page() != "code" {
		t.Errorf("without a version: %s", s.text())
	}
}

// A page that names the company by a wrong parameter says which one is right, and a
// sign-up without an audience is a rider's.
func TestSignUpSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	f, mails := newSignUps(t)
	b := f.newBrowser()
	for _, path := range []string{"signup?tenant=metro", "signup?audience=rider&tenant=metro", "forgot?tenant=metro",
		"apps?audience=rider&tenant=metro"} {
		if s := b.get("/oauth/" + path); s.status != http.StatusBadRequest || !strings.Contains(s.text(), "tenant_hint") {
			t.Errorf("%s: %d %s", path, s.status, s.text())
		}
	}
	if s := b.get("/oauth/signup?tenant_hint=nova"); s.status != http.StatusNotFound ||
		!strings.Contains(s.text(), "--rider-sign-up") {
		t.Errorf("where nobody may sign up: %d %s", s.status, s.text())
	}
	asked := b.get("/oauth/signup")
	if asked.status != http.StatusOK || !strings.Contains(asked.body, `name="tenant_hint"`) {
		t.Errorf("no company: %d %s", asked.status, asked.text())
	}
	page := b.get("/oauth/signup?tenant_hint=metro")
	for n := range 2 { // the second one sends nothing, and says so to everybody
		s := b.post(page, "email", newcomer)
		if s.status != http.StatusOK || !strings.Contains(s.text(), "one mail an hour") || len(mails.sent) != 1 {
			t.Errorf("request %d: %d %s, %d mails", n+1, s.status, s.text(), len(mails.sent))
		}
	}
	if !strings.Contains(mails.sent[0].text, "audience=rider") {
		t.Errorf("the mail: %s", mails.sent[0].text)
	}
}
