package oauth_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/data/audit"
	"svc/pkg/domain/person"
	"svc/pkg/oauth"
)

// letter is a mail that was sent.
type letter struct{ to, subject, text string }

// mailbox receives the mails of a server.
type mailbox struct {
	sent  []letter
	waits []time.Duration // by how much each response was delayed
	err   error           // of the next mails
}

// mailWait is how long the response to a request for a link is delayed.
const mailWait = 10 * time.Minute

// newFixtureWithMail returns a fixture that sends mails to the mailbox. Its
// requests do not really wait.
func newFixtureWithMail(t testing.TB, changes ...func(*oauth.Config)) (*fixture, *mailbox) {
	t.Helper()
	m := &mailbox{}
	f := newFixture(t, append(changes, func(c *oauth.Config) {
		c.Mail = func(_ context.Context, to, subject, text string) error {
			if m.err == nil {
				m.sent = append(m.sent, letter{to, subject, text})
			}
			return m.err
		}
	})...)
	f.server.SetMailWait(mailWait, func(d time.Duration) <-chan time.Time {
		m.waits = append(m.waits, d)
		past := make(chan time.Time)
		close(past)
		return past
	})
	return f, m
}

var mailedLink = regexp.MustCompile(`https://[^ ]+/oauth/password\?audience=[a-z]+&link=[A-Za-z0-9_-]{43}[^ ]*\n`)

// A person who forgot the password gets a link by mail, sets a new one, and
// signs in with it.
func TestForgot(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, email, from, to, tenant string
		client                        func(*client)
		subject                       string
	}{
		{"an operator", "ana@metro.example", baseURL, baseURL, "metro", nil, "Set a new password"},
		{"an operator of a tenant with a domain", "ana@metro.example", baseURL, baseURL, "nova", nil, "Set a new password"},
		{"a rider", "rita@home.example", baseURL, baseURL, "metro", forRiders, "Set a new password – Metro Cabs"},
		{"by another spelling", " RITA@home.example", baseURL, baseURL, "metro", forRiders,
			"Set a new password – Metro Cabs"},
		{"at a tenant's domain", "rita@home.example", novaURL, novaURL, "nova", forRiders, "Set a new password – Nova"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, mails := newFixtureWithMail(t)
			b := f.newBrowser()
			b.base = test.from
			q := authorization(f.storeClient(test.client), "tenant_hint", test.tenant, "scope", "openid")
			page := b.authorize(q)
			link := regexp.MustCompile(`<a href="(forgot\?[^"]*)"`).FindStringSubmatch(page.body)
			if link == nil {
				t.Fatalf("no link on %s", page.text())
			}
			at, err := page.at.Parse(strings.ReplaceAll(link[1], "&amp;", "&"))
			testkit.Must(t, err)
			s := b.post(b.get(at.String()), "email", test.email)
			if s.status != http.StatusOK || s.page() != "Check your mail" || len(mails.sent) != 1 {
				t.Fatalf("%d %s, %d mails", s.status, s.text(), len(mails.sent))
			}
			mail := mails.sent[0]
			where := strings.TrimSpace(mailedLink.FindString(mail.text))
			if mail.to != strings.ToLower(strings.TrimSpace(test.email)) || mail.subject != test.subject ||
				!strings.HasPrefix(where, test.to+"/") {
				t.Fatalf("%+v", mail)
			}
			const words = "another battery staple"
			if s := b.post(b.get(where), "password", words, "again", words); s.page() != "Your password is saved" {
				t.Fatalf("%d %s", s.status, s.text())
			}
			if got := b.follow(b.post(b.authorize(q), "email", test.email, "password", words)).page(); got != "consent" {
				t.Errorf("signed in: %s", got)
			}
			if got := f.newBrowser().get(where); got.page() != "This link is no longer good" {
				t.Errorf("the link again: %s", got.page())
			}
		})
	}
}

// Neither the response, nor the work, nor the time reveals whether an account
// exists.
func TestForgotAnswersAlike(t *testing.T) {
	t.Parallel()
	f, mails := newFixtureWithMail(t)
	ctx, by := context.Background(), audit.By{Who: "test", At: f.now()}
	people := person.Store{DB: f.db}
	gone, err := people.Create(ctx, by, person.Person{Email: "gone@metro.example"}, passwordHash())
	testkit.Must(t, err)
	testkit.Must(t, people.DisableEverywhere(ctx, by, gone.ID, true))
	var first string
	for i, test := range []struct {
		email string
		mails int
	}{{"ana@metro.example", 1}, {"noone@metro.example", 0}, {"gone@metro.example", 0}, {"not an address", 0}, {"", 0},
		{"rita@home.example", 0}} {
		before := len(mails.sent)
		s := f.newBrowser().forget(test.email)
		body := asTyped(s, test.email)
		if i == 0 {
			first = body
		}
		if s.status != http.StatusOK || body != first || len(mails.sent)-before != test.mails ||
			len(mails.waits) != i+1 || mails.waits[i] != mailWait {
			t.Errorf("%q: %d, %d mails, waited %v: %s", test.email, s.status, len(mails.sent)-before, mails.waits, s.text())
		}
	}
	mails.err = errors.New("SES is down")
	if s := f.newBrowser().forget("bob@metro.example"); s.status != http.StatusOK ||
		asTyped(s, "bob@metro.example") != first {
		t.Errorf("a mailer that fails: %d %s", s.status, s.text())
	}
}

