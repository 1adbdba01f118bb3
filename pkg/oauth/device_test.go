package oauth_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/person"
	"svc/pkg/oauth"
	"svc/pkg/oauth/link"
	"svc/pkg/oauth/session"
)

// The server's default limits.
const (
	signInWindow     = 15 * time.Minute
	signInDay        = 24 * time.Hour
	signInsAnAccount = 10
	signInsAnAddress = 100
	mostAccounts     = 8 // accounts that may know one browser
)

// limitSignIns limits the failed sign-ins to one account: from one address in a
// quarter of an hour, and from all unknown browsers in a day. Beyond the second
// limit, sign-ins must wait.
func limitSignIns(anAddress, aDay int) func(*oauth.Config) {
	return func(c *oauth.Config) { c.Limits.SignInsAnAccount, c.Limits.SignInsOfAnybody = anAddress, aDay }
}

// trySignIn tries to sign in from the address and returns the status.
func (f *fixture) trySignIn(b *browser, c client, email, secret, from string) int {
	f.t.Helper()
	f.comeFrom(from)
	return b.post(b.authorize(authorization(c, "prompt", "login", "state", ids.Secret())), "email", email, "password",
		secret).status
}

const (
	guessChecked = http.StatusBadRequest
	guessRefused = http.StatusTooManyRequests
	guessRight   = http.StatusSeeOther
)

// The guesses at an account are limited over all addresses. They do not lock
// the owner out of a browser that was used to sign in before.
func TestGuessesLockNoKnownBrowser(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	f := newFixture(t, limitSignIns(3, 7))
	c, hers := f.storeClient(nil), f.newBrowser()
	hers.obtainCode(authorization(c), "ana@metro.example")
	for _, email := range []string{"ana@metro.example", "noone@metro.example"} {
		tried := 0
		for net := range 5 {
			for range 4 {
				if f.trySignIn(f.newBrowser(), c, email, "wrong", fmt.Sprintf("198.51.100.%d", net)) == guessChecked {
					tried++
				}
			}
			if want := min(7, 3*(net+1)); tried != want {
				t.Errorf("%s, %d addresses: %d guesses were looked at, want %d", email, net+1, tried, want)
			}
		}
	}
	for i := range 3 {
		if got := f.trySignIn(hers, c, "ana@metro.example", password, "198.51.100.1"); got != guessRight {
			t.Errorf("her own browser, time %d: %d", i, got)
		}
	}
	if got := f.trySignIn(f.newBrowser(), c, "ana@metro.example", password, "203.0.113.9"); got != guessRefused {
		t.Errorf("a browser that nobody knows: %d", got)
	}
	bobs := f.newBrowser()
	bobs.obtainCode(authorization(c), "bob@metro.example")
	if got := f.trySignIn(bobs, c, "ana@metro.example", password, "203.0.113.9"); got != guessRefused {
		t.Errorf("a browser that another account knows: %d", got)
	}
	f.advance(signInDay)
	if got := f.trySignIn(f.newBrowser(), c, "ana@metro.example", password, "203.0.113.9"); got != guessRight {
		t.Errorf("the next day: %d", got)
	}
}

// Guesses from unknown browsers wait longer each time, up to 20 minutes. Nobody
// is locked out for a day, the page says for how many minutes, and a guess that
// comes too early does not extend the wait.
func TestGuessesWaitLongerEachTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t, limitSignIns(-1, 3))
	c := f.storeClient(nil)
	guess := func(secret string) response {
		b := f.newBrowser()
		return b.post(b.authorize(authorization(c)), "email", "ana@metro.example", "password", secret)
	}
	for range 3 {
		if got := guess("wrong").status; got != guessChecked {
			t.Fatalf("a guess without a wait: %d", got)
		}
	}
	for _, minutes := range []int{1, 2, 4, 8, 16, 20, 20} {
		f.advance(time.Duration(minutes)*time.Minute - time.Second)
		s := guess(password)
		if s.status != guessRefused || s.header.Get("Retry-After") != "1" || !strings.Contains(s.text(), "in 1 min") {
			t.Errorf("a second before %d minutes are over: %d %v %s", minutes, s.status, s.header, s.text())
		}
		f.advance(time.Second)
		if got := guess("wrong").status; got != guessChecked {
			t.Errorf("after %d minutes: %d", minutes, got)
		}
	}
	if s := guess(password); s.status != guessRefused || !strings.Contains(s.text(), "in 20 min") {
		t.Errorf("the longest wait: %d %s", s.status, s.text())
	}
	f.advance(20 * time.Minute)
	if got := guess(password).status; got != guessRight {
		t.Errorf("the owner after the longest wait: %d", got)
	}
}

