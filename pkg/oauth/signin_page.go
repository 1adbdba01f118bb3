package oauth

import (
	"context"
	"maps"
	"net/http"

	"svc/pkg/access/authz"
	"svc/pkg/domain/page"
	"svc/pkg/oauth/company"
	"svc/pkg/oauth/protocol"
	"svc/pkg/oauth/session"
)

// signInForm is the purpose of the page's form token (Cookies.FormToken).
const signInForm = "signin"

// signInPage asks for mail address and password, for an authorization or for the
// server's own pages.
type signInPage struct {
	*pages
	*authorizations
	owner func(context.Context, *authorization) error // decisions.owner, which sets own and logo
	check *signInCheck
	mails bool // the server can mail a link to set a password
}

// show shows the sign-in page of an authorization. c has the problem to show, and what the
// person typed before. After a successful sign-in, the form leads back to the unchanged
// request.
func (p *signInPage) show(w http.ResponseWriter, r *http.Request, a *authorization, c page.SignIn, status int) error {
	if err := p.owner(r.Context(), a); err != nil {
		return err
	}
	if c.Own = a.own; c.Own == ofCompany {
		c.Company = a.Tenant.Name
	}
	c.Action, c.Client, c.Logo = a.Link("signin"), a.client.Name, a.logo
	c.CSRF = p.sessions.FormToken(w, r, signInForm, a.Name())
	c.Rider, c.Driver = a.audience == authz.Rider, a.audience == authz.Driver
	if p.mails {
		c.Forgot = a.Link("forgot")
		if maySignUp(a.audience, a.Tenant) {
			c.SignUp = a.Link("signup")
		}
	}
	return p.pages.show(w, r, status, a.frame(), c)
}

// reload serves GET /oauth/signin, which a browser sends when a person reloads the page. It
// redirects to the request that needed the sign-in.
func (p *signInPage) reload(w http.ResponseWriter, r *http.Request) error {
	if company.IsOwn(r) {
		return redirect(w, http.StatusSeeOther, company.AppsLink(r))
	}
	return reload(w, r)
}

// post serves POST /oauth/signin, the sign-in form of an authorization or of the
// server's own pages.
func (p *signInPage) post(w http.ResponseWriter, r *http.Request) error {
	if company.IsOwn(r) {
		return p.postOwn(w, r)
	}
	a, form, err := p.posted(r)
	if err != nil {
		return err
	}
	base, err := p.companies.SignInBase(r, a.audience, a.Tenant)
	if err != nil {
		return err
	}
	if base == "" && !p.sessions.HasForm(r) {
		again := page.SignIn{Email: form.Get("email"), Problem: noCookies}
		return p.show(w, r, a, again, http.StatusBadRequest)
	}
	if base != "" || !p.sessions.FormValid(r, signInForm, a.Name(), form.Get("csrf")) {
		return redirect(w, http.StatusSeeOther, a.Link("authorize"))
	}
	fresh := session.Session{Audience: a.audience, Email: form.Get("email"), Fresh: a.Name()}
	again, err := p.check.signIn(w, r, fresh, a.Tenant.ID, form.Get("password"))
	if err != nil {
		return err
	}
	if again.Problem != "" {
		protocol.Note(r, "sign_in_"+again.Problem)
		return p.show(w, r, a, again, statusOf(again.Problem))
	}
	return redirect(w, http.StatusSeeOther, a.Link("authorize"))
}

// postOwn handles the sign-in form of the server's own pages.
func (p *signInPage) postOwn(w http.ResponseWriter, r *http.Request) error {
	form, err := readForm(r)
	if err != nil {
		return err
	}
	o, err := p.companies.OpenOwn(r)
	if err != nil {
		return err
	}
	base, err := p.companies.SignInBase(r, o.Audience, o.Tenant)
	if err != nil {
		return err
	}
	if base == "" && !p.sessions.HasForm(r) {
		again := page.SignIn{Email: form.Get("email"), Problem: noCookies}
		return p.showOwn(w, r, o, again, http.StatusBadRequest)
	}
	if base != "" || !p.sessions.FormValid(r, signInForm, o.Query.Encode(), form.Get("csrf")) {
		return redirect(w, http.StatusSeeOther, company.AppsLink(r))
	}
	fresh := session.Session{Audience: o.Audience, Email: form.Get("email")}
	again, err := p.check.signIn(w, r, fresh, o.Tenant.ID, form.Get("password"))
	if err != nil {
		return err
	}
	if again.Problem != "" {
		protocol.Note(r, "sign_in_"+again.Problem)
		return p.showOwn(w, r, o, again, statusOf(again.Problem))
	}
	return redirect(w, http.StatusSeeOther, company.AppsLink(r))
}

// showOwn shows the sign-in page of the server's own pages. c has the problem to show, and
// what the person typed before.
func (p *signInPage) showOwn(w http.ResponseWriter, r *http.Request, o company.Own, c page.SignIn, status int) error {
	c.Action, c.CSRF = "signin?"+o.Query.Encode(), p.sessions.FormToken(w, r, signInForm, o.Query.Encode())
	c.Rider, c.Driver = o.Audience == authz.Rider, o.Audience == authz.Driver
	if o.Audience == authz.Dashboard {
		c.Riders, c.Drivers = o.AppsFor(authz.Rider), o.AppsFor(authz.Driver)
	}
	if p.mails {
		query := maps.Clone(o.Query)
		query.Set("audience", string(o.Audience))
		c.Forgot = "forgot?" + query.Encode()
		if maySignUp(o.Audience, o.Tenant) {
			c.SignUp = "signup?" + query.Encode()
		}
	}
	return p.pages.show(w, r, status, page.Frame{Brand: o.Brand}, c)
}
