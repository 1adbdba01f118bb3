package oauth

import (
	"net/http"
	"slices"
	"strings"

	"svc/pkg/domain/page"
	"svc/pkg/oauth/clients"
	"svc/pkg/oauth/company"
	"svc/pkg/oauth/protocol"
	"svc/pkg/oauth/request"
	"svc/pkg/oauth/session"
)

// appsForm is the purpose of the page's form token (Session.FormToken).
const appsForm = "apps"

// appsPage shows a person's connected applications.
type appsPage struct {
	*pages
	companies company.Companies
	consents  consentStore
	signIn    *signInPage
}

// get serves GET /oauth/apps: the clients that the signed-in person consented
// to. If audience or tenant_hint names another account than that of the
// session, the person must sign in to that account.
func (p *appsPage) get(w http.ResponseWriter, r *http.Request) error {
	n, err := p.sessions.Find(r.Context(), r)
	if err != nil {
		return err
	}
	if asked := r.URL.Query().Has("audience") || r.URL.Query().Has("tenant_hint"); n == nil || asked {
		o, err := p.companies.OpenOwn(r)
		if err != nil {
			return err
		}
		if n == nil || n.Audience != o.Audience || n.TenantID != session.TenantOf(o.Audience, o.Tenant.ID) {
			return p.askToSignIn(w, r, o)
		}
	}
	apps, err := p.consents.list(r.Context(), n)
	if err != nil {
		return err
	}
	frame, err := p.companies.Frame(r.Context(), n.TenantID)
	if err != nil {
		return err
	}
	return p.show(w, r, http.StatusOK, frame, page.Apps{Action: company.AppsLink(r), CSRF: n.FormToken(appsForm, ""),
		Account: n.Email, Ended: r.URL.Query().Has("ended"), Apps: apps, Logout: inSameLanguage(r, "logout", nil)})
}

// askToSignIn shows the sign-in page, or redirects to the host that has it.
func (p *appsPage) askToSignIn(w http.ResponseWriter, r *http.Request, o company.Own) error {
	if r.URL.Query().Has(request.CompanyTyped) && o.Tenant.ID != "" {
		p.sessions.RememberCompany(w, o.Tenant.Slug)
	}
	base, err := p.companies.SignInBase(r, o.Audience, o.Tenant)
	if err != nil {
		return err
	}
	if base != "" {
		return p.lead(w, r, page.Frame{Brand: o.Brand}, base+"/oauth/"+strings.TrimSuffix(company.AppsLink(r), "?"))
	}
	return p.signIn.showOwn(w, r, o, page.SignIn{}, http.StatusOK)
}

// post serves POST /oauth/apps. It deletes the person's consent to the client
// in the tenant that the form names. This revokes every token of the client and
// the person in that tenant, on all devices.
func (p *appsPage) post(w http.ResponseWriter, r *http.Request) error {
	form, err := readForm(r)
	if err != nil {
		return err
	}
	n, err := p.sessions.Find(r.Context(), r)
	if err != nil {
		return err
	}
	if !n.FormValid(appsForm, "", form.Get("csrf")) {
		return redirect(w, http.StatusSeeOther, company.AppsLink(r))
	}
	tenants, err := p.consents.tenants(r.Context(), n)
	if err != nil {
		return err
	}
	if !slices.Contains(tenants, form.Get("of")) || !clients.ValidID(form.Get("client")) {
		return protocol.RefuseOnPage("request", "there is no such connected application")
	}
	if err := p.consents.end(r.Context(), form.Get("of"), form.Get("client"), n.Actor); err != nil {
		return err
	}
	query := company.OwnQuery(r)
	query.Set("ended", "1")
	return redirect(w, http.StatusSeeOther, "apps?"+query.Encode())
}
