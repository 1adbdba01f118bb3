package oauth_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/oauth"
)

// link returns the address of the page's first link whose address begins with a
// prefix.
func (s response) link(t testing.TB, prefix string) string {
	t.Helper()
	found := regexp.MustCompile(`<a href="(` + regexp.QuoteMeta(prefix) + `[^"]*)"`).FindStringSubmatch(s.body)
	if found == nil {
		t.Fatalf("no link to %s on %s", prefix, s.text())
	}
	at, err := s.at.Parse(html.UnescapeString(found[1]))
	testkit.Must(t, err)
	return at.String()
}

// "Check your mail" leads back to the sign-in of the application and to another
// address, and sends the link again. The limits count each sending.
func TestWaysFromCheckYourMail(t *testing.T) {
	t.Parallel()
	f, mails := newFixtureWithMail(t, func(c *oauth.Config) { c.Limits.Links = 5 })
	for _, email := range []string{"rita@home.example", "nobody@home.example"} {
		b := f.newBrowser()
		mails.sent = nil
		f.advance(time.Hour + time.Minute)
		q := authorization(f.storeClient(forRiders), "tenant_hint", "metro", "scope", "openid", "ui_locales", "de")
		sent := b.post(b.get(b.authorize(q).link(t, "forgot?")), "email", email)
		if got := b.get(sent.link(t, "authorize?")); got.page() != "sign-in" ||
			got.at.Query().Get("state") != q.Get("state") || !strings.Contains(got.body, "Planner") {
			t.Errorf("%s: back: %s", email, got.text())
		}
		if got := b.get(sent.link(t, "forgot?")); got.page() != "Neues Passwort festlegen" {
			t.Errorf("%s: another address: %s", email, got.text())
		}
		if !strings.Contains(sent.body, "Metro Cabs") || sent.page() != "Sehen Sie in Ihr Postfach" {
			t.Errorf("%s: not in the company's look: %s", email, sent.text())
		}
		first := asTyped(sent, email)
		for n := 2; n <= 5; n++ {
			sent = b.do(http.MethodPost, sent.at.String(), hiddenInputs(sent))
			if sent.status != http.StatusOK || asTyped(sent, email) != first {
				t.Fatalf("%s: time %d: %d %s", email, n, sent.status, sent.text())
			}
		}
		if want := map[string]int{"rita@home.example": linksAnAccount}[email]; len(mails.sent) != want {
			t.Errorf("%s: %d mails, want %d", email, len(mails.sent), want)
		}
		sent = b.do(http.MethodPost, sent.at.String(), hiddenInputs(sent))
		if sent.status != http.StatusTooManyRequests || !strings.Contains(sent.body, `value="`+email+`"`) {
			t.Errorf("%s: one too many: %d %s", email, sent.status, sent.text())
		}
	}
	b := f.newBrowser()
	f.advance(time.Hour + time.Minute)
	own := b.post(b.get("/oauth/forgot?audience=rider&tenant_hint=metro"), "email", "rita@home.example")
	if got := b.get(own.link(t, "apps?")); got.page() != "sign-in" || !strings.Contains(got.text(), "rider account") {
		t.Errorf("back to the sign-in of the connected applications: %s", got.text())
	}
}

// A used or expired link leads to a new one, in the look of the company and in
// the language of the mail.
func TestWaysFromAUsedLink(t *testing.T) {
	t.Parallel()
	f, mails := newFixtureWithMail(t)
	use := func(where string) {
		b := f.newBrowser()
		b.post(b.get(where), "password", "another battery staple", "again", "another battery staple")
	}
	mailed := func(query, email string) string {
		b := f.newBrowser()
		mails.sent = nil
		b.post(b.get("/oauth/forgot?"+query), "email", email)
		return strings.TrimSpace(mailedLink.FindString(mails.sent[0].text))
	}
	printed := func(audience authz.Audience, tenantID, email string) string {
		return f.newLink(audience, tenantID, email)
	}
	rider := mailed("audience=rider&tenant_hint=metro&ui_locales=ar", "rita@home.example")
	operator := mailed("audience=dashboard&tenant_hint=metro&ui_locales=fr", "ana@metro.example")
	driver := printed(authz.Driver, f.metro.ID, "dan@home.example")
	unused := printed(authz.Rider, f.metro.ID, "rita@home.example")
	for _, where := range []string{rider, operator, driver} {
		use(where)
	}
	f.advance(25 * time.Hour)
	for _, test := range []struct{ name, link, title, forgot, look string }{
		{"a rider's", rider, "لم يعد هذا الرابط صالحًا", "تعيين كلمة مرور جديدة", "Metro Cabs"},
		{"an operator's, who belongs to no company", operator, "Ce lien n’est plus valable", "Créer un nouveau mot de passe",
			"svc"},
		{"a driver's that svc printed", driver, "This link is no longer good", "Set a new password", "Metro Cabs"},
		{"an expired one", unused, "This link is no longer good", "Set a new password", "Metro Cabs"},
	} {
		b := f.newBrowser()
		s := b.get(test.link)
		if s.status != http.StatusBadRequest || s.page() != test.title || !strings.Contains(s.body, test.look+"<") {
			t.Errorf("%s: %d %s", test.name, s.status, s.text())
			continue
		}
		if got := b.get(s.link(t, "forgot?")); got.page() != test.forgot || !strings.Contains(got.body, test.look+"<") {
			t.Errorf("%s: a new one: %s", test.name, got.text())
		}
		if got := b.get(s.link(t, "apps?")); got.page() != "sign-in" {
			t.Errorf("%s: the sign-in: %s", test.name, got.text())
		}
	}
	// What the address says of the account may be missing or wrong.
	for _, query := range []string{"", "&audience=x", "&audience=rider", "&audience=rider&tenant_hint=nobody",
		"&audience=dashboard&tenant_hint=%22%3E%3Cscript%3E"} {
		b := f.newBrowser()
		s := b.get("/oauth/password?link=" + strings.Repeat("a", 43) + query)
		if s.status != http.StatusBadRequest || strings.Contains(s.body, "<script") ||
			b.get(s.link(t, "apps")).page() != "sign-in" {
			t.Errorf("%q: %d %s", query, s.status, s.text())
		}
	}
}