// If several guesses wait at the same time, only one is checked.
func TestGuessesThatWaitedTogether(t *testing.T) {
	t.Parallel()
	f := newFixture(t, limitSignIns(-1, 1))
	c := f.storeClient(nil)
	f.trySignIn(f.newBrowser(), c, "ana@metro.example", "wrong", "198.51.100.1")
	f.advance(time.Minute)
	var checked atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			b := f.newBrowser()
			s := b.post(b.authorize(authorization(c)), "email", "ana@metro.example", "password", "wrong")
			if s.status == guessChecked {
				checked.Add(1)
			} else if s.status != guessRefused {
				t.Errorf("%d %s", s.status, s.text())
			}
		})
	}
	all.Wait()
	if got := checked.Load(); got != 1 {
		t.Errorf("%d guesses were checked, want 1", got)
	}
}

// A known browser can sign in while others make guesses concurrently.
func TestGuessesAtOnceLockNoKnownBrowser(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c, hers := f.storeClient(nil), f.newBrowser()
	hers.obtainCode(authorization(c), "ana@metro.example")
	done := make(chan struct{})
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					b := f.newBrowser()
					b.post(b.authorize(authorization(c)), "email", "ana@metro.example", "password", "wrong")
				}
			}
		})
	}
	for i := range 5 {
		s := hers.post(hers.authorize(authorization(c, "prompt", "login", "state", ids.Secret())), "email",
			"ana@metro.example", "password", password)
		if s.status != guessRight {
			t.Errorf("time %d: %d", i, s.status)
		}
	}
	close(done)
	all.Wait()
}

// A known browser has its own limit of guesses. Its secret changes at each
// sign-in and is stored hashed.
func TestKnownBrowserIsThrottledAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, limitSignIns(3, 0))
	c, hers := f.storeClient(nil), f.newBrowser()
	first := hers.post(hers.authorize(authorization(c)), "email", "ana@metro.example", "password",
		password).cookie("__Host-svc-device")
	if first == nil || !first.HttpOnly || !first.Secure || first.SameSite != http.SameSiteLaxMode ||
		first.MaxAge != int(session.DeviceLife.Seconds()) {
		t.Fatalf("%+v", first)
	}
	it := f.stored("DEVICE", first.Value)
	if !it.Found() || strings.Contains(it.PK+it.SK+it.Raw(), first.Value) || strings.Contains(it.Raw(), "ana") {
		t.Errorf("stored as %s %s", it.PK, it.Raw())
	}
	second := hers.post(hers.authorize(authorization(c, "prompt", "login", "state", ids.Secret())), "email",
		"ana@metro.example", "password", password).cookie("__Host-svc-device")
	if it = f.stored("DEVICE", first.Value); second == nil || second.Value == first.Value || it.Found() {
		t.Errorf("the second sign-in: %+v, the first secret lives %v", second, it.Found())
	}
	for i := range 3 {
		if got := f.trySignIn(hers, c, "ana@metro.example", "wrong", fmt.Sprintf("198.51.100.%d", i)); got != guessChecked {
			t.Errorf("guess %d: %d", i, got)
		}
	}
	if got := f.trySignIn(hers, c, "ana@metro.example", password, "198.51.100.9"); got != guessRefused {
		t.Errorf("the fourth: %d", got)
	}
	if got := f.trySignIn(f.newBrowser(), c, "ana@metro.example", password, "198.51.100.9"); got != guessRight {
		t.Errorf("another browser: %d", got)
	}
}

// A sign-in with an account of one's own gives no new guesses at the other
// accounts that know the browser.
func TestOwnSignInGivesNoNewGuesses(t *testing.T) {
	t.Parallel()
	f := newFixture(t, limitSignIns(3, 0))
	c, shared := f.storeClient(nil), f.newBrowser()
	shared.obtainCode(authorization(c), "ana@metro.example")
	for i := range 6 {
		want := guessChecked
		if i >= 3 {
			want = guessRefused
		}
		if got := f.trySignIn(shared, c, "ana@metro.example", "wrong", "198.51.100.1"); got != want {
			t.Errorf("guess %d: %d, want %d", i, got, want)
		}
		if got := f.trySignIn(shared, c, "bob@metro.example", password, "198.51.100.1"); got != guessRight {
			t.Fatalf("bob after guess %d: %d", i, got)
		}
	}
	f.advance(signInWindow)
	if got := f.trySignIn(shared, c, "ana@metro.example", password, "198.51.100.1"); got != guessRight {
		t.Errorf("ana, after the window: %d", got)
	}
}

// A device's record has at most one successor, so two browsers never share its
// counters: sign-ins at once with copies of one cookie leave one browser that
// knows the other accounts.
func TestCopiedCookieAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c, hers := f.storeClient(nil), f.newBrowser()
	hers.obtainCode(authorization(c), "ana@metro.example")
	secrets := make([]string, 4)
	var all sync.WaitGroup
	for i := range secrets {
		b := f.newBrowser()
		b.client.Jar.SetCookies(ownAddress(t), hers.client.Jar.Cookies(ownAddress(t)))
		page := b.authorize(authorization(c, "prompt", "login", "state", ids.Secret()))
		all.Go(func() {
			s := b.post(page, "email", "bob@metro.example", "password", password)
			if cookie := s.cookie("__Host-svc-device"); cookie != nil {
				secrets[i] = cookie.Value
			} else if s.status != http.StatusServiceUnavailable {
				t.Errorf("%d %s", s.status, s.text())
			}
		})
	}
	all.Wait()
	know := 0
	for _, secret := range secrets {
		var device struct{ Accounts map[string]any }
		if it := f.stored("DEVICE", secret); it.Found() {
			testkit.Must(t, it.Decode(&device))
		}
		if _, ok := device.Accounts[ids.Hash("dashboard\n\nana@metro.example")]; ok {
			know++
		}
	}
	if know != 1 {
		t.Errorf("ana knows %d browsers, want 1", know)
	}
}

