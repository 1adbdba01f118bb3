package oauth_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/oauth"
)

// atOnce runs n requests at once and returns the responses. It repeats a
// request whose response asks to try again.
func (f *fixture) atOnce(n int, request func() *http.Request) []reply {
	f.t.Helper()
	out := make([]reply, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range out {
		r := request()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			f.t.Fatal(err)
		}
		wg.Go(func() {
			<-start
			for deadline := time.Now().Add(testkit.Patience); ; time.Sleep(10 * time.Millisecond) {
				again := r.Clone(r.Context())
				again.Body = io.NopCloser(bytes.NewReader(body))
				if out[i] = f.do(again); out[i].status != http.StatusServiceUnavailable || time.Now().After(deadline) {
					return
				}
			}
		})
	}
	close(start)
	wg.Wait()
	return out
}

// tally counts the responses by status and error.
func tally(replies []reply) (good []reply, bad map[string]int) {
	bad = map[string]int{}
	for _, r := range replies {
		if r.status == http.StatusOK {
			good = append(good, r)
		} else {
			bad[r.text("error")]++
		}
	}
	return good, bad
}

func TestRaceCode(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.register(nil)
	code := f.code(a, authz.Rider, "rider.trips:read")
	good, bad := tally(f.atOnce(20, func() *http.Request {
		return formRequest("/oauth/token", formOf("grant_type", "authorization_code", "client_id", a.id, "code", code,
			"redirect_uri", callback, "code_verifier", verifier))
	}))
	if len(good) != 1 || bad["invalid_grant"] != 19 {
		t.Fatalf("%d succeeded, else %v", len(good), bad)
	}
	if f.alive(good[0].text("access_token")) {
		t.Error("RFC 6749 4.1.2: a code used twice leaves its tokens valid")
	}
}

// One person signs in with several browsers at once. The first uses of the
// client and of the grant are concurrent, and all succeed.
func TestRaceFirstUse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.register(nil)
	good, bad := tally(f.atOnce(8, func() *http.Request {
		return formRequest("/oauth/token", formOf("grant_type", "authorization_code", "client_id", a.id,
			"code", f.code(a, authz.Rider, "rider.trips:read"), "redirect_uri", callback, "code_verifier", verifier))
	}))
	if len(good) != 8 {
		t.Fatalf("%d succeeded, else %v", len(good), bad)
	}
	for _, r := range good {
		if !f.alive(r.text("access_token")) {
			t.Error("a token is invalid")
		}
	}
}

func TestRaceRefresh(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.register(nil)
	r := f.tokens(a, authz.Rider, "rider.trips:read")
	good, bad := tally(f.atOnce(50, func() *http.Request {
		return formRequest("/oauth/token", formOf("grant_type", "refresh_token", "client_id", a.id, "refresh_token",
			r.text("refresh_token")))
	}))
	if len(good) != 1 || bad["invalid_grant"] != 49 {
		t.Fatalf("%d succeeded, else %v", len(good), bad)
	}
	if f.alive(good[0].text("access_token")) || f.alive(r.text("access_token")) {
		t.Error("reuse left a token valid")
	}
	f.expect(f.refresh(a, good[0].text("refresh_token")), 400, "invalid_grant")
}

func TestRaceRefreshGrace(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(c *oauth.Config) { c.RefreshGrace = 30 * time.Second })
	a := f.register(nil)
	r := f.tokens(a, authz.Rider, "rider.trips:read")
	good, bad := tally(f.atOnce(50, func() *http.Request {
		return formRequest("/oauth/token", formOf("grant_type", "refresh_token", "client_id", a.id, "refresh_token",
			r.text("refresh_token")))
	}))
	if len(good) != 50 {
		t.Fatalf("%d succeeded, else %v", len(good), bad)
	}
	for _, one := range good {
		if one.text("refresh_token") != good[0].text("refresh_token") {
			t.Fatal("the chain forked")
		}
	}
	if !f.alive(good[0].text("access_token")) {
		t.Error("the successor is invalid")
	}
}

// A revocation that runs concurrently with refreshes also revokes the tokens
// that they issue, in any order.
func TestRaceRevokeAndRefresh(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.register(nil)
	for range 5 {
		r := f.tokens(a, authz.Rider, "rider.trips:read")
		n := 0
		replies := f.atOnce(2, func() *http.Request {
			if n++; n == 1 {
				return formRequest("/oauth/revoke", formOf("client_id", a.id, "token", r.text("access_token")))
			}
			return formRequest("/oauth/token", formOf("grant_type", "refresh_token", "client_id", a.id, "refresh_token",
				r.text("refresh_token")))
		})
		if replies[0].status != http.StatusOK {
			t.Fatal(replies[0].raw)
		}
		if f.alive(r.text("access_token")) ||
			(replies[1].status == http.StatusOK && f.alive(replies[1].text("access_token"))) {
			t.Error("a token outlived the revocation")
		}
	}
}

