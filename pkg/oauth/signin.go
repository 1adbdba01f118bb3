package oauth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc/pkg/authz"
	"svc/pkg/login"
	"svc/pkg/oauth/page"
	"svc/pkg/password"
	"svc/pkg/person"
	"svc/pkg/table"
)

// The throttles of sign-in by default: attempts in signInWindow, and in a day.
// One that succeeds does not count in the end, but takes its place while it is
// looked at.
const (
	signInWindow     = 15 * time.Minute
	signInsAnAccount = 10
	signInsAnAddress = 100
	signInDay        = 24 * time.Hour
	signInsOfAnybody = 100 // NIST SP 800-63B section 3.2.2
)

const signInForm = "signin"

// showSignIn shows the sign-in of an authorization. The form leads back to the
// request as it came.
func (s *Server) showSignIn(w http.ResponseWriter, r *http.Request, a *authorization, c page.SignIn, status int) error {
	c.Action, c.Client = a.link("signin"), a.client.Name
	c.CSRF = s.form(w, r, signInForm, a.name())
	c.Rider, c.Driver = a.audience == authz.Rider, a.audience == authz.Driver
	c.Forgot = s.forgotLink(a.audience, a.tenantHint, a.locales)
	return s.show(w, r, status, a.frame(), c)
}

// frame is what the authorization's pages have around them.
func (a *authorization) frame() page.Frame {
	return page.Frame{Brand: a.brand, FormTo: formTo(a.client, a.redirectURI)}
}

// signinPage leads a reload of the sign-in page back to what asked for it.
func (s *Server) signinPage(w http.ResponseWriter, r *http.Request) error {
	if isOwn(r) {
		return redirect(w, http.StatusSeeOther, ownLink(r))
	}
	return s.reload(w, r)
}

// signin answers POST /oauth/signin, the sign-in form of an authorization or
// of the server's own pages.
func (s *Server) signin(w http.ResponseWriter, r *http.Request) error {
	return s.browser(w, r, func(w http.ResponseWriter, r *http.Request) error {
		form, err := readForm(r)
		if err != nil {
			return err
		}
		if isOwn(r) {
			return s.signInOwn(w, r, form)
		}
		a, err := s.open(r)
		if err != nil {
			return err
		}
		if !formGood(s.cookie(r, formCookie), signInForm, a.name(), form.Get("csrf")) {
			return redirect(w, http.StatusSeeOther, a.link("authorize"))
		}
		fresh := session{Audience: a.audience, Email: form.Get("email"), Fresh: a.name()}
		problem, err := s.signInAs(w, r, fresh, a.tenant.ID, form.Get("password"))
		if err != nil {
			return err
		}
		if problem != "" {
			note(r, "sign_in_"+problem)
			return s.showSignIn(w, r, a, page.SignIn{Email: form.Get("email"), Problem: problem}, statusOf(problem))
		}
		return redirect(w, http.StatusSeeOther, a.link("authorize"))
	})
}

// The problems of a sign-in, keys of page.SignIn.
const (
	wrong     = "wrong"
	throttled = "throttled"
)

func statusOf(problem string) int {
	if problem == throttled {
		return http.StatusTooManyRequests
	}
	return http.StatusBadRequest
}

// signInAs begins a session for the account of the mail address, in the tenant
// where one is named, or gives the problem to show. What is wrong is never
// told apart: an unknown account, a wrong password, a disabled account.
func (s *Server) signInAs(w http.ResponseWriter, r *http.Request, n session, tenantID, secret string) (problem string, err error) {
	ctx := r.Context()
	n.Email = strings.TrimSpace(n.Email)
	name := account(n.Audience, tenantID, n.Email)
	d, err := s.device(ctx, r)
	if err != nil {
		return "", err
	}
	l, err := s.login(ctx, n.Audience, tenantID, n.Email)
	if err != nil {
		return "", err
	}
	counters := s.signInCounters(ctx, name, d, s.knows(name, l, d))
	err = s.throttle(ctx, counters...)
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", seconds(e.RetryAfter))
		return throttled, nil
	}
	if err != nil {
		return "", err
	}
	good := password.Verify(l.Hash, secret) // of no account too, in the same time
	if !good || l.Actor == "" || l.Disabled {
		return wrong, nil
	}
	if admitted, err := s.admitted(ctx, n.Audience, tenantID, l); err != nil || !admitted {
		return wrong, err
	}
	s.forgive(ctx, counters...)
	n.Actor, n.Since, n.AuthTime, n.TenantID = l.Actor, l.Since, s.now(), tenantOf(n.Audience, tenantID)
	return "", s.begin(ctx, w, r, n, d)
}

// signInCounters are what an attempt counts in. One with a browser that the
// account knows counts with that browser alone, whatever others do. All others
// count by where they come from, and together.
func (s *Server) signInCounters(ctx context.Context, name string, d device, known bool) []counter {
	limits := s.config.Limits
	if known {
		return []counter{{"signin-device", name + "\n" + d.secret, limits.SignInsAnAccount, signInWindow}}
	}
	at := s.address(ctx)
	return []counter{
		{"signin-address", at, limits.SignIns, signInWindow},
		{"signin", name + "\n" + at, limits.SignInsAnAccount, signInWindow},
		{"signin-account", name, limits.SignInsOfAnybody, signInDay},
	}
}

// tenantOf is the tenant that an account of the audience belongs to: none for
// an operator's, who is a person of the platform.
func tenantOf(audience authz.Audience, tenantID string) string {
	if audience == authz.Dashboard {
		return ""
	}
	return tenantID
}

// admitted says whether the account may act: in the tenant, or where none is
// named in any.
func (s *Server) admitted(ctx context.Context, audience authz.Audience, tenantID string, l login.Login) (bool, error) {
	if tenantID == "" {
		choices, err := s.memberships(ctx, l.Actor)
		return len(choices) > 0, err
	}
	t := s.db.Tenant(tenantID)
	items, err := t.Batch(ctx, authz.ActorKey(t, audience, l.Actor), authz.FlagsKey(t, 0))
	if err != nil {
		return false, err
	}
	return stands(items[0]) && stands(items[1]), nil
}

// memberships gives the tenants that a person may choose from now.
func (s *Server) memberships(ctx context.Context, actor string) ([]membership, error) {
	all, err := person.Store{DB: s.db}.Memberships(ctx, actor)
	if err != nil {
		return nil, err
	}
	handle, keys := table.Handle{}, []table.Key{}
	for _, m := range all {
		if !m.Disabled {
			t := s.db.Tenant(m.TenantID)
			handle, keys = table.Join(handle, t.Handle), append(keys, authz.FlagsKey(t, 0))
			all[len(keys)-1] = m
		}
	}
	items, err := handle.Batch(ctx, keys...)
	if err != nil {
		return nil, err
	}
	var out []membership
	for i, it := range items {
		if stands(it) {
			out = append(out, membership{tenantID: all[i].TenantID, slug: it.Text("slug"), name: it.Text("name")})
		}
	}
	return out, nil
}

// membership is a tenant that a person may act in.
type membership struct{ tenantID, slug, name string }

// readForm reads a form-encoded body.
func readForm(r *http.Request) (url.Values, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, badRequest("request", "the form is malformed")
	}
	return form, nil
}
