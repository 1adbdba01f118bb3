package oauth

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"svc/pkg/authz"
	"svc/pkg/ids"
)

// guess tries to sign in from the address and gives the status.
func (h *house) guess(v *visitor, c Client, email, secret, from string) int {
	h.t.Helper()
	h.move(from)
	return v.post(v.authorize(ask(c, "prompt", "login", "state", ids.Secret())), "email", email, "password", secret).status
}

const (
	looked  = http.StatusBadRequest
	refused = http.StatusTooManyRequests
	entered = http.StatusSeeOther
)

// Whoever guesses from many addresses is bounded over all of them, and keeps
// the owner out of no browser that she signed in with before.
func TestGuessesLockNoKnownBrowser(t *testing.T) {
	h := newHouse(t)
	h.server.config.Limits.SignInsAnAccount, h.server.config.Limits.SignInsOfAnybody = 3, 7
	c, hers := h.planner(nil), h.visitor()
	hers.through(ask(c), "ana@metro.example")
	for _, email := range []string{"ana@metro.example", "noone@metro.example"} {
		tried := 0
		for net := range 5 {
			for range 4 {
				if h.guess(h.visitor(), c, email, "wrong", fmt.Sprintf("198.51.100.%d", net)) == looked {
					tried++
				}
			}
			if want := min(7, 3*(net+1)); tried != want {
				t.Errorf("%s, %d addresses: %d guesses were looked at, want %d", email, net+1, tried, want)
			}
		}
	}
	for i := range 3 {
		if got := h.guess(hers, c, "ana@metro.example", secretWords, "198.51.100.1"); got != entered {
			t.Errorf("her own browser, time %d: %d", i, got)
		}
	}
	if got := h.guess(h.visitor(), c, "ana@metro.example", secretWords, "203.0.113.9"); got != refused {
		t.Errorf("a browser that nobody knows: %d", got)
	}
	bobs := h.visitor()
	bobs.through(ask(c), "bob@metro.example")
	if got := h.guess(bobs, c, "ana@metro.example", secretWords, "203.0.113.9"); got != refused {
		t.Errorf("a browser that another account knows: %d", got)
	}
	h.pass(signInWindow)
	if got := h.guess(h.visitor(), c, "ana@metro.example", secretWords, "203.0.113.9"); got != refused {
		t.Errorf("a quarter of an hour later: %d", got)
	}
	h.pass(signInDay)
	if got := h.guess(h.visitor(), c, "ana@metro.example", secretWords, "203.0.113.9"); got != entered {
		t.Errorf("the next day: %d", got)
	}
}

// The same while the guesses come in.
func TestGuessesAtOnceLockNoKnownBrowser(t *testing.T) {
	h := newHouse(t)
	c, hers := h.planner(nil), h.visitor()
	hers.through(ask(c), "ana@metro.example")
	done := make(chan struct{})
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					v := h.visitor()
					v.post(v.authorize(ask(c)), "email", "ana@metro.example", "password", "wrong")
				}
			}
		})
	}
	for i := range 5 {
		s := hers.post(hers.authorize(ask(c, "prompt", "login", "state", ids.Secret())), "email", "ana@metro.example", "password", secretWords)
		if s.status != entered {
			t.Errorf("time %d: %d", i, s.status)
		}
	}
	close(done)
	all.Wait()
}

