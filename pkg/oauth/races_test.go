package oauth_test

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"svc/pkg/authz"
	"svc/pkg/oauth"
)

// at runs n requests at once and gives the answers. One that is told to try
// again does.
func (w *world) at(n int, request func() *http.Request) []reply {
	w.t.Helper()
	out := make([]reply, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range out {
		r := request()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.t.Fatal(err)
		}
		wg.Go(func() {
			<-start
			for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
				again := r.Clone(r.Context())
				again.Body = io.NopCloser(bytes.NewReader(body))
				if out[i] = w.do(again); out[i].status != http.StatusServiceUnavailable || time.Now().After(deadline) {
					return
				}
			}
		})
	}
	close(start)
	wg.Wait()
	return out
}

// tally counts the answers by status and error.
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
	w := newWorld(t)
	a := w.register(nil)
	code := w.code(a, authz.Rider, "rider.trips:read")
	good, bad := tally(w.at(20, func() *http.Request {
		return formRequest("/oauth/token", formOf("grant_type", "authorization_code", "client_id", a.id, "code", code, "redirect_uri", callback, "code_verifier", verifier))
	}))
	if len(good) != 1 || bad["invalid_grant"] != 19 {
		t.Fatalf("%d succeeded, else %v", len(good), bad)
	}
	if w.alive(good[0].text("access_token")) {
		t.Error("RFC 6749 4.1.2: a code used twice leaves its tokens alive")
	}
}

// One person signs in by several browsers at once: the first use of the client
// and of the grant meet, and nobody loses.
func TestRaceFirstUse(t *testing.T) {
	w := newWorld(t)
	a := w.register(nil)
	good, bad := tally(w.at(8, func() *http.Request {
		return formRequest("/oauth/token", formOf("grant_type", "authorization_code", "client_id", a.id,
			"code", w.code(a, authz.Rider, "rider.trips:read"), "redirect_uri", callback, "code_verifier", verifier))
	}))
	if len(good) != 8 {
		t.Fatalf("%d succeeded, else %v", len(good), bad)
	}
	for _, r := range good {
		if !w.alive(r.text("access_token")) {
			t.Error("a token is dead")
		}
	}
}

func TestRaceRefresh(t *testing.T) {
	w := newWorld(t)
	a := w.register(nil)
	r := w.signIn(a, authz.Rider, "rider.trips:read")
	good, bad := tally(w.at(50, func() *http.Request {
		return formRequest("/oauth/token", formOf("grant_type", "refresh_token", "client_id", a.id, "refresh_token", r.text("refresh_token")))
	}))
	if len(good) != 1 || bad["invalid_grant"] != 49 {
		t.Fatalf("%d succeeded, else %v", len(good), bad)
	}
	if w.alive(good[0].text("access_token")) || w.alive(r.text("access_token")) {
		t.Error("reuse left a token alive")
	}
	w.expect(w.refresh(a, good[0].text("refresh_token")), 400, "invalid_grant")
}

func TestRaceRefreshGrace(t *testing.T) {
	w := newWorld(t, func(c *oauth.Config) { c.RefreshGrace = 30 * time.Second })
	a := w.register(nil)
	r := w.signIn(a, authz.Rider, "rider.trips:read")
	good, bad := tally(w.at(50, func() *http.Request {
		return formRequest("/oauth/token", formOf("grant_type", "refresh_token", "client_id", a.id, "refresh_token", r.text("refresh_token")))
	}))
	if len(good) != 50 {
		t.Fatalf("%d succeeded, else %v", len(good), bad)
	}
	for _, one := range good {
		if one.text("refresh_token") != good[0].text("refresh_token") {
			t.Fatal("the chain forked")
		}
	}
	if !w.alive(good[0].text("access_token")) {
		t.Error("the successor is dead")
	}
}

// A revocation that meets refreshes ends what they gave, whichever came first.
func TestRaceRevokeAndRefresh(t *testing.T) {
	w := newWorld(t)
	a := w.register(nil)
	for range 5 {
		r := w.signIn(a, authz.Rider, "rider.trips:read")
		n := 0
		replies := w.at(2, func() *http.Request {
			if n++; n == 1 {
				return formRequest("/oauth/revoke", formOf("client_id", a.id, "token", r.text("access_token")))
			}
			return formRequest("/oauth/token", formOf("grant_type", "refresh_token", "client_id", a.id, "refresh_token", r.text("refresh_token")))
		})
		if replies[0].status != http.StatusOK {
			t.Fatal(replies[0].raw)
		}
		if w.alive(r.text("access_token")) || (replies[1].status == http.StatusOK && w.alive(replies[1].text("access_token"))) {
			t.Error("a token outlived the revocation")
		}
	}
}

// A client that refreshes without a pause does not keep its revocation from
// happening: here a rotation comes between every read and write of it.
func TestRevocationIsNotStarved(t *testing.T) {
	var between func()
	w := newWorld(t, func(c *oauth.Config) {
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
	a := w.register(nil)
	last := w.signIn(a, authz.Rider, "rider.trips:read")
	first := last
	between = func() {
		if r := w.refresh(a, last.text("refresh_token")); r.status == http.StatusOK {
			last = r
		}
	}
	got := w.form("/oauth/revoke", "client_id", a.id, "token", first.text("access_token"))
	between = nil
	if got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.raw)
	}
	if w.alive(first.text("access_token")) || w.alive(last.text("access_token")) {
		t.Error("an access token lives")
	}
	w.expect(w.refresh(a, last.text("refresh_token")), 400, "invalid_grant")
}
