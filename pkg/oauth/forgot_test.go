package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc/pkg/audit"
	"svc/pkg/person"
)

// letter is a mail that was sent.
type letter struct{ to, subject, text string }

// mailer gives the server a mailer, and what it has sent. No request waits.
func (h *house) mailer() *[]letter {
	sent := &[]letter{}
	h.server.config.Mail = func(_ context.Context, to, subject, text string) error {
		*sent = append(*sent, letter{to, subject, text})
		return nil
	}
	h.server.mailTime = 10 * time.Minute
	h.server.after = func(time.Duration) <-chan time.Time {
		past := make(chan time.Time)
		close(past)
		return past
	}
	return sent
}

var mailedLink = regexp.MustCompile(`https://[^ ]+/oauth/password\?link=[A-Za-z0-9_-]{43}\n`)

// A person who forgot the password gets a link by mail, sets a new one, and
// signs in with it.
func TestForgot(t *testing.T) {
	for _, test := range []struct {
		name, email, from, to, tenant string
		client                        func(*Client)
		subject                       string
	}{
		{"an operator", "ana@metro.example", houseBase, houseBase, "metro", nil, "Set a new password"},
		{"an operator at a tenant's domain", "ana@metro.example", "https://ride.nova.example", houseBase, "nova", nil, "Set a new password"},
		{"a rider", "rita@home.example", houseBase, houseBase, "metro", riders, "Set a new password – Metro Cabs"},
		{"by another spelling", " RITA@home.example", houseBase, houseBase, "metro", riders, "Set a new password – Metro Cabs"},
		{"at a tenant's domain", "rita@home.example", "https://ride.nova.example", "https://ride.nova.example", "nova", riders, "Set a new password – Nova"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHouse(t)
			h.t = t
			sent := h.mailer()
			v := h.visitor()
			v.host = test.from
			q := ask(h.planner(test.client), "tenant_hint", test.tenant, "scope", "openid")
			page := v.authorize(q)
			link := regexp.MustCompile(`<a href="(forgot\?[^"]*)"`).FindStringSubmatch(page.body)
			if link == nil {
				t.Fatalf("no link on %s", page.text())
			}
			at, err := page.at.Parse(strings.ReplaceAll(link[1], "&amp;", "&"))
			must(t, err)
			s := v.post(v.get(at.String()), "email", test.email)
			if s.status != http.StatusOK || s.page() != "Check your mail" || len(*sent) != 1 {
				t.Fatalf("%d %s, %d mails", s.status, s.text(), len(*sent))
			}
			mail := (*sent)[0]
			where := strings.TrimSpace(mailedLink.FindString(mail.text))
			if mail.to != strings.ToLower(strings.TrimSpace(test.email)) || mail.subject != test.subject || !strings.HasPrefix(where, test.to+"/") {
				t.Fatalf("%+v", mail)
			}
			const words = "another battery staple"
			if s := v.post(v.get(where), "password", words, "again", words); s.page() != "Your password is saved" {
				t.Fatalf("%d %s", s.status, s.text())
			}
			if got := v.follow(v.post(v.authorize(q), "email", test.email, "password", words)).page(); got != "consent" {
				t.Errorf("signed in: %s", got)
			}
			if got := h.visitor().get(where); got.page() != "This link is no longer good" {
				t.Errorf("the link again: %s", got.page())
			}
		})
	}
}

// Neither the answer nor the work nor the time says whether there is an account.
func TestForgotAnswersAlike(t *testing.T) {
	h := newHouse(t)
	ctx, by := context.Background(), audit.By{Who: "test", At: h.clock()}
	people := person.Store{DB: h.db}
	gone, err := people.Create(ctx, by, person.Person{Email: "gone@metro.example"}, hashed())
	must(t, err)
	must(t, people.DisableEverywhere(ctx, by, gone.ID, true))
	sent := h.mailer()
	var waits []time.Duration
	none := h.server.after
	h.server.after = func(d time.Duration) <-chan time.Time {
		waits = append(waits, d)
		return none(d)
	}
	var first seen
	for i, test := range []struct {
		email string
		mails int
	}{{"ana@metro.example", 1}, {"noone@metro.example", 0}, {"gone@metro.example", 0}, {"not an address", 0}, {"", 0}, {"rita@home.example", 0}} {
		before := len(*sent)
		s := h.visitor().forget(test.email)
		if i == 0 {
			first = s
		}
		if s.status != http.StatusOK || s.body != first.body || len(*sent)-before != test.mails || len(waits) != i+1 || waits[i] != h.server.mailTime {
			t.Errorf("%q: %d, %d mails, waited %v: %s", test.email, s.status, len(*sent)-before, waits, s.text())
		}
	}
	h.server.config.Mail = func(context.Context, string, string, string) error { return errors.New("SES is down") }
	if s := h.visitor().forget("bob@metro.example"); s.status != http.StatusOK || s.body != first.body {
		t.Errorf("a mailer that fails: %d %s", s.status, s.text())
	}
}

