package oauth

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/access/throttle"
	"svc/pkg/base/email"
	"svc/pkg/domain/page"
	"svc/pkg/oauth/company"
	"svc/pkg/oauth/link"
	"svc/pkg/oauth/protocol"
	"svc/pkg/oauth/session"
)

// Mailer sends a message, plain text, to one address.
type Mailer func(ctx context.Context, to, subject, text string) error

const (
	// MailedLinkLife is how long a link that a person requested is valid.
	MailedLinkLife = time.Hour
	forgotForm     = "forgot"        // path and form token's purpose of the page for a forgotten password
	linksAnAccount = 3               // links mailed to one account per hour, at most; each request counts
	linksAMailbox  = 6               // requests of one form per hour that name one address, at all companies together
	mailTime       = 3 * time.Second // default of Config.MailTime, the time of the response to a valid POST
)

// linkPage mails one-time links to set a password. It serves two paths: one for
// people who forgot theirs, and one for riders who want an account.
type linkPage struct {
	name string // forgotForm or signUpForm: the end of the path, and the name of the form
	*pages
	*authorizations
	links    *link.Store
	throttle *throttle.Throttle
	limit    int                                  // requests per network address and hour
	mail     Mailer                               // nil if the server cannot mail
	wait     time.Duration                        // how long the response to a valid POST takes; negative for no wait
	after    func(time.Duration) <-chan time.Time // time.After, or a test's clock
}

// open determines whose account a request for a link is about. If the person comes from
// the sign-in page of an authorization, the result has the authorization's query, with
// which the person returns to it. The error is a *protocol.PageError if the server cannot
// mail, or if nobody of this audience and company may sign up. A sign-up without an
// audience is a rider's.
func (p *linkPage) open(r *http.Request) (company.Own, error) {
	if p.mail == nil {
		return company.Own{}, &protocol.PageError{Status: http.StatusNotFound, Kind: "request",
			Detail: "no mailer is configured", SignIn: company.AppsLink(r)}
	}
	if p.signsUp() && company.IsOwn(r) && !r.URL.Query().Has("audience") {
		query := r.URL.Query()
		query.Set("audience", string(authz.Rider))
		r = r.Clone(r.Context())
		r.URL.RawQuery = query.Encode()
	}
	o, err := p.openAny(r)
	if err == nil && p.signsUp() && !maySignUp(o.Audience, o.Tenant) {
		return company.Own{}, &protocol.PageError{Status: http.StatusNotFound, Kind: "missing",
			Detail: "only riders can sign up (audience=rider), and only where the company allows it (svc tenant set SLUG " +
				"--rider-sign-up open)"}
	}
	return o, err
}

// openAny does what open does, but makes none of its checks and sets no default audience.
func (p *linkPage) openAny(r *http.Request) (company.Own, error) {
	if company.IsOwn(r) {
		return p.companies.OpenOwn(r)
	}
	a, err := p.authorizations.open(r)
	if err != nil {
		return company.Own{}, err
	}
	return company.Own{Audience: a.audience, Company: a.Company, Query: a.Query}, nil
}

// located does what open does. It also returns the address of the host at which the account
// signs in, "" if that is the host of this request.
func (p *linkPage) located(r *http.Request) (o company.Own, base string, err error) {
	if o, err = p.open(r); err == nil {
		base, err = p.companies.SignInBase(r, o.Audience, o.Tenant)
	}
	return o, base, err
}

// signsUp reports whether p is the page for riders who want an account.
func (p *linkPage) signsUp() bool { return p.name == signUpForm }

// get serves GET /oauth/forgot and GET /oauth/signup, at the address where the
// account signs in.
func (p *linkPage) get(w http.ResponseWriter, r *http.Request) error {
	o, base, err := p.located(r)
	if err != nil {
		return err
	}
	if base != "" {
		return p.lead(w, r, page.Frame{Brand: o.Brand}, base+"/oauth/"+p.name+"?"+o.Query.Encode())
	}
	var c page.Forgot
	if p.signsUp() {
		c.Email = o.Query.Get("login_hint")
	}
	return p.showForm(w, r, o, c, http.StatusOK)
}

// showForm shows the form. c has the problem to show, and what the person typed before.
func (p *linkPage) showForm(w http.ResponseWriter, r *http.Request, o company.Own, c page.Forgot, status int) error {
	c.Action, c.CSRF = p.name+"?"+o.Query.Encode(), p.sessions.FormToken(w, r, p.name, o.Query.Encode())
	c.Rider, c.Driver = o.Audience == authz.Rider, o.Audience == authz.Driver
	if c.SignUp = p.signsUp(); c.SignUp {
		c.SignIn = signInLink(r, o.Query)
	}
	return p.show(w, r, status, page.Frame{Brand: o.Brand}, c)
}

