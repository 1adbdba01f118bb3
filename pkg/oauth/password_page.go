package oauth

import (
	"errors"
	"net/http"
	"net/url"
	"unicode/utf8"

	"svc/pkg/access/login"
	"svc/pkg/access/password"
	"svc/pkg/base/email"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/page"
	"svc/pkg/domain/tenant"
	"svc/pkg/oauth/company"
	"svc/pkg/oauth/link"
	"svc/pkg/oauth/protocol"
	"svc/pkg/oauth/session"
)

// passwordForm is the purpose of the page's form token (Cookies.FormToken).
const passwordForm = "password"

// passwordPage sets a password by a one-time link.
type passwordPage struct {
	*pages
	authorizations *authorizations
	links          *link.Store
	mails          bool // the server can mail a new link
}

// openLink is a usable link with its account and company.
type openLink struct {
	login.Link
	secret  string
	account login.Login
	at      company.Company
	here    bool           // a sign-up began in this browser
	begun   *authorization // the request with which it began, or nil
}

// get serves GET /oauth/password, the target of a one-time link. Only the posted form uses
// the link up, because mail scanners open every link.
func (p *passwordPage) get(w http.ResponseWriter, r *http.Request) error {
	o, base, err := p.open(r)
	if err != nil {
		return err
	}
	if base != "" {
		return redirect(w, http.StatusFound, base+"/oauth/"+passwordLink(r))
	}
	return p.showForm(w, r, o, page.Password{}, http.StatusOK)
}

// open returns a usable link, and the address at which it must be opened, or "" for
// this one. If the link is not usable, open returns the error of gone.
func (p *passwordPage) open(r *http.Request) (*openLink, string, error) {
	var err error
	o := &openLink{secret: r.URL.Query().Get("link")}
	if o.Link, o.account, err = p.links.Open(r.Context(), o.secret); err != nil {
		return nil, "", p.gone(r, err)
	}
	if o.at, err = p.authorizations.companies.ByID(r.Context(), o.TenantID); err != nil {
		return nil, "", err
	}
	if o.SignUp == nil {
		base, err := p.authorizations.companies.PasswordBase(r, o.Audience, o.at.Tenant)
		return o, base, err
	}
	if !maySignUp(o.Audience, o.at.Tenant) || o.Actor == "" && o.at.Tenant.RiderSignUp != tenant.SignUpOpen {
		return nil, "", p.gone(r, link.ErrGone)
	}
	base, err := p.authorizations.companies.SignInBase(r, o.Audience, o.at.Tenant)
	o.begun, o.here = p.begun(r, o.Link)
	return o, base, err
}

// gone adds to link.ErrGone an address at which the person gets a new link, and the
// branding of the company that the link's address names. It returns any other error
// unchanged.
func (p *passwordPage) gone(r *http.Request, err error) error {
	if !errors.Is(err, link.ErrGone) {
		return err
	}
	e := *link.ErrGone
	e.SignIn = inSameLanguage(r, "apps", nil)
	if !r.URL.Query().Has("audience") {
		return &e
	}
	o, err := p.authorizations.companies.OpenOwn(r)
	switch err.(type) { //nolint:errorlint // never wrapped
	case nil:
	case *company.UnknownError, *protocol.PageError:
		return &e
	default:
		return err
	}
	e.Brand, e.SignIn = o.Brand, company.AppsLink(r)
	switch {
	case p.mails && r.URL.Query().Has(signUpForm) && maySignUp(o.Audience, o.Tenant):
		e.Again = "signup?" + o.Query.Encode()
	case p.mails:
		e.Again = "forgot?" + o.Query.Encode()
	}
	return &e
}

// frame returns the frame of the page. If the form leads back to a client, the page's
// content security policy allows that.
func (o *openLink) frame() page.Frame {
	if o.begun != nil {
		return o.begun.frame()
	}
	return page.Frame{Brand: o.at.Brand}
}