// Without a mailer, a used link leads to the sign-in page, which says whom to
// ask.
func TestUsedLinkWithoutAMailer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	where := f.newLink(authz.Rider, f.metro.ID, "rita@home.example")
	f.advance(login.LinkLife)
	b := f.newBrowser()
	s := b.get(where)
	if strings.Contains(s.body, "forgot?") ||
		!strings.Contains(b.get(s.link(t, "apps?")).text(), "Ask the company for a link") {
		t.Errorf("%s", s.text())
	}
}

// The language that a client asks for lasts over every page, redirect, form and
// link, also if the mail is opened with another browser.
func TestLanguageLasts(t *testing.T) {
	t.Parallel()
	f, mails := newFixtureWithMail(t)
	c := f.storeClient(forRiders)
	german := []string{"Accept-Language", "de"}
	inArabic := func(name string, s response) response {
		t.Helper()
		if got := s.header.Get("Content-Language"); got != "ar" || !strings.Contains(s.body, `dir="rtl"`) {
			t.Errorf("%s is in %q: %s", name, got, s.text())
		}
		return s
	}
	b := f.newBrowser()
	q := authorization(c, "tenant_hint", "", "scope", "openid", "ui_locales", "x ar")
	company := inArabic("the choice of a company", b.get("/oauth/authorize?"+q.Encode(), german...))
	form := hiddenInputs(company)
	form.Set("tenant_hint", "metro")
	signIn := inArabic("the sign-in", b.follow(b.get("/oauth/authorize?"+form.Encode(), german...)))
	forgotten := inArabic("the forgotten password", b.get(signIn.link(t, "forgot?")))
	sent := inArabic("check your mail", b.post(forgotten, "email", "rita@home.example"))
	inArabic("the way back", b.get(sent.link(t, "authorize?")))
	if !strings.HasPrefix(mails.sent[0].subject, "تعيين") {
		t.Errorf("the mail is not in Arabic: %+v", mails.sent[0])
	}
	other := f.newBrowser()
	link := strings.TrimSpace(mailedLink.FindString(mails.sent[0].text))
	const words = "another battery staple"
	again := inArabic("a short password", other.post(inArabic("the new password", other.get(link, german...)), "password",
		"short", "again", "short"))
	saved := inArabic("the saved password", other.post(again, "password", words, "again", words))
	at := inArabic("the sign-in after it", other.get(saved.link(t, "apps?"), german...))
	apps := inArabic("the connected applications", other.follow(other.post(at, "email", "rita@home.example", "password",
		words)))
	out := inArabic("the sign-out", other.get(apps.link(t, "logout"), german...))
	bye := inArabic("signed out", other.do(http.MethodPost, "/oauth/logout", hiddenInputs(out), german...))
	if !strings.Contains(bye.body, "Metro Cabs") {
		t.Errorf("signed out, not in the company's look: %s", bye.text())
	}
	again = inArabic("the sign-in again", other.get(bye.link(t, "apps?"), german...))
	if !strings.Contains(again.body, "Metro Cabs") {
		t.Errorf("signed out, the way in: %s", again.text())
	}
	consent := inArabic("the consent", b.follow(b.post(signIn, "email", "rita@home.example", "password", words)))
	inArabic("the connected applications of the consent", b.get(consent.link(t, "apps"), german...))
	if s := f.newBrowser().get("/oauth/nothing?ui_locales=ar", "Accept", "text/html"); s.status != http.StatusNotFound {
		t.Errorf("an unknown path: %d", s.status)
	} else {
		inArabic("an unknown path", s)
	}
	posted := f.newBrowser()
	inArabic("a posted request", posted.follow(posted.do(http.MethodPost, "/oauth/authorize", q, german...)))
	bad := url.Values{"ui_locales": {"ar"}, "client_id": {c.ID},
		"post_logout_redirect_uri": {"https://elsewhere.example/"}}
	inArabic("a faulty sign-out", posted.do(http.MethodPost, "/oauth/logout", bad, german...))
}

// Programs get JSON at an unknown path of the authorization server, and browsers
// a page.
func TestUnknownPath(t *testing.T) {
	t.Parallel()
	b := newFixture(t).newBrowser()
	for accept, want := range map[string]string{"": "application/json", "*/*": "application/json",
		"text/html,*/*;q=0.8": "text/html; charset=utf-8"} {
		for _, path := range []string{"/oauth/nothing", "/oauth/signin/", "/.well-known/nothing", "/oauth/{client_id}"} {
			s := b.get(path, "Accept", accept)
			if s.status != http.StatusNotFound || s.header.Get("Content-Type") != want || s.header.Get("X-Request-Id") == "" {
				t.Errorf("%s with %q: %d %v", path, accept, s.status, s.header)
			}
		}
	}
}
