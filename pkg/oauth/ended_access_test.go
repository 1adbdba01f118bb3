package oauth_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"svc/internal/test/testkit"
)

// endAccess ends a client's access on the page of connected applications.
func endAccess(b *browser, f *fixture, clientID string) response {
	f.t.Helper()
	_, csrf := b.get("/oauth/apps").form(f.t)
	return b.do(http.MethodPost, "/oauth/apps", url.Values{"csrf": {csrf}, "client": {clientID}, "of": {f.metro.ID}})
}

func redeemPlanner(f *fixture, c client, code string) reply {
	return f.postForm("/oauth/token", "grant_type", "authorization_code", "client_id", c.ID, "code", code,
		"redirect_uri", plannerCallback, "code_verifier", verifier)
}

// Ending a client's access invalidates its first code, although there is no
// grant yet.
func TestEndedAccessEndsTheFirstCode(t *testing.T) {
	f := newFixture(t)
	c, b := f.storeClient(nil), f.newBrowser()
	code := b.obtainCode(authorization(c), "ana@metro.example").answer.Get("code")
	if s := endAccess(b, f, c.ID); s.status != http.StatusSeeOther {
		t.Fatalf("%d %s", s.status, s.text())
	}
	f.expect(redeemPlanner(f, c, code), http.StatusBadRequest, "invalid_grant")
	again := b.authorize(authorization(c))
	if again.page() != "consent" {
		t.Fatalf("afterwards: %s", again.text())
	}
	code = b.consent(again).answer.Get("code")
	if r := redeemPlanner(f, c, code); r.status != http.StatusOK || !f.alive(r.text("access_token")) {
		t.Errorf("a new consent: %d %s", r.status, r.raw)
	}
}

// If the end of access and a redemption happen at the same time, no valid token
// is left, in either order.
func TestEndedAccessRacesTheRedemption(t *testing.T) {
	testkit.LongHere(t)
	races := 200
	if testing.Short() {
		races = 20
	}
	f := newFixture(t)
	b := f.newBrowser()
	survivors := 0
	for range races {
		c := f.storeClient(nil)
		code := b.obtainCode(authorization(c), "ana@metro.example").answer.Get("code")
		_, csrf := b.get("/oauth/apps").form(t)
		form := url.Values{"csrf": {csrf}, "client": {c.ID}, "of": {f.metro.ID}}
		var redeemed reply
		var both sync.WaitGroup
		both.Go(func() { redeemed = redeemPlanner(f, c, code) })
		both.Go(func() { b.do(http.MethodPost, "/oauth/apps", form) })
		both.Wait()
		if redeemed.status == http.StatusOK && f.alive(redeemed.text("access_token")) {
			survivors++
		}
	}
	if survivors > 0 {
		t.Errorf("%d of %d tokens live", survivors, races)
	}
}

// If the end of access and an authorization happen at the same time, a code
// that is issued has a consent that the person can see and end.
func TestEndedAccessRacesTheAuthorization(t *testing.T) {
	testkit.LongHere(t)
	f := newFixture(t)
	b := f.newBrowser()
	for range 50 {
		c := f.storeClient(nil)
		b.obtainCode(authorization(c), "ana@metro.example")
		_, csrf := b.get("/oauth/apps").form(t)
		form := url.Values{"csrf": {csrf}, "client": {c.ID}, "of": {f.metro.ID}}
		var answer response
		var both sync.WaitGroup
		both.Go(func() { answer = b.get("/oauth/authorize?" + authorization(c).Encode()) })
		both.Go(func() { b.do(http.MethodPost, "/oauth/apps", form) })
		both.Wait()
		if strings.Contains(b.get("/oauth/apps").body, c.ID) {
			t.Fatal("the application is still listed")
		}
		if code := answer.answer.Get("code"); code != "" {
			f.expect(redeemPlanner(f, c, code), http.StatusBadRequest, "invalid_grant")
		}
	}
}

// If ending access fails at any step, an application with remaining tokens is
// still listed, and the person can try again.
func TestEndOfAConsentThatFails(t *testing.T) {
	f := newFixture(t)
	b := f.newBrowser()
	for p := range testkit.Points(t, 30) {
		c := f.storeClient(nil)
		tokens := f.tokensBy(b, c, "ana@metro.example")
		_, csrf := b.get("/oauth/apps").form(t)
		form := url.Values{"csrf": {csrf}, "client": {c.ID}, "of": {f.metro.ID}}
		f.wire.BreakAfter(p.N)
		s := b.do(http.MethodPost, "/oauth/apps", form)
		f.wire.Restore()
		listed := strings.Contains(b.get("/oauth/apps").body, c.ID)
		if alive := f.alive(tokens.AccessToken); alive != listed {
			t.Errorf("broken at %v: %d, listed %v, valid %v", p, s.status, listed, alive)
		}
		if !p.Reached(s.status >= http.StatusBadRequest) && listed {
			t.Errorf("not broken at %v: %d, and still listed", p, s.status)
		}
		b.do(http.MethodPost, "/oauth/apps", form)
		if f.alive(tokens.AccessToken) {
			t.Errorf("broken at %v: it cannot be ended again", p)
		}
	}
}
