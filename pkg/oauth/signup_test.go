package oauth_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/tenant"
	"svc/pkg/oauth"
)

const (
	newcomer   = "nina@home.example"
	newWords   = "another battery staple"
	metroTerms = "https://metro.example/terms"
)

// changeTenant changes a tenant.
func (f *fixture) changeTenant(id string, edit func(*tenant.Tenant)) {
	f.t.Helper()
	_, err := tenant.Store{DB: f.db}.Change(f.t.Context(), id, f.by(), func(n *tenant.Tenant) error {
		edit(n)
		return nil
	})
	testkit.Must(f.t, err)
}

// letSignUp sets who may sign up at a tenant.
func (f *fixture) letSignUp(id, who string) {
	f.t.Helper()
	f.changeTenant(id, func(n *tenant.Tenant) { n.RiderSignUp, n.TermsVersion = who, "2026-03" })
}

// setTerms sets the addresses of metro's terms and privacy policy.
func (f *fixture) setTerms(terms string) {
	f.t.Helper()
	tx := f.tenant.Write()
	tx.Put(table.Item{Key: f.tenant.Key("BRANDING", "BRANDING"), Type: "branding", Version: 1,
		Doc: map[string]any{"termsUrl": terms, "privacyUrl": "https://metro.example/privacy"}})
	testkit.Must(f.t, tx.Commit(f.t.Context()))
}

// newSignUps returns a fixture with a mailbox in which everybody may sign up at metro.
func newSignUps(t testing.TB, changes ...func(*oauth.Config)) (*fixture, *mailbox) {
	t.Helper()
	f, mails := newFixtureWithMail(t, changes...)
	f.letSignUp(f.metro.ID, tenant.SignUpOpen)
	return f, mails
}

const (
	metroRider = "audience=rider&tenant_hint=metro"
	ownSignUp  = "/oauth/signup?" + metroRider
)

// signUpLink signs up and returns the mailed link, "" if none was mailed.
func (m *mailbox) signUpLink(b *browser, page response, email string) string {
	b.t.Helper()
	before := len(m.sent)
	if s := b.post(page, "email", email); s.status != http.StatusOK {
		b.t.Fatalf("%d %s", s.status, s.text())
	}
	if len(m.sent) == before {
		return ""
	}
	return strings.TrimSpace(mailedLink.FindString(m.sent[before].text))
}

