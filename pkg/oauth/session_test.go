package oauth_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"svc/internal/test/testkit"
	passwords "svc/pkg/access/password"
	"svc/pkg/access/throttle"
	"svc/pkg/data/audit"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/person"
	"svc/pkg/domain/tenant"
	"svc/pkg/oauth"
	"svc/pkg/oauth/session"
)

// Cookies are bound to the host, cannot be read by scripts, and are not sent
// with other sites' posts.
func TestCookies(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.newBrowser()
	first := b.authorize(authorization(f.storeClient(nil)))
	s := b.post(first, "email", "ana@metro.example", "password", password)
	for _, c := range []*http.Cookie{first.cookie("__Host-svc-form"), s.cookie("__Host-svc-session")} {
		if c == nil {
			t.Fatal("a cookie is missing")
		}
		if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" ||
			len(c.Value) != 43 {
			t.Errorf("%+v", c)
		}
	}
	if got := s.cookie("__Host-svc-session").MaxAge; got != int(session.Life.Seconds()) {
		t.Errorf("the session's cookie lives %d s", got)
	}
	if s.status != http.StatusSeeOther {
		t.Errorf("status %d", s.status)
	}
	const plainURL = "http://localhost:8080"
	plain := oauth.New(oauth.Config{BaseURL: plainURL, Now: f.now}, f.db, f.keys, nil)
	b = newBrowser(t, plainURL, directTransport{plain.Handler()})
	first = b.authorize(authorization(f.storeClient(nil)))
	if c := first.cookie("svc-form"); c == nil || c.Secure {
		t.Errorf("without TLS: %+v", c)
	}
}

// The stored form of a session cannot be used to sign in (RFC 9700 section 4).
func TestSessionIsStoredHashed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	b := f.newBrowser()
	s := b.post(b.authorize(authorization(f.storeClient(nil))), "email", "ana@metro.example", "password", password)
	secret := s.cookie("__Host-svc-session").Value
	it := f.stored("SESSION", secret)
	if !it.Found() || strings.Contains(it.PK+it.SK+it.Raw(), secret) {
		t.Error("the session's secret is in the table")
	}
}

// Session fixation: a cookie from before the sign-in is invalid after it, and
// the old session has ended.
func TestSessionFixation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	planted := strings.Repeat("x", 43)
	b := f.newBrowser()
	at, err := url.Parse(baseURL)
	testkit.Must(t, err)
	b.client.Jar.SetCookies(at, []*http.Cookie{{Name: "__Host-svc-session", Value: planted, Path: "/", Secure: true}})
	s := b.post(b.authorize(authorization(c)), "email", "ana@metro.example", "password", password)
	first := s.cookie("__Host-svc-session").Value
	if first == planted {
		t.Fatal("the planted session came to life")
	}
	attacker := f.newBrowser()
	attacker.client.Jar.SetCookies(at, []*http.Cookie{{Name: "__Host-svc-session", Value: planted, Path: "/",
		Secure: true}})
	if got := attacker.authorize(authorization(c)).page(); got != "sign-in" {
		t.Errorf("the planted cookie shows %s", got)
	}
	s = b.post(b.authorize(authorization(c, "prompt", "login")), "email", "ana@metro.example", "password", password)
	if s.cookie("__Host-svc-session").Value == first {
		t.Error("the second sign-in kept the secret of the first")
	}
	attacker.client.Jar.SetCookies(at, []*http.Cookie{{Name: "__Host-svc-session", Value: first, Path: "/", Secure: true}})
	if got := attacker.authorize(authorization(c)).page(); got != "sign-in" {
		t.Errorf("the first session lives on: %s", got)
	}
}

