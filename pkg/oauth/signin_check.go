package oauth

import (
	"context"
	"net/http"
	"strings"
	"time"

	"svc/pkg/access/login"
	"svc/pkg/access/password"
	"svc/pkg/access/throttle"
	"svc/pkg/domain/page"
	"svc/pkg/oauth/protocol"
	"svc/pkg/oauth/session"
)

// The windows for counting sign-ins. A successful sign-in counts only while it
// is being checked.
const (
	signInWindow = 15 * time.Minute
	signInDay    = 24 * time.Hour
)

// Problems that a form shows, as keys of texts of package page (see
// page.SignIn.Problem).
const (
	wrong     = "wrong"
	throttled = "throttled"
	noCookies = "cookies"
)

// statusOf returns the status of a page that shows the problem.
func statusOf(problem string) int {
	if problem == throttled {
		return http.StatusTooManyRequests
	}
	return http.StatusBadRequest
}

// signInCheck signs people in by mail address and password. It limits the
// guesses, and counts each before it checks the password, so parallel guesses cannot pass
// the limit.
type signInCheck struct {
	sessions *session.Store
	throttle *throttle.Throttle
	limits   Limits
	now      func() time.Time
}

// signIn begins the session n for the account of its mail address. secret is the
// password. If signIn refuses, the returned page has a problem to show. tenantID may
// be empty for an operator. An unknown account, a wrong password, a disabled account,
// and an account that may not act in the tenant (see Accounts.Admitted) get the same
// problem.
func (c *signInCheck) signIn(w http.ResponseWriter, r *http.Request, n session.Session,
	tenantID, secret string) (page.SignIn, error) {
	ctx := r.Context()
	n.Email = strings.TrimSpace(n.Email)
	again, l, d, err := c.verify(w, r, n, tenantID, secret, func(l login.Login) (bool, error) {
		return c.sessions.Admitted(ctx, n.Audience, tenantID, l)
	})
	if err != nil || again.Problem != "" {
		return again, err
	}
	n.Actor, n.Since, n.AuthTime, n.TenantID = l.Actor, l.Since, c.now(), session.TenantOf(n.Audience, tenantID)
	if l.Leaving {
		t := c.sessions.DB.Tenant(tenantID)
		if err := login.Stay(ctx, t, login.Key(t, n.Audience, n.Email), l.Actor); err != nil {
			return again, err
		}
	}
	return again, c.sessions.Begin(ctx, w, r, n, d)
}

// verify checks the password as signIn does, and returns the account and the browser. It
// begins no session. admits decides whether the account may go on.
func (c *signInCheck) verify(w http.ResponseWriter, r *http.Request, n session.Session, tenantID, secret string,
	admits func(login.Login) (bool, error)) (again page.SignIn, l login.Login, d session.Device, err error) {
	ctx := r.Context()
	again = page.SignIn{Email: n.Email, Problem: wrong}
	name := session.AccountKey(n.Audience, tenantID, n.Email)
	if d, err = c.sessions.Device(ctx, r); err != nil {
		return again, l, d, err
	}
	if l, err = c.sessions.Login(ctx, n.Audience, tenantID, n.Email); err != nil {
		return again, l, d, err
	}
	counters := c.counters(ctx, name, d, c.sessions.Knows(name, l, d))
	err = c.throttle.Count(ctx, counters...)
	if e, ok := throttle.Refused(err); ok {
		w.Header().Set("Retry-After", protocol.Seconds(e.RetryAfter))
		again.Problem, again.Minutes = throttled, int((e.RetryAfter+time.Minute-1)/time.Minute)
		return again, l, d, nil
	}
	if err != nil {
		return again, l, d, err
	}
	good := password.Verify(l.Hash, secret) // also without an account, so that the time is the same
	if !good || l.Actor == "" || l.Disabled {
		return again, l, d, nil
	}
	if admitted, err := admits(l); err != nil || !admitted {
		return again, l, d, err
	}
	c.throttle.Forgive(ctx, counters...)
	again.Problem = ""
	return again, l, d, nil
}

// counters returns the counters of a sign-in attempt. An attempt from a browser
// that the account knows counts only for that browser and account. Attempts from
// elsewhere do not change this count. Any other attempt counts three times: for
// the address, for the account at this address, and for the account at all
// addresses. Beyond the limit of the third count, each attempt has to wait
// longer than the one before, up to 20 minutes.
func (c *signInCheck) counters(ctx context.Context, name string, d session.Device, known bool) []throttle.Counter {
	limits := c.limits
	if known {
		return []throttle.Counter{{Kind: "signin-device", Key: d.CounterKey(name), Limit: limits.SignInsAnAccount,
			Window: signInWindow}}
	}
	at := c.throttle.Address(ctx)
	return []throttle.Counter{
		{Kind: "signin-address", Key: at, Limit: limits.SignIns, Window: signInWindow},
		{Kind: "signin", Key: name + "\n" + at, Limit: limits.SignInsAnAccount, Window: signInWindow},
		{Kind: "signin-account", Key: name, Limit: limits.SignInsOfAnybody, Window: signInDay, Delays: true},
	}
}
