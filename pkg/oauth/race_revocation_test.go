package oauth_test

import (
	"context"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/domain/customer"
)

// raceSize is the number of revocations and uses in TestRaceRevocation;
// SVC_RACE sets another number. raceLeg is how many of them use one engine,
// because the embedded engine slows down as its stream grows.
const (
	raceSize = 2000
	raceLeg  = 10_000
)

// TestRaceRevocation uses tokens while they are revoked, in every way, through
// the whole service. A use that begins after the revocation has returned is
// never accepted. A use during the revocation may succeed or fail.
func TestRaceRevocation(t *testing.T) {
	testkit.Long(t)
	size := raceSize
	if text := os.Getenv("SVC_RACE"); text != "" {
		var err error
		if size, err = strconv.Atoi(text); err != nil || size < 1 {
			t.Fatalf("SVC_RACE is %q, not a number of revocations and uses", text)
		}
	}
	for leg := 1; size > 0; leg, size = leg+1, size-raceLeg {
		t.Run("leg "+strconv.Itoa(leg), func(t *testing.T) { runRace(t, min(size, raceLeg)) })
	}
}

func runRace(t *testing.T, size int) {
	s := newService(t)
	r := &race{service: s}
	began := time.Now()
	var all sync.WaitGroup
	for _, name := range []string{"ada", "bea", "cleo"} {
		l := &lane{race: r, rider: s.Rider(t, "metro", name), registration: s.client(t, "token_endpoint_auth_method", "none")}
		l.browser = newServiceBrowser(t, s.Service)
		if got := l.browser.finish(s.authorization(l.registration), l.rider.Email); got.page() != "code" {
			t.Fatalf("signing %s in: %s", name, got.page())
		}
		all.Go(func() {
			for n := 0; r.made.Load() < int64(size) && !t.Failed(); n++ {
				l.round(t, n)
			}
		})
	}
	all.Wait()
	if r.refused.Load() == 0 || r.accepted.Load() == 0 {
		t.Errorf("%d accepted, %d refused: the two did not meet", r.accepted.Load(), r.refused.Load())
	}
	t.Logf("%d revocations and uses in %v: %d uses accepted, %d refused, %d accepted while a revocation was under way",
		r.made.Load(), time.Since(began).Round(time.Second), r.accepted.Load(), r.refused.Load(), r.meanwhile.Load())
}

type race struct {
	*service
	made, accepted, refused, meanwhile atomic.Int64
	order                              atomic.Int64 // increases at each beginning and end
}

// lane is one rider with a separate client, so that lanes do not end each
// other's tokens.
type lane struct {
	*race
	rider        apptest.Actor
	registration registration
	browser      *browser
}

// event records when the revocation of a round began and when it returned; 0
// before.
type event struct{ began, returned atomic.Int64 }

func (l *lane) round(t *testing.T, n int) {
	code := l.browser.finish(l.authorization(l.registration), l.rider.Email)
	tokens := apptest.JSON[granted](t, l.redeem(t, l.registration, code.answer.Get("code")).Must(t, http.StatusOK))
	old := tokens
	if n%2 == 1 { // so that there is an old generation, and more than one access token
		tokens = apptest.JSON[granted](t, l.refresh(t, l.registration, tokens.Refresh).Must(t, http.StatusOK))
	}
	e := &event{}
	var users sync.WaitGroup
	for _, use := range []func() bool{
		func() bool { return l.lives(t, tokens.Access) },
		func() bool { return l.lives(t, old.Access) },
		func() bool { return l.userinfo(t, tokens.Access).Status == http.StatusOK },
	} {
		users.Go(func() { l.use(t, e, use) })
	}
	refresh := tokens.Refresh
	var given []string
	users.Go(func() {
		l.use(t, e, func() bool {
			a := l.refresh(t, l.registration, refresh)
			if a.Status != http.StatusOK {
				return false
			}
			next := apptest.JSON[granted](t, a)
			refresh, given = next.Refresh, append(given, next.Access)
			return true
		})
	})
	time.Sleep(time.Duration(n%5) * time.Millisecond) // so that they meet at different places
	e.began.Store(l.order.Add(1))
	again := l.revoke(t, n, old, tokens)
	e.returned.Store(l.order.Add(1))
	l.made.Add(1)
	users.Wait()
	for _, token := range given {
		if l.made.Add(1); l.lives(t, token) {
			t.Errorf("%s: a token that a refresh gave meanwhile outlives the revocation", kinds[n%len(kinds)])
		}
	}
	again()
}

// use uses a token until it was rejected twice after the revocation returned.
func (l *lane) use(t *testing.T, e *event, use func() bool) {
	for late := 0; late < 2 && !t.Failed(); {
		began := l.order.Add(1)
		good := use()
		returned := e.returned.Load()
		after := returned != 0 && began > returned
		l.made.Add(1)
		switch {
		case good && after:
			t.Errorf("accepted, though it began after the revocation had returned")
			return
		case good:
			if l.accepted.Add(1); e.began.Load() != 0 {
				l.meanwhile.Add(1)
			}
		default:
			l.refused.Add(1)
		}
		if after {
			late++
		}
	}
}

var kinds = []string{"access token", "refresh token", "by the operator of the platform", "reuse of a refresh token",
	"rider disabled", "connected apps"}

// revoke revokes the round's tokens; n selects the way. again restores what
// later rounds need.
func (l *lane) revoke(t *testing.T, n int, old, tokens granted) (again func()) {
	nothing := func() {}
	ctx := context.WithoutCancel(t.Context())
	switch kinds[n%len(kinds)] {
	case "access token":
		l.form(t, l.registration, "/oauth/revoke", "token", old.Access).Must(t, http.StatusOK)
	case "refresh token":
		l.form(t, l.registration, "/oauth/revoke", "token", tokens.Refresh).Must(t, http.StatusOK)
	case "by the operator of the platform":
		_, c := claims(t, tokens.Access)
		if err := l.Runtime.AuthorizationServer().RevokeToken(ctx, l.Tenant("metro"), l.By(), c["jti"].(string)); err != nil {
			t.Errorf("revoking: %v", err)
		}
	case "reuse of a refresh token":
		refused(t, l.refresh(t, l.registration, old.Refresh), http.StatusBadRequest, "invalid_grant")
	case "rider disabled":
		set := func(disabled bool) {
			_, err := customer.Store.Change(ctx, l.Tenant("metro"), l.By(), l.rider.ID,
				func(r *customer.Record) error { r.Disabled = disabled; return nil })
			if err != nil {
				t.Errorf("disabled %v: %v", disabled, err)
			}
		}
		set(true)
		return func() { set(false) }
	case "connected apps":
		_, csrf := l.browser.get("/oauth/apps").form(t)
		got := l.browser.do(http.MethodPost, "/oauth/apps", formOf("csrf", csrf, "client", l.registration.id, "of",
			l.Metro.ID))
		if got.status != http.StatusSeeOther {
			t.Errorf("connected apps: %d", got.status)
		}
	}
	return nothing
}
