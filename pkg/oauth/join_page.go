package oauth

import (
	"errors"
	"net/http"
	"net/url"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/access/password"
	"svc/pkg/base/fault"
	"svc/pkg/domain/page"
	"svc/pkg/domain/person"
	"svc/pkg/oauth/company"
	"svc/pkg/oauth/link"
	"svc/pkg/oauth/protocol"
	"svc/pkg/oauth/session"
)

// joinForm is the path and the form token's purpose of the page.
const joinForm = "join"

// joinPage makes an invited operator a member of the company. Only the account of the
// invited address can accept: with its password or, if it has none, by setting one. The
// posted form is the acceptance, because mail scanners open every link.
type joinPage struct {
	*pages
	password *passwordPage
	check    *signInCheck
	people   person.Store
}

// openInvitation is a usable invitation with its company and the account of its address.
type openInvitation struct {
	person.Opened
	link    string
	at      company.Company
	account login.Login // zero if the address has no account
	sets    bool        // the person sets a first password
}

// open returns the invitation of the request's link, and the address at which it must be
// opened, or "" for this one.
func (p *joinPage) open(r *http.Request) (o openInvitation, base string, err error) {
	o.link = r.URL.Query().Get("link")
	if o.Opened, err = p.people.Open(r.Context(), o.link, p.check.now()); err == nil {
		o.at, err = p.password.authorizations.companies.Enabled(r.Context(), o.TenantID)
	}
	if err == nil {
		o.account, err = p.sessions.Login(r.Context(), authz.Dashboard, "", o.Email)
	}
	if errors.Is(err, fault.NotFound()) || err == nil && o.account.Disabled {
		err = goneInvitation(r)
	}
	if o.sets = o.account.Hash == ""; err == nil && o.sets && o.account.Actor != "" {
		// Another spelling of the address may be somebody else's mailbox. Whoever reads that one
		// must not set the password of the account.
		var mailbox string
		mailbox, err = p.sessions.Mailbox(r.Context(), authz.Dashboard, "", o.account.Actor)
		o.sets = mailbox == o.Email
	}
	if err == nil {
		base, err = p.password.authorizations.companies.SignInBase(r, authz.Dashboard, o.at.Tenant)
	}
	return o, base, err
}

// goneInvitation is the error of a link that is not usable.
func goneInvitation(r *http.Request) error {
	e := *link.ErrGone
	e.SignIn = inSameLanguage(r, "apps", nil)
	return &e
}

func (o openInvitation) address() string {
	return joinForm + "?" + url.Values{"link": {o.link}}.Encode()
}

// get serves GET /oauth/join, the target of the link.
func (p *joinPage) get(w http.ResponseWriter, r *http.Request) error {
	o, base, err := p.open(r)
	if err != nil {
		return err
	}
	if base != "" {
		return redirect(w, http.StatusFound, base+"/oauth/"+o.address())
	}
	return p.showForm(w, r, o, page.SignIn{}, page.Password{}, http.StatusOK)
}

// showForm shows the form for a first password, or the sign-in.
func (p *joinPage) showForm(w http.ResponseWriter, r *http.Request, o openInvitation, s page.SignIn, n page.Password,
	status int) error {
	csrf, frame := p.sessions.FormToken(w, r, joinForm, o.link), page.Frame{Brand: o.at.Brand}
	if !o.sets {
		s.Action, s.CSRF, s.Email, s.Invites = o.address(), csrf, o.Email, o.at.Tenant.Name
		if p.password.mails {
			s.Forgot = inSameLanguage(r, forgotForm, login.LinkHints(authz.Dashboard, ""))
		}
		return p.show(w, r, status, frame, s)
	}
	n.Action, n.CSRF, n.Account, n.Invites = o.address(), csrf, o.Email, o.at.Tenant.Name
	n.First, n.Least, n.Named = true, password.Shortest, o.account.Actor == ""
	return p.show(w, r, status, frame, n)
}

// post serves POST /oauth/join.
func (p *joinPage) post(w http.ResponseWriter, r *http.Request) error {
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
		return p.showForm(w, r, o, page.SignIn{Problem: noCookies}, again, http.StatusBadRequest)
	}
	if base != "" || !p.sessions.FormValid(r, joinForm, o.link, form.Get("csrf")) {
		return redirect(w, http.StatusSeeOther, o.address())
	}
	hash := ""
	if o.sets {
		if again.Problem = passwordProblem(login.Link{Email: o.Email}, form); again.Problem == "" {
			hash = password.Hash(form.Get("password"))
		}
	} else {
		refused, account, err := p.verify(w, r, o, form.Get("password"))
		if err != nil {
			return err
		}
		if refused.Problem != "" {
			protocol.Note(r, "sign_in_"+refused.Problem)
			return p.showForm(w, r, o, refused, again, statusOf(refused.Problem))
		}
		o.account = account
	}
	if again.Problem != "" {
		return p.showForm(w, r, o, page.SignIn{}, again, http.StatusBadRequest)
	}
	return p.accept(w, r, o, form, hash, again)
}

// verify checks the password of the invited account, which may have no membership yet.
func (p *joinPage) verify(w http.ResponseWriter, r *http.Request, o openInvitation, secret string) (page.SignIn,
	login.Login, error) {
	again, l, _, err := p.check.verify(w, r, session.Session{Audience: authz.Dashboard, Email: o.Email}, "", secret,
		func(login.Login) (bool, error) { return true, nil })
	return again, l, err
}

// accept makes the membership, and shows what comes next.
func (p *joinPage) accept(w http.ResponseWriter, r *http.Request, o openInvitation, form url.Values, hash string,
	again page.Password) error {
	_, err := p.people.Accept(r.Context(), o.Opened, o.account, form.Get("given"), form.Get("family"), hash, p.check.now())
	kind, signIn := "joined", inSameLanguage(r, "apps", login.LinkHints(authz.Dashboard, ""))
	switch e := fault.Of(err); {
	case errors.Is(err, fault.NotFound()):
		return goneInvitation(r)
	case e == person.ErrMember:
		kind = "member"
	case errors.Is(err, fault.Invalid()):
		again.Problem = "name"
		return p.showForm(w, r, o, page.SignIn{}, again, http.StatusBadRequest)
	case errors.Is(err, person.ErrMember): // too many memberships
		return protocol.RefuseOnPage("request", e.Message)
	case err != nil:
		return err
	case hash != "":
		return p.password.saved(w, r, &openLink{Link: login.Link{Audience: authz.Dashboard, Email: o.Email}, at: o.at})
	}
	return p.show(w, r, http.StatusOK, page.Frame{Brand: o.at.Brand}, page.Message{Kind: kind, SignIn: signIn})
}