// A revocation succeeds although the client refreshes without a pause. Here a
// refresh happens between every read and write of the revocation.
func TestRevocationIsNotStarved(t *testing.T) {
	t.Parallel()
	var between func()
	f := newFixture(t, func(c *oauth.Config) {
		now := c.Now
		c.Now = func() time.Time {
			if run := between; run != nil {
				between = nil
				run()
				between = run
			}
			return now()
		}
	})
	a := f.register(nil)
	last := f.tokens(a, authz.Rider, "rider.trips:read")
	first := last
	between = func() {
		if r := f.refresh(a, last.text("refresh_token")); r.status == http.StatusOK {
			last = r
		}
	}
	got := f.postForm("/oauth/revoke", "client_id", a.id, "token", first.text("access_token"))
	between = nil
	if got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.raw)
	}
	if f.alive(first.text("access_token")) || f.alive(last.text("access_token")) {
		t.Error("an access token lives")
	}
	f.expect(f.refresh(a, last.text("refresh_token")), 400, "invalid_grant")
}

// Of an account's one-time links that are used at once, one sets the password.
// The others end with that password, as they do when they are used later.
func TestRacePasswordLinks(t *testing.T) {
	testkit.LongHere(t)
	t.Parallel()
	f := newFixture(t)
	for _, test := range []struct {
		audience authz.Audience
		tenantID string
	}{{authz.Rider, f.metro.ID}, {authz.Driver, f.metro.ID}, {authz.Dashboard, ""}} {
		email := f.emails[test.audience]
		pages, browsers := make([]response, 4), make([]*browser, 4)
		for i := range pages {
			browsers[i] = f.newBrowser()
			pages[i] = browsers[i].get(f.newLink(test.audience, test.tenantID, email))
		}
		f.advance(time.Minute)
		saved := make([]bool, len(pages))
		var all sync.WaitGroup
		for i, page := range pages {
			words := fmt.Sprintf("another battery staple %d", i)
			all.Go(func() { saved[i] = browsers[i].post(page, "password", words, "again", words).status == http.StatusOK })
		}
		all.Wait()
		n := 0
		for _, ok := range saved {
			if ok {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s: %d links set a password, want 1", test.audience, n)
		}
	}
}

// The first attempt to redeem a code has no known outcome, its retry meets a
// conflict, and then the first attempt arrives. The server must not take this for
// a second use of the code, which would revoke the tokens.
func TestConflictAfterAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.register(nil)
	r := f.tokens(a, authz.Rider, "rider.trips:read")
	redeem := formOf("grant_type", "authorization_code", "client_id", a.id, "code",
		f.code(a, authz.Rider, "rider.trips:read"), "redirect_uri", callback, "code_verifier", verifier)
	f.wire.Late()
	f.expect(f.do(formRequest("/oauth/token", redeem)), 503, "temporarily_unavailable")
	f.wire.Late()
	f.expect(f.refresh(a, r.text("refresh_token")), 503, "temporarily_unavailable")
	if !f.alive(r.text("access_token")) {
		t.Error("a token was revoked")
	}
}

// Each transaction meets a conflict, and its next attempt does not. Neither a
// new password, nor a sign-in with it, nor the sign-out fails.
func TestEveryChangeMeetsAConflict(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := f.storeClient(nil)
	b := f.newBrowser()
	f.wire.Conflicts(1)
	const words = "another battery staple"
	for what, s := range map[string]response{
		"new password": b.post(b.get(f.newLink(authz.Dashboard, "", "ana@metro.example")), "password", words, "again", words),
		"sign-out":     b.follow(b.do(http.MethodPost, "/oauth/logout", url.Values{})),
	} {
		if s.status != http.StatusOK {
			t.Errorf("%s: %d %s", what, s.status, s.text())
		}
	}
	f.wire.Restore()
	second := f.newBrowser()
	f.wire.Conflicts(1)
	if s := second.get("/oauth/apps"); second.signIn(s, "bob@metro.example").status >= http.StatusInternalServerError {
		t.Error("the sign-in failed")
	}
	f.tokensBy(f.newBrowser(), c, "bob@metro.example")
}