// If a request has two session cookies, none is accepted.
func TestTwoSessionCookies(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	b := f.newBrowser()
	s := b.post(b.authorize(authorization(c)), "email", "ana@metro.example", "password", password)
	mine := "__Host-svc-session=" + s.cookie("__Host-svc-session").Value
	if got := f.newBrowser().get("/oauth/authorize?"+authorization(c).Encode(), "Cookie", mine).page(); got != "consent" {
		t.Fatalf("one cookie: %s", got)
	}
	if got := f.newBrowser().get("/oauth/authorize?"+authorization(c).Encode(), "Cookie",
		mine+"; "+mine).page(); got != "sign-in" {
		t.Errorf("two cookies: %s", got)
	}
}

// CSRF on sign-in: a form of a different browser or of a different request
// signs nobody in. It leads to a new form.
func TestSignInCSRF(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	q := authorization(c)
	victim, attacker := f.newBrowser(), f.newBrowser()
	victim.authorize(q)
	action, token := attacker.authorize(q).form(t)
	_, otherRequest := victim.authorize(authorization(c, "state", "s-2")).form(t)
	for name, csrf := range map[string]string{"attacker's token": token, "of another request": otherRequest, "none": "",
		"garbage": "x"} {
		s := victim.do(http.MethodPost, action, url.Values{"csrf": {csrf}, "email": {"ana@metro.example"},
			"password": {password}})
		if s.status != http.StatusSeeOther || s.cookie("__Host-svc-session") != nil {
			t.Errorf("%s: %d", name, s.status)
		}
		if got := victim.follow(s).page(); got != "sign-in" {
			t.Errorf("%s: then %s", name, got)
		}
	}
	noCookie := f.newBrowser().do(http.MethodPost, action, url.Values{"csrf": {token}, "email": {"ana@metro.example"},
		"password": {password}})
	if noCookie.status != http.StatusBadRequest || noCookie.cookie("__Host-svc-session") != nil ||
		!strings.Contains(noCookie.text(), "Allow cookies") || !strings.Contains(noCookie.body, `value="ana@metro.example"`) {
		t.Errorf("without a cookie: %d %s", noCookie.status, noCookie.text())
	}
}

// An unknown account, a wrong password and an account that may not sign in get
// the same response, after the same work.
func TestSignInAnswersAlike(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, by := context.Background(), audit.By{Who: "test", At: f.now()}
	people := person.Store{DB: f.db}
	gone, err := people.Create(ctx, by, person.Person{Email: "gone@metro.example"}, passwordHash())
	testkit.Must(t, err)
	testkit.Must(t, people.DisableEverywhere(ctx, by, gone.ID, true))
	_, err = people.Create(ctx, by, person.Person{Email: "nowhere@metro.example"}, passwordHash())
	testkit.Must(t, err)
	_, err = people.Create(ctx, by, person.Person{Email: "new@metro.example"}, "")
	testkit.Must(t, err)
	c := f.storeClient(nil)
	const work = 7 // client, tenant twice, branding, account, throttles, trust
	var first string
	for _, test := range []struct{ name, email, password string }{
		{"unknown account", "noone@metro.example", password},
		{"wrong password", "ana@metro.example", "wrong horse battery"},
		{"empty password", "ana@metro.example", ""},
		{"long password", "ana@metro.example", strings.Repeat("x", passwords.Longest+10)},
		{"no address", "not an address", password},
		{"disabled person", "gone@metro.example", password},
		{"no membership", "nowhere@metro.example", password},
		{"no password yet", "new@metro.example", ""},
		{"a rider's account", "rita@home.example", password},
	} {
		b := f.newBrowser()
		form, before := b.authorize(authorization(c)), f.wire.Sent()
		s := b.post(form, "email", test.email, "password", test.password)
		if sent := f.wire.Sent() - before; sent != work && (test.name == "unknown account" || test.name == "wrong password") {
			t.Errorf("%s: %d requests to the table, want %d", test.name, sent, work)
		}
		if s.status != http.StatusBadRequest || s.page() != "sign-in" || s.cookie("__Host-svc-session") != nil {
			t.Fatalf("%s: %d %s", test.name, s.status, s.text())
		}
		_, csrf := s.form(t)
		same := strings.NewReplacer(csrf, "", test.email, "", " autofocus", "").Replace(s.body)
		if first == "" {
			first = same
		}
		if same != first {
			t.Errorf("%s: another answer", test.name)
		}
	}
}

