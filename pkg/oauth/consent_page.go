package oauth

import (
	_ "embed" // for the list of scopes
	"net/http"
	"strings"

	"svc/pkg/base/ids"
	"svc/pkg/domain/page"
	"svc/pkg/oauth/clients"
	"svc/pkg/oauth/protocol"
)

const consentForm = "consent"

// consentPage asks whether a client may act for the person.
type consentPage struct {
	*authorizations
	*decisions
	consents consentStore
}

// consentedTo identifies what a consent page showed. Its form consents to exactly
// that.
func (a *authorization) consentedTo() string {
	parts := []string{a.Name(), a.Tenant.ID, a.own, strings.Join(a.granted, " "), a.Resource, a.agents}
	if a.device != nil { // another device may get the same code later
		parts = append(parts, a.device.CodeHash)
	}
	return strings.Join(parts, "\n")
}

func (p *consentPage) show(w http.ResponseWriter, r *http.Request, a *authorization) error {
	host, local := clients.RedirectTarget(a.RedirectURI)
	scopes, later := protocol.SplitOffered(a.granted)
	return p.pages.show(w, r, http.StatusOK, a.frame(), page.Consent{
		Action: a.Link("consent"), CSRF: a.consentToken(ids.Secret()), Client: a.client.Name, Own: a.own, Logo: a.logo,
		Host: host, Local: local, Site: a.client.Host(),
		Account: a.session.Email, Tenant: a.Tenant.Name, Scopes: scopes, Later: later, Agents: a.agents,
		Policy: a.client.PolicyURI, Terms: a.client.TermsURI, Switch: a.SwitchAccount(), Company: a.otherCompany(),
		Apps: inSameLanguage(r, "apps", nil), Code: a.userCode(),
	})
}

// consentToken returns the token of one showing of the consent page: once, which
// is a secret, and what binds it to the session and to what the page showed.
func (a *authorization) consentToken(once string) string {
	return once + a.session.FormToken(consentForm, a.consentedTo()+"\n"+once)
}

// agreedOnce reports whether consentToken returned the token for this session,
// and for what the page would show now.
func (a *authorization) agreedOnce(token string) bool {
	once := token[:len(token)/2]
	return a.session != nil && protocol.Equal(token, a.consentToken(once))
}

// post serves POST /oauth/consent. If the form no longer matches what a consent
// page would show now (another session, other scopes), the server starts the
// request again.
func (p *consentPage) post(w http.ResponseWriter, r *http.Request) error {
	a, form, next, err := p.answered(p.authorizations, r)
	if err != nil {
		return err
	}
	if next < stepConsent || a.terms != nil || !a.agreedOnce(form.Get("csrf")) {
		return redirect(w, http.StatusSeeOther, a.Link("authorize"))
	}
	if form.Get("decision") != "allow" && a.device != nil {
		return p.answerDevice(w, r, a, nil)
	}
	if form.Get("decision") != "allow" {
		if err := p.forget(r.Context(), a); err != nil {
			return err
		}
		return &redirectError{a, protocol.Refuse("access_denied", "The person did not allow access.")}
	}
	// The same form gives the same code, if the person presses the button twice.
	return p.issue(w, r, a, a.session.FormToken("code", form.Get("csrf")), p.consents.add)
}