// A known browser has its own few guesses, under a secret that is new each
// time and stored hashed.
func TestKnownBrowserIsThrottledAlone(t *testing.T) {
	h := newHouse(t)
	h.server.config.Limits.SignInsAnAccount = 3
	c, hers := h.planner(nil), h.visitor()
	first := hers.post(hers.authorize(ask(c)), "email", "ana@metro.example", "password", secretWords).cookie("__Host-svc-device")
	if first == nil || !first.HttpOnly || !first.Secure || first.SameSite != http.SameSiteLaxMode || first.MaxAge != int(DeviceLife.Seconds()) {
		t.Fatalf("%+v", first)
	}
	it, err := h.server.p.Get(context.Background(), h.server.deviceKey(first.Value))
	must(t, err)
	if !it.Found() || strings.Contains(it.PK+it.SK+it.Raw(), first.Value) || strings.Contains(it.Raw(), "ana") {
		t.Errorf("stored as %s %s", it.PK, it.Raw())
	}
	second := hers.post(hers.authorize(ask(c, "prompt", "login", "state", ids.Secret())), "email", "ana@metro.example", "password", secretWords).cookie("__Host-svc-device")
	if it, err = h.server.p.Get(context.Background(), h.server.deviceKey(first.Value)); second == nil || second.Value == first.Value || err != nil || it.Found() {
		t.Errorf("the second sign-in: %+v, the first secret lives %v, %v", second, it.Found(), err)
	}
	for i := range 3 {
		if got := h.guess(hers, c, "ana@metro.example", "wrong", fmt.Sprintf("198.51.100.%d", i)); got != looked {
			t.Errorf("guess %d: %d", i, got)
		}
	}
	if got := h.guess(hers, c, "ana@metro.example", secretWords, "198.51.100.9"); got != refused {
		t.Errorf("the fourth: %d", got)
	}
	if got := h.guess(h.visitor(), c, "ana@metro.example", secretWords, "198.51.100.9"); got != entered {
		t.Errorf("another browser: %d", got)
	}
}

// One browser is known by several accounts, of which the oldest are forgotten.
func TestBrowserOfSeveralPeople(t *testing.T) {
	h := newHouse(t)
	d := device{}
	for i := range mostAccounts + 2 {
		tx := h.server.p.Write()
		secret := h.server.remember(tx, d, fmt.Sprint("account ", i), "s")
		must(t, tx.Commit(context.Background()))
		r, err := http.NewRequest(http.MethodGet, houseBase, http.NoBody)
		must(t, err)
		r.AddCookie(&http.Cookie{Name: "__Host-svc-device", Value: secret})
		d, err = h.server.device(context.Background(), r)
		must(t, err)
		h.pass(signInWindow)
	}
	for i := range mostAccounts + 2 {
		if _, known := d.Accounts[ids.Hash(fmt.Sprint("account ", i))]; known != (i >= 2) {
			t.Errorf("account %d: known %v", i, known)
		}
	}
}

// A new password forgets the browsers of the old one, and knows the one that
// set it: with a link the owner gets in whatever others do.
func TestPasswordLinkKnowsTheBrowser(t *testing.T) {
	h := newHouse(t)
	h.server.config.Limits.SignInsAnAccount, h.server.config.Limits.SignInsOfAnybody = 3, 3
	c, old, fresh := h.planner(nil), h.visitor(), h.visitor()
	old.through(ask(c), "ana@metro.example")
	for range 3 {
		h.guess(h.visitor(), c, "ana@metro.example", "wrong", "198.51.100.1")
	}
	h.pass(signInWindow)
	link, err := NewLink(context.Background(), h.db, houseBase, authz.Dashboard, "", "ana@metro.example", h.clock())
	must(t, err)
	const words = "another battery staple"
	if s := fresh.post(fresh.get(link), "password", words, "again", words); s.status != http.StatusOK {
		t.Fatalf("%d %s", s.status, s.text())
	}
	for _, test := range []struct {
		name string
		v    *visitor
		want int
	}{{"a browser of the old password", old, refused}, {"nobody's", h.visitor(), refused}, {"the one that set it", fresh, entered}} {
		if got := h.guess(test.v, c, "ana@metro.example", words, "203.0.113.9"); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "2001:db8:1:2::1%eth0": "2001:db8:1:2::/64",
		"": "", "a name": "a name",
	} {
		if got := network(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// FuzzNetwork: what an address is counted by is one text for all of a network.
func FuzzNetwork(f *testing.F) {
	f.Add("2001:db8::1")
	f.Add("192.0.2.1")
	f.Fuzz(func(t *testing.T, address string) {
		at, err := netip.ParseAddr(address)
		got := network(address)
		if err != nil {
			if got != address {
				t.Errorf("%q gives %q", address, got)
			}
			return
		}
		if again := network(at.String()); again != got {
			t.Errorf("%q gives %q, and %q %q", address, got, at, again)
		}
	})
}