// A membership, record or tenant that is disabled keeps people out, also those
// who are signed in.
func TestDisabledCannotGoOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, by := context.Background(), audit.By{Who: "test", At: f.now()}
	c, rider := f.storeClient(nil), f.storeClient(forRiders)
	riderAsk := authorization(rider, "scope", "rider.trips:read")
	ana, rita := f.newBrowser(), f.newBrowser()
	ana.obtainCode(authorization(c), "ana@metro.example")
	rita.obtainCode(riderAsk, "rita@home.example")
	metro, people := f.db.Tenant(f.metro.ID), person.Store{DB: f.db}

	_, err := people.Disable(ctx, metro, by, f.ana.ID, true)
	testkit.Must(t, err)
	_, err = customer.Store.Change(ctx, metro, by, f.rita, func(r *customer.Record) error {
		r.Disabled = true
		return nil
	})
	testkit.Must(t, err)
	if got := ana.authorize(authorization(c)).page(); got != "sign-in" {
		t.Errorf("disabled membership: %s", got)
	}
	if got := rita.authorize(riderAsk).page(); got != "sign-in" {
		t.Errorf("disabled rider: %s", got)
	}
	b := f.newBrowser()
	if s := b.signIn(b.authorize(authorization(c)), "ana@metro.example"); s.status != http.StatusBadRequest {
		t.Errorf("sign-in with a disabled membership: %d %s", s.status, s.page())
	}
	if got := b.signIn(b.authorize(authorization(c, "tenant_hint", "")), "ana@metro.example").page(); got != "consent" {
		t.Errorf("her other membership alone: %s", got)
	}
	_, err = tenant.Store{DB: f.db}.Change(ctx, f.metro.ID, by, func(n *tenant.Tenant) error {
		n.Disabled = true
		return nil
	})
	testkit.Must(t, err)
	if got := f.newBrowser().authorize(authorization(c)).page(); got != "Unknown company" {
		t.Errorf("disabled tenant: %s", got)
	}
	b = f.newBrowser()
	if s := b.signIn(b.authorize(authorization(c, "tenant_hint", "")), "bob@metro.example"); s.page() != "sign-in" {
		t.Errorf("sign-in with a disabled tenant alone: %s", s.page())
	}
}

// A session is valid only at the host where it began.
func TestSessionIsBoundToItsHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(forRiders)
	const originURL = "https://origin.svc.example" // no tenant has this host
	for _, test := range []struct{ tenant, from, to string }{
		{"metro", baseURL, originURL}, {"metro", originURL, baseURL},
	} {
		b := f.newBrowser()
		b.base = test.from
		q := authorization(c, "scope", "rider.trips:read", "tenant_hint", test.tenant)
		secret := b.post(b.authorize(q), "email", "rita@home.example", "password",
			password).cookie("__Host-svc-session").Value
		for _, path := range []string{"/oauth/authorize?" + q.Encode(), "/oauth/apps?audience=rider&tenant_hint=" +
			test.tenant} {
			here, there := f.newBrowser(), f.newBrowser()
			here.base, there.base = test.from, test.to
			if got := here.get(path, "Cookie", "__Host-svc-session="+secret).page(); got == "sign-in" {
				t.Errorf("%s where it began: %s", path, got)
			}
			if got := there.get(path, "Cookie", "__Host-svc-session="+secret).page(); got != "sign-in" {
				t.Errorf("%s from %s at %s: %s", path, test.from, test.to, got)
			}
		}
	}
}

