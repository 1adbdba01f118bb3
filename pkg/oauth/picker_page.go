package oauth

import (
	"net/http"
	"net/url"

	"svc/pkg/domain/page"
	"svc/pkg/oauth/request"
	"svc/pkg/oauth/session"
)

// pickForm is the purpose of the page's form token (Session.FormToken).
const pickForm = "tenant"

// pickerPage asks an operator of several tenants to choose one for an authorization.
type pickerPage struct {
	*authorizations
	*decisions
}

// show shows the tenants to choose from.
func (p *pickerPage) show(w http.ResponseWriter, r *http.Request, a *authorization) error {
	return p.pages.show(w, r, http.StatusOK, a.frame(), page.Picker{Action: a.Link("tenant"),
		CSRF:    a.session.FormToken(pickForm, a.Name()),
		Account: a.session.Email, Choices: a.choices, Switch: a.SwitchAccount()})
}

// get serves GET /oauth/tenant, the target of the consent page's link for
// choosing another company. It drops the earlier choice and redirects to the
// authorization request. If the request is faulty, GET /oauth/authorize shows
// the error.
func (p *pickerPage) get(w http.ResponseWriter, r *http.Request) error {
	a, err := request.Parse(r.URL.RawQuery)
	if err != nil {
		return reload(w, r)
	}
	n, err := p.sessions.Find(r.Context(), r)
	if err != nil {
		return err
	}
	if n != nil && n.Picks[a.Name()] != "" {
		drop := func(n *session.Session) { delete(n.Picks, a.Name()) }
		if err := p.sessions.Change(r.Context(), n, drop); err != nil {
			return err
		}
	}
	return reload(w, r)
}

// post serves POST /oauth/tenant. It stores the choice in the session and
// redirects to the authorization request.
func (p *pickerPage) post(w http.ResponseWriter, r *http.Request) error {
	a, form, err := p.posted(r)
	if err != nil {
		return err
	}
	if a.Tenant.ID == "" {
		if err := p.store(r, a, form); err != nil {
			return err
		}
	}
	return redirect(w, http.StatusSeeOther, a.Link("authorize"))
}

// store writes the tenant that the person chose in the form into the session. It does
// nothing if the form is not valid or the person is no member of the tenant.
func (p *pickerPage) store(r *http.Request, a *authorization, form url.Values) error {
	ctx := r.Context()
	n, err := p.sessions.Find(ctx, r)
	if err != nil || n == nil || !p.suits(a, n) || !n.FormValid(pickForm, a.Name(), form.Get("csrf")) {
		return err
	}
	all, err := p.sessions.Memberships(ctx, n.Actor)
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.Slug == form.Get("tenant") {
			return p.sessions.Change(ctx, n, func(n *session.Session) { n.Pick(a.Name(), m.TenantID) })
		}
	}
	return nil
}