// post serves POST /oauth/forgot and POST /oauth/signup: it mails a one-time link to
// the account's address. Neither the response nor its time reveals whether the account
// exists.
func (p *linkPage) post(w http.ResponseWriter, r *http.Request) error {
	form, err := readForm(r)
	if err != nil {
		return err
	}
	o, base, err := p.located(r)
	if err != nil {
		return err
	}
	if base == "" && !p.sessions.HasForm(r) {
		return p.showForm(w, r, o, page.Forgot{Email: form.Get("email"), Problem: noCookies}, http.StatusBadRequest)
	}
	if base != "" || !p.sessions.FormValid(r, p.name, o.Query.Encode(), form.Get("csrf")) {
		return redirect(w, http.StatusSeeOther, p.name+"?"+o.Query.Encode())
	}
	err = p.throttle.Count(r.Context(), throttle.Counter{Kind: p.name + "-address", Key: p.throttle.Address(r.Context()),
		Limit: p.limit, Window: time.Hour, Sliding: true})
	if e, refused := throttle.Refused(err); refused {
		protocol.Note(r, e.Code())
		w.Header().Set("Retry-After", protocol.Seconds(e.RetryAfter))
		return p.showForm(w, r, o, page.Forgot{Email: form.Get("email"), Problem: throttled}, http.StatusTooManyRequests)
	}
	if err != nil {
		return err
	}
	enough := p.after(p.wait)
	ctx := r.Context()
	if p.wait > 0 {
		limited, cancel := context.WithTimeout(ctx, p.wait)
		defer cancel()
		ctx = limited
	}
	if err := p.send(ctx, o, langOf(r), form); err != nil {
		p.log.ErrorContext(ctx, "a link was not mailed", named(ctx, w), "error", err)
	}
	select {
	case <-enough:
	case <-r.Context().Done():
	}
	return p.show(w, r, http.StatusOK, page.Frame{Brand: o.Brand}, page.Mailed{Action: p.name + "?" + o.Query.Encode(),
		CSRF: form.Get("csrf"), Email: form.Get("email"), SignIn: signInLink(r, o.Query), SignUp: p.signsUp()})
}

// send mails the link that the posted form asks for.
func (p *linkPage) send(ctx context.Context, o company.Own, lang page.Lang, form url.Values) error {
	if p.signsUp() {
		return p.mailSignUp(ctx, o, lang, form)
	}
	return p.mailLink(ctx, o, lang, form.Get("email"))
}

// signInLink returns the address of the sign-in page that a page about an account
// leads back to. A request for a new account becomes one for a sign-in.
func signInLink(r *http.Request, query url.Values) string {
	if company.IsOwn(r) {
		return "apps?" + query.Encode()
	}
	query = maps.Clone(query)
	if prompt := query.Get("prompt"); prompt != "" {
		query.Set("prompt", strings.ReplaceAll(prompt, "create", "login"))
	}
	return "authorize?" + query.Encode()
}

// mailLink mails a one-time link to the account's stored address, not to the
// typed one. A different spelling that folds to the same address may be
// somebody else's mailbox. mailLink does nothing if the account does not exist,
// is disabled, or has no stored address, or if the hourly limit of requests for this
// account or address is reached.
func (p *linkPage) mailLink(ctx context.Context, o company.Own, lang page.Lang, address string) error {
	account := session.AccountKey(o.Audience, o.Tenant.ID, address)
	err := p.throttle.Count(ctx, p.recipient(account, address, linksAnAccount)...)
	if _, refused := throttle.Refused(err); refused {
		return nil
	}
	if err != nil {
		return err
	}
	l, err := p.sessions.Login(ctx, o.Audience, o.Tenant.ID, address)
	if err != nil || l.Actor == "" || l.Disabled {
		return err
	}
	to, err := p.sessions.Mailbox(ctx, o.Audience, o.Tenant.ID, l.Actor)
	if err != nil || to == "" {
		return err
	}
	base, company := p.sender(o)
	hints := login.LinkHints(o.Audience, o.Tenant.Slug)
	hints.Set("ui_locales", string(lang))
	link, err := p.links.Create(ctx, base, hints, login.Link{Audience: o.Audience,
		TenantID: session.TenantOf(o.Audience, o.Tenant.ID), Actor: l.Actor, Email: to, Since: l.Since},
		p.links.Now().Add(MailedLinkLife))
	if err != nil {
		return err
	}
	subject, text, err := page.LinkMail(lang, company, link)
	if err != nil {
		return err
	}
	return p.mail(ctx, to, subject, text)
}

// recipient returns the throttle's counters of a request for a mail: one by the account,
// and one by the address at all companies, so that nobody fills a stranger's mailbox.
// limit is the number of requests per hour for the account.
func (p *linkPage) recipient(account, address string, limit int) []throttle.Counter {
	return []throttle.Counter{
		{Kind: p.name, Key: account, Limit: limit, Window: time.Hour, Sliding: true},
		{Kind: p.name + "-mailbox", Key: email.Fold(address), Limit: linksAMailbox, Window: time.Hour, Sliding: true},
	}
}

// sender returns the address at which a mailed link begins, and the company's name.
// An operator's account belongs to no tenant, so the mail must not use a tenant's
// name, and the link must not use its domain.
func (p *linkPage) sender(o company.Own) (base, company string) {
	switch {
	case o.Audience == authz.Dashboard:
		return p.baseURL, ""
	case o.Tenant.CustomDomain != "":
		return "https://" + o.Tenant.CustomDomain, o.Brand.Name
	}
	return p.baseURL, o.Brand.Name
}
