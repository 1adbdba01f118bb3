package oauth

import (
	"errors"
	"net/http"
	"net/url"
	"unicode/utf8"

	"svc/pkg/access/login"
	"svc/pkg/access/password"
	"svc/pkg/base/email"
	"svc/pkg/domain/page"
	"svc/pkg/oauth/session"
)

const passwordForm = "password"

// passwordPage sets a password by a one-time link.
type passwordPage struct {
	*pages
	links     *links
	companies companies
	mails     bool // the server can mail a new link
}

// get serves GET /oauth/password, the target of a one-time link.
func (p *passwordPage) get(w http.ResponseWriter, r *http.Request) error {
	secret := r.URL.Query().Get("link")
	n, l, at, err := p.open(r, secret)
	if err != nil {
		return err
	}
	base, err := p.companies.passwordBase(r, n.Audience, at.tenant)
	if err != nil {
		return err
	}
	if base != "" {
		return redirect(w, http.StatusFound, base+"/oauth/"+passwordLink(r))
	}
	return p.ask(w, r, secret, n, l, at, "", http.StatusOK)
}

// open returns a usable link, its account and its company. For any other link the
// error is that of gone.
func (p *passwordPage) open(r *http.Request, secret string) (login.Link, login.Login, company, error) {
	n, l, err := p.links.open(r.Context(), secret)
	if err != nil {
		return login.Link{}, login.Login{}, company{}, p.gone(r, err)
	}
	at, err := p.companies.byID(r.Context(), n.TenantID)
	return n, l, at, err
}

// gone adds a way to a new link to errLink, and the look of the company that the
// link's address names. It returns any other error unchanged.
func (p *passwordPage) gone(r *http.Request, err error) error {
	if !errors.Is(err, errLink) {
		return err
	}
	e := *errLink
	e.signIn = inSameLanguage(r, "apps", nil)
	if !r.URL.Query().Has("audience") {
		return &e
	}
	o, err := p.companies.openOwn(r)
	switch err.(type) { //nolint:errorlint // never wrapped
	case nil:
	case *companyError, *pageError:
		return &e
	default:
		return err
	}
	e.brand, e.signIn = o.brand, ownLink(r)
	if p.mails {
		e.again = "forgot?" + o.query.Encode()
	}
	return &e
}

func (p *passwordPage) ask(w http.ResponseWriter, r *http.Request, secret string, n login.Link, l login.Login,
	at company, problem string, status int) error {
	return p.show(w, r, status, page.Frame{Brand: at.brand}, page.Password{Action: passwordLink(r),
		CSRF: p.sessions.FormToken(w, r, passwordForm, secret), Account: n.Email, First: l.Hash == "", Problem: problem,
		Least: password.Shortest})
}

// passwordLink returns the address of the page for the same link.
func passwordLink(r *http.Request) string {
	query := ownQuery(r)
	query.Set("link", r.URL.Query().Get("link"))
	return "password?" + query.Encode()
}

// post serves POST /oauth/password. One transaction uses up the link and sets
// the password. Every session and token of the account ends.
func (p *passwordPage) post(w http.ResponseWriter, r *http.Request) error {
	ctx, secret := r.Context(), r.URL.Query().Get("link")
	form, err := readForm(r)
	if err != nil {
		return err
	}
	n, l, at, err := p.open(r, secret)
	if err != nil {
		return err
	}
	base, err := p.companies.passwordBase(r, n.Audience, at.tenant)
	if err != nil {
		return err
	}
	if base == "" && !p.sessions.HasForm(r) {
		return p.ask(w, r, secret, n, l, at, noCookies, http.StatusBadRequest)
	}
	if base != "" || !p.sessions.FormValid(r, passwordForm, secret, form.Get("csrf")) {
		return redirect(w, http.StatusSeeOther, passwordLink(r))
	}
	if problem := passwordProblem(n, form); problem != "" {
		return p.ask(w, r, secret, n, l, at, problem, http.StatusBadRequest)
	}
	if err := p.links.use(ctx, secret, n, password.Hash(form.Get("password"))); err != nil {
		return p.gone(r, err)
	}
	if err := p.sessions.End(ctx, w, r); err != nil {
		return err
	}
	if err := p.remember(w, r, n); err != nil { // the password is set in any case
		p.log.WarnContext(ctx, "the account does not know the browser that set its password", "error", err)
	}
	return p.show(w, r, http.StatusOK, page.Frame{Brand: at.brand},
		page.Message{Kind: "saved", SignIn: inSameLanguage(r, "apps", login.LinkHints(n.Audience, at.tenant.Slug))})
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
