package oauth

import (
	"context"
	"net/http"

	"svc/pkg/access/authz"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/page"
	"svc/pkg/oauth/protocol"
	"svc/pkg/oauth/session"
)

// termsForm is the purpose of the page's form token (Session.FormToken).
const termsForm = "terms"

// newerTerms returns what a rider who signed up must agree to again, because the
// company's terms have another version than those of the sign-up. It returns nil for
// everybody else.
func newerTerms(a *authorization, actor table.Item) (*customer.Agreement, error) {
	if a.audience != authz.Rider || a.Tenant.TermsVersion == "" {
		return nil, nil
	}
	r, err := customer.FromItem(actor)
	if err != nil || r.Agreed == nil || r.Agreed.Version == a.Tenant.TermsVersion {
		return nil, err
	}
	return termsOf(a.Company), nil
}

// termsPage asks a rider to agree to newer terms before an authorization goes on.
// Tokens that the rider's applications already have stay valid. A request with
// prompt=none needs no agreement.
type termsPage struct {
	*authorizations
	*decisions
}

// show shows the terms. problem is a key of page.Terms, or "".
func (p *termsPage) show(w http.ResponseWriter, r *http.Request, a *authorization, problem string, status int) error {
	return p.pages.show(w, r, status, a.frame(), page.Terms{Action: a.Link("terms"),
		CSRF: a.session.FormToken(termsForm, a.Name()), Account: a.session.Email, Agree: agreeValue(a.terms),
		Problem: problem, Switch: a.SwitchAccount()})
}

// post serves POST /oauth/terms. It stores the agreement, and redirects to the
// authorization request.
func (p *termsPage) post(w http.ResponseWriter, r *http.Request) error {
	a, form, next, err := p.answered(p.authorizations, r)
	if err != nil {
		return err
	}
	if next < stepConsent || a.terms == nil || !a.session.FormValid(termsForm, a.Name(), form.Get("csrf")) {
		return redirect(w, http.StatusSeeOther, a.Link("authorize"))
	}
	if form.Get("agree") != agreeValue(a.terms) {
		protocol.Note(r, "terms_not_agreed")
		return p.show(w, r, a, "agree", http.StatusBadRequest)
	}
	if err := p.agree(r.Context(), a); err != nil {
		return err
	}
	// The pick marks the request as one to which a form of the server led; see cameByForm.
	err = p.sessions.Change(r.Context(), a.session, func(n *session.Session) { n.Pick(a.Name(), a.Tenant.ID) })
	if err != nil {
		return err
	}
	return redirect(w, http.StatusSeeOther, a.Link("authorize"))
}

// agree stores in the rider's record that the rider agrees to a.terms.
func (p *termsPage) agree(ctx context.Context, a *authorization) error {
	by := audit.By{Who: a.session.Actor, At: p.now(), Client: a.client.ID}
	a.terms.At = timestamp.Format(by.At)
	_, err := customer.Store.Change(ctx, p.db.Tenant(a.Tenant.ID), by, a.session.Actor, func(r *customer.Record) error {
		r.Agreed = a.terms
		return nil
	})
	return err
}