// asTyped returns the page without what the person typed and without the form's
// token.
func asTyped(s response, email string) string {
	for _, part := range [][2]string{{"<bdi>", "</bdi>"}, {`value="`, `"`}} {
		s.body = strings.ReplaceAll(s.body, part[0]+email+part[1], part[0]+part[1])
	}
	return formCSRF.ReplaceAllString(s.body, "")
}

// forget asks for a link for an operator's account.
func (b *browser) forget(email string) response {
	b.t.Helper()
	return b.post(b.get("/oauth/forgot?audience=dashboard"), "email", email)
}

// linksAnAccount is the maximum number of links that one account gets in an hour.
const linksAnAccount = 3

// The number of mails is limited for each mailbox and for each requesting
// address.
func TestForgotThrottle(t *testing.T) {
	t.Parallel()
	f, mails := newFixtureWithMail(t, func(c *oauth.Config) { c.Limits.Links = 6 })
	for i := range 5 {
		if s := f.newBrowser().forget("ana@metro.example"); s.page() != "Check your mail" {
			t.Errorf("time %d: %s", i, s.text())
		}
	}
	if len(mails.sent) != linksAnAccount {
		t.Errorf("%d mails", len(mails.sent))
	}
	f.newBrowser().forget("bob@metro.example")
	s := f.newBrowser().forget("bob@metro.example")
	if s.status != http.StatusTooManyRequests || s.header.Get("Retry-After") == "" ||
		!strings.Contains(s.text(), "Too many requests") {
		t.Errorf("one too many: %d %s", s.status, s.text())
	}
	f.advance(time.Hour + time.Minute)
	f.newBrowser().forget("ana@metro.example")
	if len(mails.sent) != linksAnAccount+2 {
		t.Errorf("an hour later: %d mails", len(mails.sent))
	}
	where := strings.TrimSpace(mailedLink.FindString(mails.sent[len(mails.sent)-1].text))
	f.advance(oauth.MailedLinkLife)
	if got := f.newBrowser().get(where).page(); got != "This link is no longer good" {
		t.Errorf("a link of an hour ago: %s", got)
	}
}

// The mail goes to the stored address, and its link has the service's own
// address. Neither the typed address nor the Host header changes that.
func TestForgotIsNotLedAway(t *testing.T) {
	t.Parallel()
	f, mails := newFixtureWithMail(t)
	b := f.newBrowser()
	page := b.get("/oauth/forgot?audience=dashboard")
	to, csrf := page.form(t)
	at, err := page.at.Parse(to)
	testkit.Must(t, err)
	cookie := "__Host-svc-form=" + page.cookie("__Host-svc-form").Value
	for _, header := range [][]string{{"Host", "evil.example"}, {"X-Forwarded-Host", "evil.example"},
		{"Forwarded", "host=evil.example"}} {
		mails.sent = nil
		f.advance(time.Hour + time.Minute)
		f.newBrowser().do(http.MethodPost, at.String(), url.Values{"csrf": {csrf}, "email": {"ana@metro.example"}},
			append(header, "Cookie", cookie)...)
		if len(mails.sent) != 1 || !strings.Contains(mails.sent[0].text, baseURL+"/oauth/password?") ||
			strings.Contains(mails.sent[0].text, "evil") {
			t.Errorf("%v: %+v", header, mails.sent)
		}
	}
	mails.sent = nil
	f.advance(time.Hour + time.Minute)
	for _, email := range []string{"ana@metro.example\r\nBcc: evil@evil.example", "ana@metro.example,evil@evil.example",
		"ａna@metro.example", "Ana@Metro.Example"} {
		f.newBrowser().forget(email)
	}
	for _, mail := range mails.sent {
		if mail.to != "ana@metro.example" {
			t.Errorf("to %q", mail.to)
		}
	}
	if len(mails.sent) == 0 {
		t.Error("another spelling of the address gets no mail")
	}
	mails.sent = nil
	another := f.newBrowser()
	for _, want := range []int{http.StatusBadRequest, http.StatusSeeOther} { // first without a cookie
		s := another.do(http.MethodPost, at.String(), url.Values{"csrf": {csrf}, "email": {"ana@metro.example"}})
		if s.status != want || len(mails.sent) != 0 {
			t.Errorf("another browser's form: %d, %d mails", s.status, len(mails.sent))
		}
	}
}

// Without a mailer there is no link and no page.
func TestForgotWithoutAMailer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.newBrowser()
	if s := b.authorize(authorization(f.storeClient(nil))); strings.Contains(s.body, "forgot?") ||
		!strings.Contains(s.text(), "Ask the company for a link") {
		t.Errorf("the sign-in: %s", s.text())
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if s := b.do(method, "/oauth/forgot?audience=dashboard", nil); s.status != http.StatusNotFound {
			t.Errorf("%s: %d", method, s.status)
		}
	}
	f, _ = newFixtureWithMail(t)
	b = f.newBrowser()
	if s := b.get("/oauth/apps", "Accept-Language", "es"); !strings.Contains(s.body, "forgot?") ||
		!strings.Contains(s.text(), "¿Olvidaste") {
		t.Errorf("in Spanish: %s", s.text())
	}
	for query, want := range map[string]int{"audience=rider": 200, "audience=x": 400,
		"audience=rider&tenant_hint=nobody": 400, "audience=rider&tenant_hint=metro": 200} {
		if s := b.get("/oauth/forgot?" + query); s.status != want {
			t.Errorf("%s: %d", query, s.status)
		}
	}
}
