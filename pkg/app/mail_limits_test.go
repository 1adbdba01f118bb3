package app_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/mail"
	"svc/pkg/access/throttle"
	"svc/pkg/base/config"
	"svc/pkg/domain/tenant"
)

// postbox is the mailbox of a service.
type postbox struct {
	mu   sync.Mutex
	sent []string
}

func (p *postbox) mail(_ context.Context, to, _, _ string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, to)
	return nil
}

// take returns to whom mails went since the last call.
func (p *postbox) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.sent
	p.sent = nil
	return out
}

// causesOfMail returns what causes a mail of each kind to an address for a company, and
// reports whether the mail is refused.
func causesOfMail(t *testing.T, s *apptest.Service) map[string]func(slug, address string) (refused bool) {
	t.Helper()
	return map[string]func(slug, address string) (refused bool){
		config.MailInvitation: func(slug, address string) bool {
			a := s.Post(t, s.Token(t, s.Operator(t, slug, "olga")), "/api/v1/customers", fmt.Sprintf(`{"email":%q,"name":"A"}`,
				address))
			if a.Status == http.StatusTooManyRequests && a.Header.Get("Retry-After") == "" {
				t.Error("429 without Retry-After")
			}
			return a.Status == http.StatusTooManyRequests
		},
		config.MailForgot: func(slug, address string) bool { return asks(t, s.URL, "forgot", slug, address) },
		config.MailSignUp: func(slug, address string) bool { return asks(t, s.URL, "signup", slug, address) },
		config.MailWebhook: func(slug, address string) bool {
			who := s.Operator(t, slug, "owner"+strings.TrimSuffix(address, "@x.example"))
			err := s.Runtime.Sender().Mail(t.Context(), s.Tenant(slug).ID(), who.ID, "A webhook endpoint was disabled", "x")
			_, refused := throttle.Refused(err)
			if err != nil && !refused {
				t.Fatal(err)
			}
			return refused
		},
	}
}

// TestEveryKindOfMail: each kind of mail has a limit of its own. Whoever uses it up uses up
// no other kind, nor that of another company. An address that refused mail gets none of any
// kind, and nobody learns that.
func TestEveryKindOfMail(t *testing.T) {
	t.Parallel()
	const most = 2
	box, limits := &postbox{}, config.MailLimits{}
	for kind := range config.MailDefaults {
		limits[kind] = most
	}
	o := apptest.Options{Mail: box.mail, MailLimits: limits, Limits: apptest.Unthrottled}
	s := apptest.With(t, o)
	for _, slug := range []string{"metro", "harbor"} {
		s.Change(t, slug, func(n *tenant.Tenant) { n.RiderSignUp = tenant.SignUpOpen })
	}
	n, causes := 0, causesOfMail(t, s)
	if len(causes) != len(config.MailDefaults) {
		t.Fatalf("%d of %d kinds of mail are tested", len(causes), len(config.MailDefaults))
	}
	for kind := range config.MailDefaults {
		s.Clock.Advance(time.Hour + time.Minute) // everybody has the mails of the hour
		for i := range most + 1 {
			n++
			address := fmt.Sprintf("a%d@x.example", n)
			if kind == config.MailForgot {
				address = s.Rider(t, "metro", strings.TrimSuffix(address, "@x.example")).Email
			}
			refused := causes[kind]("metro", address)
			if mails := len(box.take()); refused != (i == most) || mails != map[bool]int{false: 1, true: 0}[refused] {
				t.Errorf("%s, time %d: refused %v, %d mails", kind, i+1, refused, mails)
			}
		}
		for other := range config.MailDefaults {
			n++
			if other != kind && causes[other]("metro", fmt.Sprintf("b%d@x.example", n)) {
				t.Errorf("%s used up %s", kind, other)
			}
		}
		n++
		byCompany := slices.Contains([]string{config.MailInvitation, config.MailWebhook}, kind)
		if refused := causes[kind]("harbor", fmt.Sprintf("c%d@x.example", n)); refused == byCompany {
			t.Errorf("%s: another company is refused: %v", kind, refused)
		}
		box.take()
	}
	testkit.Must(t, mail.NewStops(s.DB, s.Clock.Now).Add(t.Context(), "angry@x.example", mail.Complaint))
	s.Clock.Advance(time.Hour + time.Minute)
	for _, kind := range []string{config.MailSignUp, config.MailInvitation} {
		refused := causes[kind]("metro", "Angry@X.example")
		if mails := box.take(); refused || len(mails) > 0 {
			t.Errorf("%s to an address that complained: refused %v, mails %q", kind, refused, mails)
		}
	}
}

var csrf = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// asks sends the form of a page that mails a link, as a rider with a new browser.
func asks(t *testing.T, base, form, slug, address string) (refused bool) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	testkit.Must(t, err)
	browser := &http.Client{Jar: jar, Timeout: time.Minute}
	at := base + "/oauth/" + form + "?audience=rider&tenant_hint=" + slug
	page, err := browser.Get(at)
	testkit.Must(t, err)
	text, err := io.ReadAll(page.Body)
	testkit.Must(t, err)
	_ = page.Body.Close()
	token := csrf.FindSubmatch(text)
	if token == nil {
		t.Fatalf("%s: %d %s", at, page.StatusCode, text)
	}
	sent, err := browser.PostForm(at, url.Values{"csrf": {string(token[1])}, "email": {address}})
	testkit.Must(t, err)
	_ = sent.Body.Close()
	if sent.StatusCode != http.StatusOK && sent.StatusCode != http.StatusTooManyRequests {
		t.Errorf("%s: %d", at, sent.StatusCode)
	}
	return sent.StatusCode == http.StatusTooManyRequests
}