// forget asks for a link for an operator's account.
func (v *visitor) forget(email string) seen {
	v.h.t.Helper()
	return v.post(v.get("/oauth/forgot?audience=dashboard"), "email", email)
}

// Few mails go to one mailbox, and one address asks for few.
func TestForgotThrottle(t *testing.T) {
	h := newHouse(t)
	sent := h.mailer()
	h.server.config.Limits.Links = 6
	for i := range 5 {
		if s := h.visitor().forget("ana@metro.example"); s.page() != "Check your mail" {
			t.Errorf("time %d: %s", i, s.text())
		}
	}
	if len(*sent) != linksAnAccount {
		t.Errorf("%d mails", len(*sent))
	}
	h.visitor().forget("bob@metro.example")
	s := h.visitor().forget("bob@metro.example")
	if s.status != http.StatusTooManyRequests || s.header.Get("Retry-After") == "" || !strings.Contains(s.text(), "Too many requests") {
		t.Errorf("one too many: %d %s", s.status, s.text())
	}
	h.pass(time.Hour)
	h.visitor().forget("ana@metro.example")
	if len(*sent) != linksAnAccount+2 {
		t.Errorf("an hour later: %d mails", len(*sent))
	}
	where := strings.TrimSpace(mailedLink.FindString((*sent)[len(*sent)-1].text))
	h.pass(MailedLinkLife)
	if got := h.visitor().get(where).page(); got != "This link is no longer good" {
		t.Errorf("a link of an hour ago: %s", got)
	}
}

// The mail goes to the address that is stored, by the address of the service:
// what the caller typed or called the host decides neither.
func TestForgotIsNotLedAway(t *testing.T) {
	h := newHouse(t)
	sent := h.mailer()
	v := h.visitor()
	page := v.get("/oauth/forgot?audience=dashboard")
	to, csrf := page.form(t)
	at, err := page.at.Parse(to)
	must(t, err)
	cookie := "__Host-svc-form=" + page.cookie("__Host-svc-form").Value
	for _, header := range [][]string{{"Host", "evil.example"}, {"X-Forwarded-Host", "evil.example"}, {"Forwarded", "host=evil.example"}} {
		*sent = nil
		h.pass(time.Hour)
		h.visitor().do(http.MethodPost, at.String(), url.Values{"csrf": {csrf}, "email": {"ana@metro.example"}}, append(header, "Cookie", cookie)...)
		if len(*sent) != 1 || !strings.Contains((*sent)[0].text, houseBase+"/oauth/password?") || strings.Contains((*sent)[0].text, "evil") {
			t.Errorf("%v: %+v", header, *sent)
		}
	}
	*sent = nil
	h.pass(time.Hour)
	for _, email := range []string{"ana@metro.example\r\nBcc: evil@evil.example", "ana@metro.example,evil@evil.example", "ａna@metro.example", "Ana@Metro.Example"} {
		h.visitor().forget(email)
	}
	for _, mail := range *sent {
		if mail.to != "ana@metro.example" {
			t.Errorf("to %q", mail.to)
		}
	}
	if len(*sent) == 0 {
		t.Error("another spelling of the address gets no mail")
	}
	*sent = nil
	s := h.visitor().do(http.MethodPost, at.String(), url.Values{"csrf": {csrf}, "email": {"ana@metro.example"}})
	if s.status != http.StatusSeeOther || len(*sent) != 0 {
		t.Errorf("another browser's form: %d, %d mails", s.status, len(*sent))
	}
}

// Without a mailer there is no link and no page.
func TestForgotWithoutAMailer(t *testing.T) {
	h := newHouse(t)
	v := h.visitor()
	if s := v.authorize(ask(h.planner(nil))); strings.Contains(s.body, "forgot?") || !strings.Contains(s.text(), "Ask the company for a link") {
		t.Errorf("the sign-in: %s", s.text())
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if s := v.do(method, "/oauth/forgot?audience=dashboard", nil); s.status != http.StatusNotFound {
			t.Errorf("%s: %d", method, s.status)
		}
	}
	h.mailer()
	if s := v.get("/oauth/apps", "Accept-Language", "es"); !strings.Contains(s.body, "forgot?") || !strings.Contains(s.text(), "¿Olvidaste") {
		t.Errorf("in Spanish: %s", s.text())
	}
	for query, want := range map[string]int{"audience=rider": 400, "audience=x": 400, "audience=rider&tenant_hint=nobody": 400, "audience=rider&tenant_hint=metro": 200} {
		if s := v.get("/oauth/forgot?" + query); s.status != want {
			t.Errorf("%s: %d", query, s.status)
		}
	}
}
