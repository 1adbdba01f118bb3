package oauth

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/access/throttle"
	"svc/pkg/base/email"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/page"
	"svc/pkg/domain/tenant"
	"svc/pkg/oauth/company"
	"svc/pkg/oauth/session"
)

// signUpForm is the path and the form token's purpose of the sign-up page. As a query
// parameter it marks a link of a sign-up.
const (
	signUpForm  = "signup"
	signUpMails = 1 // mails to one address per hour, at most; each request counts
)

// maySignUp reports whether people of the audience may sign up at the company n by
// themselves. Only riders may.
func maySignUp(audience authz.Audience, n tenant.Tenant) bool {
	return audience == authz.Rider && n.RiderSignUp != "" && !n.Disabled
}

// mailSignUp mails a link to an address that has no account, or whose account has no
// password. The person must prove the address first. Otherwise somebody could choose the
// password of an account for another person's address. A rider who has a password gets a
// mail that says so. With tenant.SignUpInvite, an address that no operator has added gets
// no mail. A new account gets the folded address. Otherwise whoever owns the mailbox of
// another spelling could take the address from its owner.
func (p *linkPage) mailSignUp(ctx context.Context, o company.Own, lang page.Lang, form url.Values) error {
	to := email.Fold(form.Get("email"))
	if !email.Valid(to) {
		return nil
	}
	counters := p.recipient(session.AccountKey(o.Audience, o.Tenant.ID, to), to, signUpMails)
	err := p.throttle.Count(ctx, counters...)
	if _, refused := throttle.Refused(err); refused {
		return nil
	}
	if err != nil {
		return err
	}
	l, err := p.sessions.Login(ctx, o.Audience, o.Tenant.ID, to)
	if err != nil || l.Disabled || l.Actor == "" && o.Tenant.RiderSignUp != tenant.SignUpOpen {
		return err
	}
	if l.Actor != "" {
		if to, err = p.sessions.Mailbox(ctx, o.Audience, o.Tenant.ID, l.Actor); err != nil || to == "" {
			return err
		}
	}
	subject, text, err := p.signUpMail(ctx, o, lang, login.Link{Audience: o.Audience, TenantID: o.Tenant.ID,
		Actor: l.Actor, Email: to, Since: l.Since,
		SignUp: &login.SignUp{Query: o.Query.Encode(), Form: form.Get("csrf")}}, l.Hash != "")
	if err == nil {
		err = p.mail(ctx, to, subject, text)
	}
	if err != nil {
		p.throttle.Forgive(ctx, counters...)
	}
	return err
}

// signUpMail returns the message to somebody who wants an account. known reports that the
// account exists and has a password. The message then has no one-time link.
func (p *linkPage) signUpMail(ctx context.Context, o company.Own, lang page.Lang, n login.Link,
	known bool) (subject, text string, err error) {
	base, company := p.sender(o)
	hints := login.LinkHints(o.Audience, o.Tenant.Slug)
	hints.Set("ui_locales", string(lang))
	if known {
		return page.KnownMail(lang, company, base+"/oauth/apps?"+hints.Encode(), base+"/oauth/forgot?"+hints.Encode())
	}
	hints.Set(signUpForm, "1")
	link, err := p.links.Create(ctx, base, hints, n, p.links.Now().Add(login.LinkLife))
	if err != nil {
		return "", "", err
	}
	return page.SignUpMail(lang, company, link)
}

// termsOf returns what a rider agrees to at the sign-up at a company. It returns nil if the
// company's branding has neither terms nor a privacy policy.
func termsOf(at company.Company) *customer.Agreement {
	if at.Brand.TermsURL == "" && at.Brand.PrivacyURL == "" {
		return nil
	}
	return &customer.Agreement{Version: at.Tenant.TermsVersion, Terms: at.Brand.TermsURL, Privacy: at.Brand.PrivacyURL}
}

// agreeValue returns the value that a form sends to agree to the terms. It is a hash of
// them, so a form that showed other terms sends another value.
func agreeValue(a *customer.Agreement) string {
	if a == nil {
		return ""
	}
	return ids.Hash(strings.Join([]string{a.Version, a.Terms, a.Privacy}, "\n"))
}

// signUpProblem returns what is wrong with a posted sign-up besides the password, as
// a key of page.Password. If nothing is, it returns the rider's record and "". For an
// account that an operator has added, the record has only the agreement.
func (p *passwordPage) signUpProblem(o *openLink, form url.Values) (r customer.Record, problem string) {
	by := audit.By{At: p.links.Now()}
	if r.Agreed = termsOf(o.at); r.Agreed != nil {
		if form.Get("agree") != agreeValue(r.Agreed) {
			return r, "agree"
		}
		r.Agreed.At = timestamp.Format(by.At)
	}
	if o.Actor != "" {
		return r, ""
	}
	r.FirstName, r.LastName, r.Email = form.Get("given"), form.Get("family"), o.Email
	if err := customer.Store.Prepare(&r, by); err != nil {
		return r, "name"
	}
	return r, ""
}

// begun reports whether the sign-up began in the browser of the request. No other browser
// is signed in, because a stranger may have begun the sign-up with another's address. If
// the sign-up began with an authorization request, begun returns that request.
func (p *passwordPage) begun(r *http.Request, n login.Link) (*authorization, bool) {
	if !p.sessions.FormValid(r, signUpForm, n.SignUp.Query, n.SignUp.Form) {
		return nil, false
	}
	if query, err := url.ParseQuery(n.SignUp.Query); err != nil || !query.Has("client_id") {
		return nil, true
	}
	first := r.Clone(r.Context())
	first.URL.RawQuery = n.SignUp.Query
	a, err := p.authorizations.open(first)
	if err != nil { // for example, the client is gone
		p.log.InfoContext(r.Context(), "a sign-up cannot go on with its request", "error", err)
		return nil, false
	}
	return a, true
}

// enter signs the rider in with the browser in which the sign-up began. Then it redirects
// to the authorization request with which the sign-up began, or to the server's own pages.
func (p *passwordPage) enter(w http.ResponseWriter, r *http.Request, o *openLink) error {
	ctx := r.Context()
	l, err := p.sessions.Login(ctx, o.Audience, o.TenantID, o.Email)
	if err != nil {
		return err
	}
	d, err := p.sessions.Device(ctx, r)
	if err != nil {
		return err
	}
	n, next := session.Session{Audience: o.Audience, TenantID: o.TenantID, Email: o.Email, Actor: l.Actor,
		Since: l.Since, AuthTime: p.links.Now()}, "apps?"+o.SignUp.Query
	if o.begun != nil {
		n.Fresh, next = o.begun.Name(), o.begun.Link("authorize")
	}
	if err := p.sessions.Begin(ctx, w, r, n, d); err != nil {
		return err
	}
	return redirect(w, http.StatusSeeOther, next)
}