// A session is valid only for its own tenant and audience.
func TestSessionIsBound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c, rider := f.storeClient(nil), f.storeClient(forRiders)
	b := f.newBrowser()
	b.obtainCode(authorization(rider, "scope", "rider.trips:read"), "rita@home.example")
	if got := b.authorize(authorization(rider, "scope", "rider.trips:read", "prompt", "none")).page(); got != "code" {
		t.Fatalf("her own: %s", got)
	}
	if got := b.authorize(authorization(c)).page(); got != "sign-in" {
		t.Errorf("another audience: %s", got)
	}
	nova := f.newBrowser()
	nova.client.Jar, nova.base = b.client.Jar, novaURL
	at, err := url.Parse(nova.base)
	testkit.Must(t, err)
	own, err := url.Parse(baseURL)
	testkit.Must(t, err)
	nova.client.Jar.SetCookies(at, []*http.Cookie{{Name: "__Host-svc-session", Value: b.client.Jar.Cookies(own)[0].Value,
		Path: "/", Secure: true},
		{Name: "__Host-svc-session", Value: b.client.Jar.Cookies(own)[len(b.client.Jar.Cookies(own))-1].Value, Path: "/",
			Secure: true}})
	if got := nova.authorize(authorization(rider, "scope", "rider.trips:read", "tenant_hint",
		"nova")).page(); got != "sign-in" {
		t.Errorf("another tenant: %s", got)
	}
}

// Guesses at one account are throttled. Correct passwords do not count. The
// response for a throttled account reveals nothing new.
func TestSignInThrottle(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	for range signInsAnAccount + 2 {
		b := f.newBrowser()
		b.obtainCode(authorization(c), "bob@metro.example")
	}
	for _, email := range []string{"ana@metro.example", "noone@metro.example"} {
		b := f.newBrowser()
		s := b.authorize(authorization(c))
		for i := range signInsAnAccount {
			spelled := email
			if i%2 == 1 {
				spelled = " " + strings.ToUpper(email)
			}
			if s = b.post(s, "email", spelled, "password", "wrong"); s.status != http.StatusBadRequest {
				t.Fatalf("%s, attempt %d: %d", email, i, s.status)
			}
		}
		if s = b.post(s, "email", email, "password", password); s.status != http.StatusTooManyRequests ||
			s.header.Get("Retry-After") == "" {
			t.Errorf("%s, the right password after too many: %d", email, s.status)
		}
		if s.page() != "sign-in" {
			t.Errorf("%s: %s", email, s.page())
		}
	}
	f.advance(signInWindow)
	b := f.newBrowser()
	if got := b.signIn(b.authorize(authorization(c)), "ana@metro.example").page(); got != "consent" {
		t.Errorf("a quarter of an hour later: %s", got)
	}
}

// Concurrent guesses get no more tries than sequential ones.
func TestSignInThrottleHoldsUnderConcurrency(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	var looked atomic.Int64
	var all sync.WaitGroup
	for range 3 * signInsAnAccount {
		all.Go(func() {
			b := f.newBrowser()
			if b.post(b.authorize(authorization(c)), "email", "ana@metro.example", "password",
				"wrong").status == http.StatusBadRequest {
				looked.Add(1)
			}
		})
	}
	all.Wait()
	if got := looked.Load(); got > signInsAnAccount {
		t.Errorf("%d guesses were looked at, want at most %d", got, signInsAnAccount)
	}
}

// Guesses from one address at many accounts are throttled too.
func TestSignInThrottleOfAnAddress(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	b := f.newBrowser()
	s := b.authorize(authorization(c))
	counts := throttle.New(f.db, f.now, f.address, slog.New(slog.DiscardHandler))
	for range signInsAnAddress - 2 { // each attempt would compute a hash
		testkit.Must(t, counts.Count(t.Context(), throttle.Counter{Kind: "signin-address",
			Key: counts.Address(t.Context()), Limit: signInsAnAddress, Window: signInWindow}))
	}
	for i := range 2 {
		if s = b.post(s, "email", fmt.Sprintf("p%d@metro.example", i), "password", "x"); s.status != http.StatusBadRequest {
			t.Fatalf("attempt %d: %d", i, s.status)
		}
	}
	if s = b.post(s, "email", "ana@metro.example", "password", password); s.status != http.StatusTooManyRequests {
		t.Errorf("status %d", s.status)
	}
}