// showForm shows the form. c has the problem to show, and what the person typed before.
func (p *passwordPage) showForm(w http.ResponseWriter, r *http.Request, o *openLink, c page.Password,
	status int) error {
	c.Action, c.CSRF = passwordLink(r), p.sessions.FormToken(w, r, passwordForm, o.secret)
	c.Account, c.First, c.Least = o.Email, o.account.Hash == "", password.Shortest
	if o.SignUp != nil {
		c.Named, c.Agree = o.Actor == "", agreeValue(termsOf(o.at))
	}
	return p.show(w, r, status, o.frame(), c)
}

// passwordLink returns the address of the page for the same link.
func passwordLink(r *http.Request) string {
	query := company.OwnQuery(r)
	for _, name := range []string{"link", signUpForm} {
		if value := r.URL.Query().Get(name); value != "" {
			query.Set(name, value)
		}
	}
	return "password?" + query.Encode()
}

// post serves POST /oauth/password. One transaction uses up the link and sets
// the password. Every session and token of the account ends. At a sign-up, the
// transaction also makes the account.
func (p *passwordPage) post(w http.ResponseWriter, r *http.Request) error {
	form, err := readForm(r)
	if err != nil {
		return err
	}
	o, base, err := p.open(r)
	if err != nil {
		return err
	}
	again := page.Password{Given: form.Get("given"), Family: form.Get("family")}
	if base == "" && !p.sessions.HasForm(r) {
		again.Problem = noCookies
		return p.showForm(w, r, o, again, http.StatusBadRequest)
	}
	if base != "" || !p.sessions.FormValid(r, passwordForm, o.secret, form.Get("csrf")) {
		return redirect(w, http.StatusSeeOther, passwordLink(r))
	}
	var rider customer.Record
	if again.Problem = passwordProblem(o.Link, form); again.Problem == "" && o.SignUp != nil {
		rider, again.Problem = p.signUpProblem(o, form)
	}
	if again.Problem != "" {
		return p.showForm(w, r, o, again, http.StatusBadRequest)
	}
	hash := password.Hash(form.Get("password"))
	if o.SignUp != nil {
		err = p.links.SignUp(r.Context(), o.secret, o.Link, rider, hash)
	} else {
		err = p.links.Use(r.Context(), o.secret, o.Link, hash)
	}
	if err != nil {
		return p.gone(r, err)
	}
	return p.saved(w, r, o)
}

// saved ends the browser's session. If a sign-up began in this browser, it signs the rider
// in and returns to what the rider was doing. Otherwise its page leads to the sign-in and
// not to the application, because the mail may be opened in a browser that does not have
// the application's PKCE verifier.
func (p *passwordPage) saved(w http.ResponseWriter, r *http.Request, o *openLink) error {
	ctx, kind := r.Context(), "saved"
	if err := p.sessions.End(ctx, w, r); err != nil {
		return err
	}
	if o.SignUp != nil {
		kind = "created"
	}
	var err error
	if o.here {
		if err = p.enter(w, r, o); err == nil {
			return nil
		}
	} else {
		err = p.remember(w, r, o.Link)
	}
	if err != nil { // the password is set in any case
		p.log.WarnContext(ctx, "the account does not know the browser that set its password", "error", err)
	}
	return p.show(w, r, http.StatusOK, page.Frame{Brand: o.at.Brand},
		page.Message{Kind: kind, SignIn: inSameLanguage(r, "apps", login.LinkHints(o.Audience, o.at.Tenant.Slug))})
}

// remember makes the account know the browser that set the password. From then
// on, failed guesses by others cannot stop the person from signing in with this
// browser.
func (p *passwordPage) remember(w http.ResponseWriter, r *http.Request, n login.Link) error {
	l, err := p.sessions.Login(r.Context(), n.Audience, n.TenantID, n.Email)
	if err != nil {
		return err
	}
	return p.sessions.Remember(r.Context(), w, r, session.AccountKey(n.Audience, n.TenantID, n.Email), l.Since)
}

// passwordProblem returns what is wrong with a new password, as a key of
// page.Password, or "" if it is valid.
func passwordProblem(n login.Link, form url.Values) string {
	chosen := form.Get("password")
	switch {
	case utf8.RuneCountInString(chosen) < password.Shortest:
		return "short"
	case password.Check(chosen) != nil:
		return "long"
	case email.Fold(chosen) == email.Fold(n.Email):
		return "email"
	case chosen != form.Get("again"):
		return "differ"
	}
	return ""
}
