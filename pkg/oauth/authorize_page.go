package oauth

import (
	"net/http"
	"net/url"

	"svc/pkg/base/ids"
	"svc/pkg/domain/page"
	"svc/pkg/oauth/company"
	"svc/pkg/oauth/protocol"
	"svc/pkg/oauth/request"
)

// step is what an authorization needs next.
type step int

const (
	stepSignIn step = iota
	stepPick
	stepConsent
	stepIssue
)

// promptless are the errors that prompt=none returns instead of a page (OpenID
// Connect Core section 3.1.2.6).
var promptless = map[step]*protocol.Error{
	stepSignIn: protocol.Refuse("login_required", "The person must sign in first, which needs a page."),
	stepPick: protocol.Refuse("account_selection_required",
		"The person has several memberships, or none. Name the tenant by tenant_hint."),
	stepConsent: protocol.Refuse("consent_required", "The person must consent first, which needs a page."),
}

// Further errors of prompt=none.
var (
	errWhichAudience = protocol.Refuse("account_selection_required", "The scopes select none of the client's audiences. "+
		"Add a scope of one, or name it by audience, or send id_token_hint.")
	errWhichCompany = protocol.Refuse("account_selection_required",
		"The company is not known. Name it by tenant_hint, or send id_token_hint.")
)

// withoutPage returns the error that the client of a silent request gets in place of the
// page that err would cause. A page remains only if the client has gone in the meantime.
func (p *pages) withoutPage(w http.ResponseWriter, r *http.Request, a *authorization, err error) error {
	switch e := err.(type) { //nolint:errorlint // never wrapped
	case *redirectError:
		return e
	case *audienceError:
		return &redirectError{a, errWhichAudience}
	case *company.UnknownError:
		return &redirectError{a, errWhichCompany}
	case *protocol.PageError:
		if e.Kind == "client" {
			return e
		}
		return &redirectError{a, protocol.Refuse("invalid_request", "%s.", e.Detail)}
	}
	e := protocol.AsError(err)
	switch status := p.logged(w, r, e, err); {
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		return &redirectError{a, protocol.Refuse("temporarily_unavailable", "%s", e.Description)}
	case status >= http.StatusInternalServerError:
		return &redirectError{a, protocol.Refuse("server_error", "%s", e.Description)}
	}
	return &redirectError{a, e}
}

// authorizePage takes an authorization request to its next step.
type authorizePage struct {
	*authorizations
	*decisions
	signIn  *signInPage
	picker  *pickerPage
	consent *consentPage
	terms   *termsPage
}

// serve serves GET and POST /oauth/authorize.
func (p *authorizePage) serve(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodPost { // OpenID Connect Core section 3.1.2.1; a POST from another site sends no cookie
		return authorizeByGet(w, r)
	}
	a, err := p.open(r)
	if err == nil {
		err = p.advance(w, r, a)
	}
	if err != nil && a != nil && a.Silent {
		return p.withoutPage(w, r, a, err)
	}
	return err
}

// advance takes a request without a fault to its next step.
func (p *authorizePage) advance(w http.ResponseWriter, r *http.Request, a *authorization) error {
	if a.Query.Has(request.CompanyTyped) && a.Tenant.ID != "" {
		p.sessions.RememberCompany(w, a.Tenant.Slug)
	}
	if a.Query.Get(request.AudienceChosen) == string(a.audience) {
		p.sessions.RememberAudience(w, r, a.client.ID, a.audience)
	}
	base, err := p.authorizations.companies.SignInBase(r, a.audience, a.Tenant)
	if err != nil {
		return err
	}
	switch to := base + "/oauth/authorize?" + r.URL.RawQuery; {
	case base != "" && a.Silent:
		return redirect(w, http.StatusFound, to)
	case base != "":
		return p.lead(w, r, a.frame(), to)
	}
	next, err := p.proceed(r, a)
	if err != nil {
		return err
	}
	switch {
	case next >= stepConsent && a.terms != nil && !a.Asks("none"):
		return p.terms.show(w, r, a, "", http.StatusOK)
	case next == stepIssue && a.silently:
		return p.issue(w, r, a, ids.Secret(), p.consent.consents.add)
	case next == stepIssue:
		return p.issue(w, r, a, ids.Secret(), p.mustStand)
	}
	if a.Asks("none") {
		return &redirectError{a, promptless[next]}
	}
	switch next {
	case stepSignIn:
		if a.Asks("create") && p.signIn.mails && maySignUp(a.audience, a.Tenant) {
			return redirect(w, http.StatusFound, a.Link("signup"))
		}
		return p.signIn.show(w, r, a, page.SignIn{Email: a.LoginHint}, http.StatusOK)
	case stepPick:
		return p.picker.show(w, r, a)
	default:
		return p.consent.show(w, r, a)
	}
}

// authorizeByGet redirects a POST request to the same request by GET.
func authorizeByGet(w http.ResponseWriter, r *http.Request) error {
	posted, err := readForm(r)
	if err != nil {
		return err
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return protocol.RefuseOnPage("request", "the query is malformed")
	}
	for name, values := range posted {
		query[name] = append(query[name], values...)
	}
	return redirect(w, http.StatusSeeOther, "authorize?"+query.Encode())
}
