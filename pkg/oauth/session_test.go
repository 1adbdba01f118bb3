package oauth

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"svc/pkg/audit"
	"svc/pkg/customer"
	"svc/pkg/password"
	"svc/pkg/person"
	"svc/pkg/tenant"
)

func (s seen) cookie(name string) *http.Cookie {
	for _, c := range s.cookies {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Cookies are bound to the host, unreadable, and not sent by other sites' posts.
func TestCookies(t *testing.T) {
	h := newHouse(t)
	v := h.visitor()
	first := v.authorize(ask(h.planner(nil)))
	s := v.post(first, "email", "ana@metro.example", "password", secretWords)
	for _, c := range []*http.Cookie{first.cookie("__Host-svc-form"), s.cookie("__Host-svc-session")} {
		if c == nil {
			t.Fatal("a cookie is missing")
		}
		if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || len(c.Value) != 43 {
			t.Errorf("%+v", c)
		}
	}
	if got := s.cookie("__Host-svc-session").MaxAge; got != int(SessionLife.Seconds()) {
		t.Errorf("the session's cookie lives %d s", got)
	}
	if s.status != http.StatusSeeOther {
		t.Errorf("status %d", s.status)
	}
	plain := *h.server
	plain.config.BaseURL = "http://localhost:8080"
	v = h.visitor()
	v.client.Transport, v.host = direct{plain.Handler()}, plain.config.BaseURL
	first = v.authorize(ask(h.planner(nil)))
	if c := first.cookie("svc-form"); c == nil || c.Secure {
		t.Errorf("without TLS: %+v", c)
	}
}

// What is stored of a session does not let anybody in (RFC 9700 section 4).
func TestSessionIsStoredHashed(t *testing.T) {
	h := newHouse(t)
	v := h.visitor()
	s := v.post(v.authorize(ask(h.planner(nil))), "email", "ana@metro.example", "password", secretWords)
	secret := s.cookie("__Host-svc-session").Value
	it, err := h.server.p.Get(context.Background(), h.server.sessionKey(secret))
	must(t, err)
	if !it.Found() || strings.Contains(it.PK+it.SK+it.Raw(), secret) {
		t.Error("the session's secret is in the table")
	}
}

// Session fixation: a cookie that was there before the sign-in is worth
// nothing after it, and the old session is over.
func TestSessionFixation(t *testing.T) {
	h := newHouse(t)
	c := h.planner(nil)
	planted := strings.Repeat("x", 43)
	v := h.visitor()
	at, err := url.Parse(houseBase)
	must(t, err)
	v.client.Jar.SetCookies(at, []*http.Cookie{{Name: "__Host-svc-session", Value: planted, Path: "/", Secure: true}})
	s := v.post(v.authorize(ask(c)), "email", "ana@metro.example", "password", secretWords)
	first := s.cookie("__Host-svc-session").Value
	if first == planted {
		t.Fatal("the planted session came to life")
	}
	attacker := h.visitor()
	attacker.client.Jar.SetCookies(at, []*http.Cookie{{Name: "__Host-svc-session", Value: planted, Path: "/", Secure: true}})
	if got := attacker.authorize(ask(c)).page(); got != "sign-in" {
		t.Errorf("the planted cookie shows %s", got)
	}
	s = v.post(v.authorize(ask(c, "prompt", "login")), "email", "ana@metro.example", "password", secretWords)
	if s.cookie("__Host-svc-session").Value == first {
		t.Error("the second sign-in kept the secret of the first")
	}
	attacker.client.Jar.SetCookies(at, []*http.Cookie{{Name: "__Host-svc-session", Value: first, Path: "/", Secure: true}})
	if got := attacker.authorize(ask(c)).page(); got != "sign-in" {
		t.Errorf("the first session lives on: %s", got)
	}
}

// Two cookies of the name: none is believed.
func TestTwoSessionCookies(t *testing.T) {
	h := newHouse(t)
	c := h.planner(nil)
	v := h.visitor()
	s := v.post(v.authorize(ask(c)), "email", "ana@metro.example", "password", secretWords)
	mine := "__Host-svc-session=" + s.cookie("__Host-svc-session").Value
	if got := h.visitor().get("/oauth/authorize?"+ask(c).Encode(), "Cookie", mine).page(); got != "consent" {
		t.Fatalf("one cookie: %s", got)
	}
	if got := h.visitor().get("/oauth/authorize?"+ask(c).Encode(), "Cookie", mine+"; "+mine).page(); got != "sign-in" {
		t.Errorf("two cookies: %s", got)
	}
}

// CSRF on sign-in: a form that is not of this browser, or of another request,
// signs nobody in and leads to a fresh form.
func TestSignInCSRF(t *testing.T) {
	h := newHouse(t)
	c := h.planner(nil)
	q := ask(c)
	victim, attacker := h.visitor(), h.visitor()
	victim.authorize(q)
	action, token := attacker.authorize(q).form(t)
	_, otherRequest := victim.authorize(ask(c, "state", "s-2")).form(t)
	for name, csrf := range map[string]string{"attacker's token": token, "of another request": otherRequest, "none": "", "garbage": "x"} {
		s := victim.do(http.MethodPost, "/oauth/"+action, url.Values{"csrf": {csrf}, "email": {"ana@metro.example"}, "password": {secretWords}})
		if s.status != http.StatusSeeOther || s.cookie("__Host-svc-session") != nil {
			t.Errorf("%s: %d", name, s.status)
		}
		if got := victim.follow(s).page(); got != "sign-in" {
			t.Errorf("%s: then %s", name, got)
		}
	}
	noCookie := h.visitor().do(http.MethodPost, "/oauth/"+action, url.Values{"csrf": {token}, "email": {"ana@metro.example"}, "password": {secretWords}})
	if noCookie.status != http.StatusSeeOther || noCookie.cookie("__Host-svc-session") != nil {
		t.Errorf("without a cookie: %d", noCookie.status)
	}
}

// Unknown account, wrong password, an account that may not sign in: one answer,
// after the same work.
func TestSignInAnswersAlike(t *testing.T) {
	h := newHouse(t)
	ctx, by := context.Background(), audit.By{Who: "test", At: h.clock()}
	people := person.Store{DB: h.db}
	gone, err := people.Create(ctx, by, person.Person{Email: "gone@metro.example"}, hashed())
	must(t, err)
	must(t, people.DisableEverywhere(ctx, by, gone.ID, true))
	_, err = people.Create(ctx, by, person.Person{Email: "nowhere@metro.example"}, hashed())
	must(t, err)
	_, err = people.Create(ctx, by, person.Person{Email: "new@metro.example"}, "")
	must(t, err)
	c := h.planner(nil)
	const work = 6 // client, tenant twice, branding, account, throttles
	var first string
	for _, test := range []struct{ name, email, password string }{
		{"unknown account", "noone@metro.example", secretWords},
		{"wrong password", "ana@metro.example", "wrong horse battery"},
		{"empty password", "ana@metro.example", ""},
		{"long password", "ana@metro.example", strings.Repeat("x", password.Longest+10)},
		{"no address", "not an address", secretWords},
		{"disabled person", "gone@metro.example", secretWords},
		{"no membership", "nowhere@metro.example", secretWords},
		{"no password yet", "new@metro.example", ""},
		{"a rider's account", "rita@home.example", secretWords},
	} {
		v := h.visitor()
		form, before := v.authorize(ask(c)), h.wire.Sent()
		s := v.post(form, "email", test.email, "password", test.password)
		if sent := h.wire.Sent() - before; sent != work && (test.name == "unknown account" || test.name == "wrong password") {
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
	h := newHouse(t)
	ctx, by := context.Background(), audit.By{Who: "test", At: h.clock()}
	c, rider := h.planner(nil), h.planner(riders)
	riderAsk := ask(rider, "scope", "rider.trips:read")
	ana, rita := h.visitor(), h.visitor()
	ana.through(ask(c), "ana@metro.example")
	rita.through(riderAsk, "rita@home.example")
	metro, people := h.db.Tenant(h.metro.ID), person.Store{DB: h.db}

	_, err := people.Disable(ctx, metro, by, h.ana.ID, true)
	must(t, err)
	_, err = customer.Change(ctx, metro, by, h.rita, func(r *customer.Record) error { r.Disabled = true; return nil })
	must(t, err)
	if got := ana.authorize(ask(c)).page(); got != "sign-in" {
		t.Errorf("disabled membership: %s", got)
	}
	if got := rita.authorize(riderAsk).page(); got != "sign-in" {
		t.Errorf("disabled rider: %s", got)
	}
	v := h.visitor()
	if s := v.enter(v.authorize(ask(c)), "ana@metro.example"); s.status != http.StatusBadRequest {
		t.Errorf("sign-in with a disabled membership: %d %s", s.status, s.page())
	}
	if got := v.enter(v.authorize(ask(c, "tenant_hint", "")), "ana@metro.example").page(); got != "consent" {
		t.Errorf("her other membership alone: %s", got)
	}
	_, err = tenant.Store{DB: h.db}.Change(ctx, h.metro.ID, by, func(n *tenant.Tenant) error {
		n.Disabled = true
		return nil
	})
	must(t, err)
	if got := h.visitor().authorize(ask(c)).page(); got != "Unknown company" {
		t.Errorf("disabled tenant: %s", got)
	}
	v = h.visitor()
	if s := v.enter(v.authorize(ask(c, "tenant_hint", "")), "bob@metro.example"); s.page() != "sign-in" {
		t.Errorf("sign-in with a disabled tenant alone: %s", s.page())
	}
}

// A session is good at the host where it began, whose cookie it is.
func TestSessionIsBoundToItsHost(t *testing.T) {
	h := newHouse(t)
	c := h.planner(nil)
	for _, test := range []struct{ tenant, from, to string }{
		{"metro", houseBase, "https://ride.nova.example"}, {"nova", "https://ride.nova.example", houseBase},
	} {
		v := h.visitor()
		v.host = test.from
		secret := v.post(v.authorize(ask(c, "tenant_hint", test.tenant)), "email", "ana@metro.example", "password", secretWords).cookie("__Host-svc-session").Value
		for _, path := range []string{"/oauth/authorize?" + ask(c, "tenant_hint", "").Encode(), "/oauth/apps"} {
			here, there := h.visitor(), h.visitor()
			here.host, there.host = test.from, test.to
			if got := here.get(path, "Cookie", "__Host-svc-session="+secret).page(); got == "sign-in" {
				t.Errorf("%s where it began: %s", path, got)
			}
			if got := there.get(path, "Cookie", "__Host-svc-session="+secret).page(); got != "sign-in" {
				t.Errorf("%s from %s at %s: %s", path, test.from, test.to, got)
			}
		}
	}
}

// A session of one tenant or audience is none of another.
func TestSessionIsBound(t *testing.T) {
	h := newHouse(t)
	c, rider := h.planner(nil), h.planner(riders)
	v := h.visitor()
	v.through(ask(rider, "scope", "rider.trips:read"), "rita@home.example")
	if got := v.authorize(ask(rider, "scope", "rider.trips:read", "prompt", "none")).page(); got != "code" {
		t.Fatalf("her own: %s", got)
	}
	if got := v.authorize(ask(c)).page(); got != "sign-in" {
		t.Errorf("another audience: %s", got)
	}
	nova := h.visitor()
	nova.client.Jar, nova.host = v.client.Jar, "https://ride.nova.example"
	at, err := url.Parse(nova.host)
	must(t, err)
	own, err := url.Parse(houseBase)
	must(t, err)
	nova.client.Jar.SetCookies(at, []*http.Cookie{{Name: "__Host-svc-session", Value: v.client.Jar.Cookies(own)[0].Value, Path: "/", Secure: true},
		{Name: "__Host-svc-session", Value: v.client.Jar.Cookies(own)[len(v.client.Jar.Cookies(own))-1].Value, Path: "/", Secure: true}})
	if got := nova.authorize(ask(rider, "scope", "rider.trips:read", "tenant_hint", "nova")).page(); got != "sign-in" {
		t.Errorf("another tenant: %s", got)
	}
}

// Guesses at one account are throttled, right ones do not count, and a
// throttled account says no more than before.
func TestSignInThrottle(t *testing.T) {
	h := newHouse(t)
	c := h.planner(nil)
	for range signInsAnAccount + 2 {
		v := h.visitor()
		v.through(ask(c), "bob@metro.example")
	}
	for _, email := range []string{"ana@metro.example", "noone@metro.example"} {
		v := h.visitor()
		s := v.authorize(ask(c))
		for i := range signInsAnAccount {
			spelled := email
			if i%2 == 1 {
				spelled = " " + strings.ToUpper(email)
			}
			if s = v.post(s, "email", spelled, "password", "wrong"); s.status != http.StatusBadRequest {
				t.Fatalf("%s, attempt %d: %d", email, i, s.status)
			}
		}
		if s = v.post(s, "email", email, "password", secretWords); s.status != http.StatusTooManyRequests || s.header.Get("Retry-After") == "" {
			t.Errorf("%s, the right password after too many: %d", email, s.status)
		}
		if s.page() != "sign-in" {
			t.Errorf("%s: %s", email, s.page())
		}
	}
	h.pass(signInWindow)
	v := h.visitor()
	if got := v.enter(v.authorize(ask(c)), "ana@metro.example").page(); got != "consent" {
		t.Errorf("a quarter of an hour later: %s", got)
	}
}

// Guesses at once get no more tries than guesses one after the other.
func TestSignInThrottleHoldsUnderConcurrency(t *testing.T) {
	h := newHouse(t)
	c := h.planner(nil)
	var looked atomic.Int64
	var all sync.WaitGroup
	for range 3 * signInsAnAccount {
		all.Go(func() {
			v := h.visitor()
			if v.post(v.authorize(ask(c)), "email", "ana@metro.example", "password", "wrong").status == http.StatusBadRequest {
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
	h := newHouse(t)
	c := h.planner(nil)
	v := h.visitor()
	s := v.authorize(ask(c))
	for i := range signInsAnAddress {
		if s = v.post(s, "email", fmt.Sprintf("p%d@metro.example", i), "password", "x"); s.status != http.StatusBadRequest {
			t.Fatalf("attempt %d: %d", i, s.status)
		}
	}
	if s = v.post(s, "email", "ana@metro.example", "password", secretWords); s.status != http.StatusTooManyRequests {
		t.Errorf("status %d", s.status)
	}
}