// fill fills in the page of a sign-up's link. Further pairs change the values.
func (b *browser) fill(page response, pairs ...string) response {
	b.t.Helper()
	form := formOf("given", "Nina", "family", "Nuñez", "password", newWords, "again", newWords)
	if _, agree, found := strings.Cut(page.body, `name="agree" type="checkbox" value="`); found {
		agree, _, _ = strings.Cut(agree, `"`)
		form.Set("agree", agree)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	to, csrf := page.form(b.t)
	form.Set("csrf", csrf)
	return b.do(http.MethodPost, to, form)
}

// rider reads the rider with an address at metro, the zero record if there is none.
func (f *fixture) rider(email string) customer.Record {
	f.t.Helper()
	r, err := customer.Store.Find(f.t.Context(), f.tenant, email)
	if l, none := login.Find(f.t.Context(), f.tenant, authz.Rider, email); none != nil || l.Actor == "" {
		return customer.Record{}
	}
	testkit.Must(f.t, err)
	return r
}

// A rider signs up on the way to an application, proves the address by the mailed
// link, agrees to the terms, and goes on to the application.
func TestSignUp(t *testing.T) {
	t.Parallel()
	f, mails := newSignUps(t)
	f.setTerms(metroTerms)
	b := f.newBrowser()
	q := authorization(f.storeClient(forRiders), "tenant_hint", "metro", "scope", "openid rider.trips:read",
		"ui_locales", "de")
	page := b.get(b.authorize(q).link(t, "signup?"))
	if page.page() != "Konto erstellen" || !strings.Contains(page.body, "Metro Cabs") {
		t.Fatalf("the page: %s", page.text())
	}
	where := mails.signUpLink(b, page, " Nina@HOME.example")
	if mails.sent[0].to != newcomer || !strings.HasPrefix(mails.sent[0].subject, "Konto erstellen – Metro Cabs") ||
		f.rider(newcomer).ID != "" {
		t.Fatalf("%+v", mails.sent)
	}
	for range 2 { // mail programs open links before people do
		f.newBrowser().get(where)
	}
	form := b.get(where)
	for _, test := range []struct{ name, value, problem string }{
		{"agree", "", "zustimmen"}, {"agree", "other terms", "zustimmen"}, {"given", " ", "Ihren Namen"},
		{"given", strings.Repeat("a", 101), "Ihren Namen"}, {"family", "a\x00", "Ihren Namen"},
		{"password", "short", "zu kurz"}, {"again", "different words", "nicht gleich"}} {
		pairs := []string{test.name, test.value}
		if test.name == "given" && test.value == " " {
			pairs = append(pairs, "family", "")
		}
		s := b.fill(form, pairs...)
		if s.status != http.StatusBadRequest || !strings.Contains(s.text(), test.problem) {
			t.Errorf("%s %q: %d %s", test.name, test.value, s.status, s.text())
		}
	}
	f.advance(time.Second)
	s := b.follow(b.fill(form))
	if s.page() != "consent" || b.consent(s).answer.Get("state") != q.Get("state") {
		t.Fatalf("it does not go on: %s", s.text())
	}
	r := f.rider(newcomer)
	want := customer.Agreement{At: r.CreatedAt, Version: "2026-03", Terms: metroTerms,
		Privacy: "https://metro.example/privacy"}
	if r.Name != "Nina Nuñez" || r.Email != newcomer || r.Agreed == nil || *r.Agreed != want {
		t.Errorf("%+v agreed %+v", r, r.Agreed)
	}
	entries, _, err := audit.List(t.Context(), f.tenant, "", 1)
	testkit.Must(t, err)
	if entries[0].What != "customer.add" || entries[0].Who != r.ID || entries[0].Subject != r.ID ||
		strings.Contains(string(entries[0].After), "argon2") {
		t.Errorf("the audit log: %+v", entries[0])
	}
	if s := f.newBrowser().get(where); s.status != http.StatusBadRequest || s.page() != "Dieser Link gilt nicht mehr" {
		t.Errorf("the link again: %d %s", s.status, s.text())
	}
	if got := f.newBrowser().finish(q, newcomer); got.page() != "sign-in" {
		t.Errorf("another's password: %s", got.text())
	}
	q = authorization(f.storeClient(forRiders), "tenant_hint", "metro", "scope", "openid", "prompt", "login")
	if got := b.follow(b.post(b.authorize(q), "email", newcomer, "password", newWords)); got.page() != "consent" {
		t.Errorf("signing in: %s", got.text())
	}
}

// Neither the response, nor its time, nor its status reveals whether an address has an
// account, or may have one.
func TestSignUpAnswersAlike(t *testing.T) {
	t.Parallel()
	f, mails := newSignUps(t)
	disabled, err := customer.Store.Create(t.Context(), f.tenant, f.by(), customer.Record{Customer: customer.Customer{
		FirstName: "Gone", Email: "gone@home.example"}}, passwordHash())
	testkit.Must(t, err)
	_, err = customer.Store.Change(t.Context(), f.tenant, f.by(), disabled.ID, func(r *customer.Record) error {
		r.Disabled = true
		return nil
	})
	testkit.Must(t, err)
	var first string
	post := func(email, subject string) {
		t.Helper()
		before, waits := len(mails.sent), len(mails.waits)
		b := f.newBrowser()
		s := b.post(b.get(ownSignUp), "email", email)
		body := asTyped(s, email)
		if first == "" {
			first = body
		}
		got := ""
		if len(mails.sent) > before {
			got = mails.sent[before].subject
		}
		if s.status != http.StatusOK || body != first || got != subject || len(mails.waits) != waits+1 ||
			mails.waits[waits] != mailWait {
			t.Errorf("%q: %d, mail %q, waited %v: %s", email, s.status, got, mails.waits, s.text())
		}
	}
	post(newcomer, "Create an account – Metro Cabs")
	post(newcomer, "") // one mail an hour
	post("rita@home.example", "You have an account – Metro Cabs")
	post("RITA@home.example ", "")
	post("gone@home.example", "")
	post("not an address", "")
	post("\u212aim@home.example", "Create an account – Metro Cabs") // folds to another's address
	if to := mails.sent[len(mails.sent)-1].to; to != "kim@home.example" {
		t.Errorf("the mail went to %q", to)
	}
	post("nina@home.example\r\nBcc: evil@evil.example", "")
	f.letSignUp(f.metro.ID, tenant.SignUpInvite)
	post("nobody@home.example", "")
	for _, m := range mails.sent {
		if m.subject == "You have an account – Metro Cabs" && (m.to != "rita@home.example" ||
			mailedLink.MatchString(m.text) || !strings.Contains(m.text, baseURL+"/oauth/apps?"+metroRider) ||
			!strings.Contains(m.text, baseURL+"/oauth/forgot?"+metroRider)) {
			t.Errorf("%+v", m)
		}
	}
	mails.err = errors.New("SES is down")
	f.advance(time.Hour + time.Minute)
	post(newcomer, "")
	mails.err = nil
	post(newcomer, "") // invited only
	f.letSignUp(f.metro.ID, tenant.SignUpOpen)
	post("next@home.example", "Create an account – Metro Cabs")
}

// If a mail cannot be sent, the next try may send it. Each network address may ask a
// limited number of times.
func TestSignUpThrottle(t *testing.T) {
	t.Parallel()
	f, mails := newSignUps(t, func(c *oauth.Config) { c.Limits.SignUps = 4 })
	b := f.newBrowser()
	mails.err = errors.New("SES is down")
	if where := mails.signUpLink(b, b.get(ownSignUp), newcomer); where != "" {
		t.Errorf("mailed %s", where)
	}
	mails.err = nil
	if where := mails.signUpLink(b, b.get(ownSignUp), newcomer); where == "" {
		t.Error("no mail after one that failed")
	}
	for i, email := range []string{"a@home.example", "b@home.example", "c@home.example"} {
		s := b.post(b.get(ownSignUp), "email", email)
		if refused := s.status == http.StatusTooManyRequests; refused != (i == 2) {
			t.Errorf("%s: %d %s", email, s.status, s.text())
		}
	}
}

// If the table is unavailable, the pages keep what was typed except the password. If it
// fails after the account was made, the rider signs in with the password.
func TestSignUpOnABrokenTable(t *testing.T) {
	t.Parallel()
	f, mails := newSignUps(t)
	b := f.newBrowser()
	page := b.get(ownSignUp)
	form := b.get(mails.signUpLink(b, page, newcomer))
	f.wire.Break()
	expectTryAgain(t, "sign-up", b.post(page, "email", "next@home.example"), "next@home.example", "Check your mail")
	busy := b.fill(form)
	expectTryAgain(t, "link", busy, "Nuñez", newWords)
	f.wire.Restore()
	for p := range testkit.Points(t, 19) {
		f.wire.BreakAfter(p.N)
		s := b.fill(busy)
		f.wire.Restore()
		if p.Reached(f.rider(newcomer).ID == "") {
			expectTryAgain(t, "link", s, "Nuñez", newWords)
			continue
		} else if s.page() == "Your account is ready" {
			s = b.post(b.get(s.link(t, "apps?")), "email", newcomer, "password", newWords)
		}
		if s.status != http.StatusSeeOther {
			t.Errorf("broken at %v: %d %s", p, s.status, s.text())
		}
	}
}

// Where nobody may sign up, there is no page and no link to it, and a link that was
// mailed before is void.
func TestSignUpIsOffered(t *testing.T) {
	t.Parallel()
	f, mails := newSignUps(t)
	b := f.newBrowser()
	where := mails.signUpLink(b, b.get(ownSignUp), newcomer)
	form := b.get(where)
	offered := func(query string) (link bool, status int) {
		b := f.newBrowser()
		return strings.Contains(b.get("/oauth/apps?"+query).body, `href="signup?`), b.get("/oauth/signup?" + query).status
	}
	for query, want := range map[string]bool{metroRider: true, "audience=rider&tenant_hint=nova": false,
		"audience=driver&tenant_hint=metro": false, "audience=dashboard&tenant_hint=metro": false} {
		if link, status := offered(query); link != want || (status == http.StatusOK) != want ||
			!want && status != http.StatusNotFound {
			t.Errorf("%q: a link %v, status %d", query, link, status)
		}
	}
	for name, change := range map[string]func(*tenant.Tenant){
		"off":       func(n *tenant.Tenant) { n.RiderSignUp = "off" },
		"invited":   func(n *tenant.Tenant) { n.RiderSignUp = tenant.SignUpInvite },
		"suspended": func(n *tenant.Tenant) { n.Disabled = true }} {
		f.changeTenant(f.metro.ID, change)
		if s := b.fill(form); s.status != http.StatusBadRequest || f.rider(newcomer).ID != "" {
			t.Errorf("%s: a link from before: %d %s", name, s.status, s.text())
		}
		f.changeTenant(f.metro.ID, func(n *tenant.Tenant) { n.RiderSignUp, n.Disabled = tenant.SignUpOpen, false })
	}
	f, _ = newSignUps(t)
	f.serve(oauth.New(oauth.Config{BaseURL: baseURL, Now: f.now}, f.db, f.keys, nil))
	if link, status := offered(metroRider); link || status != http.StatusNotFound {
		t.Errorf("without a mailer: a link %v, status %d", link, status)
	}
}
