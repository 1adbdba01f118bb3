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
	"svc/pkg/email"
	"svc/pkg/login"
	"svc/pkg/oauth/page"
	"svc/pkg/password"
	"svc/pkg/person"
	"svc/pkg/table"
)

// The throttles of sign-in by default: attempts in signInWindow. One that
// succeeds does not count in the end, but takes its place while it is looked at.
const (
	signInWindow     = 15 * time.Minute
	signInsAnAccount = 10
	signInsAnAddress = 100
)

const signInForm = "signin"

// showSignIn shows the sign-in of an authorization. The form leads back to the
// request as it came.
func (s *Server) showSignIn(w http.ResponseWriter, r *http.Request, a *authorization, c page.SignIn, status int) error {
	c.Action, c.Client = a.link("signin"), a.client.Name
	c.CSRF = s.form(w, r, signInForm, a.name())
	c.Rider, c.Driver = a.audience == authz.Rider, a.audience == authz.Driver
	return s.show(w, r, status, a.frame(), c)
}

// frame is what the authorization's pages have around them.
func (a *authorization) frame() page.Frame {
	return page.Frame{Brand: a.brand, FormTo: []string{a.redirectURI}}
}

// signinPage leads a reload of the sign-in page back to the request.
func (s *Server) signinPage(w http.ResponseWriter, r *http.Request) error {
	if isOwn(r) {
		return redirect(w, http.StatusSeeOther, ownLink(r))
	}
	return redirect(w, http.StatusSeeOther, "authorize?"+r.URL.RawQuery)
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
	account := strings.Join([]string{string(n.Audience), tenantOf(n.Audience, tenantID), email.Fold(n.Email)}, "\n")
	err = s.throttle(ctx, "signin-address", s.address(ctx), s.config.Limits.SignIns, signInWindow)
	if err == nil {
		err = s.throttle(ctx, "signin", account, s.config.Limits.SignInsAnAccount, signInWindow)
	}
	var e *Error
	if errors.As(err, &e) && e.Status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", seconds(e.RetryAfter))
		return throttled, nil
	}
	if err != nil {
		return "", err
	}
	l, err := s.login(ctx, n.Audience, tenantID, n.Email)
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
	s.forgive(ctx, "signin-address", s.address(ctx), signInWindow)
	s.forgive(ctx, "signin", account, signInWindow)
	n.Actor, n.Since, n.AuthTime, n.TenantID = l.Actor, l.Since, s.now(), tenantOf(n.Audience, tenantID)
	return "", s.begin(ctx, w, r, n)
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

// forgive takes back one use that throttle counted. It is best effort.
func (s *Server) forgive(ctx context.Context, kind, key string, window time.Duration) {
	if key == "" {
		return
	}
	at, _ := s.throttleKey(kind, key, window)
	tx := s.p.Write()
	tx.Update(at, table.Change{Add: map[string]any{"n": -1}}).If("attribute_exists(pk)")
	if err := tx.Commit(ctx); err != nil && !errors.Is(err, table.ErrCondition) {
		s.log.WarnContext(ctx, "a successful sign-in still counts as an attempt", "error", err)
	}
}

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