// A device's record of an earlier build has no counter. It gets one at the next
// sign-in.
func TestDeviceWithoutCounter(t *testing.T) {
	t.Parallel()
	f := newFixture(t, limitSignIns(3, 0))
	c, shared := f.storeClient(nil), f.newBrowser()
	first := shared.post(shared.authorize(authorization(c)), "email", "ana@metro.example", "password", password)
	secret := first.cookie("__Host-svc-device").Value
	p := f.db.Platform("DEVICE", "SESSION")
	old := f.stored("DEVICE", secret)
	var record map[string]any
	testkit.Must(t, old.Decode(&record))
	delete(record, "counter")
	tx := p.Write()
	tx.Put(table.Item{Key: old.Key, Type: "device", Doc: record, Expires: old.Expires})
	testkit.Must(t, tx.Commit(t.Context()))
	guess := func() int { return f.trySignIn(shared, c, "ana@metro.example", "wrong", "198.51.100.1") }
	bob := func() int { return f.trySignIn(shared, c, "bob@metro.example", password, "198.51.100.1") }
	for i := range 4 { // before the next sign-in its secret counts
		if got := guess(); (got == guessChecked) != (i < 3) {
			t.Errorf("guess %d: %d", i, got)
		}
	}
	for i := range 5 {
		if got := bob(); got != guessRight {
			t.Fatalf("bob: %d", got)
		}
		if got := guess(); (got == guessChecked) != (i < 3) {
			t.Errorf("guess %d with the new record: %d", i, got)
		}
	}
}

// ownAddress returns the server's address.
func ownAddress(t *testing.T) *url.URL {
	t.Helper()
	own, err := url.Parse(baseURL)
	testkit.Must(t, err)
	return own
}

// Several accounts can know one browser. Beyond the limit the oldest are
// forgotten.
func TestBrowserOfSeveralPeople(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	people, c, b := person.Store{DB: f.db}, f.storeClient(nil), f.newBrowser()
	var secret string
	email := func(i int) string { return fmt.Sprintf("p%d@metro.example", i) }
	for i := range mostAccounts + 2 {
		p, err := people.Create(t.Context(), f.by(), person.Person{Email: email(i)}, passwordHash())
		testkit.Must(t, err)
		_, err = people.Join(t.Context(), f.tenant, f.by(), p.ID, "owner", []string{"VIEW_TRIPS"})
		testkit.Must(t, err)
		page := b.authorize(authorization(c, "prompt", "login", "state", ids.Secret()))
		cookie := b.post(page, "email", email(i), "password", password).cookie("__Host-svc-device")
		if cookie == nil {
			t.Fatalf("account %d: no cookie", i)
		}
		secret = cookie.Value
		f.advance(signInWindow)
	}
	var known struct{ Accounts map[string]any }
	it := f.stored("DEVICE", secret)
	testkit.Must(t, it.Decode(&known))
	for i := range mostAccounts + 2 {
		account := ids.Hash("dashboard\n\n" + email(i))
		if _, ok := known.Accounts[account]; ok != (i >= 2) {
			t.Errorf("account %d: known %v", i, ok)
		}
	}
}

// After a new password, the account knows only the browser that set it. So with
// a link the owner can sign in even while others guess.
func TestPasswordLinkKnowsTheBrowser(t *testing.T) {
	t.Parallel()
	f := newFixture(t, limitSignIns(3, 3))
	c, old, fresh := f.storeClient(nil), f.newBrowser(), f.newBrowser()
	old.obtainCode(authorization(c), "ana@metro.example")
	for range 3 {
		f.trySignIn(f.newBrowser(), c, "ana@metro.example", "wrong", "198.51.100.1")
	}
	f.advance(time.Second)
	link, err := link.New(context.Background(), f.db, baseURL, authz.Dashboard, "", "ana@metro.example", f.now())
	testkit.Must(t, err)
	const words = "another battery staple"
	if s := fresh.post(fresh.get(link), "password", words, "again", words); s.status != http.StatusOK {
		t.Fatalf("%d %s", s.status, s.text())
	}
	for _, test := range []struct {
		name string
		b    *browser
		want int
	}{{"a browser of the old password", old, guessRefused}, {"nobody's", f.newBrowser(), guessRefused},
		{"the one that set it", fresh, guessRight}} {
		if got := f.trySignIn(test.b, c, "ana@metro.example", words, "203.0.113.9"); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}
