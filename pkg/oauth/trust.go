package oauth

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/oauth/clients"
)

// trustKey is the key of a consent that the company gave for its riders, drivers
// and operators.
func trustKey(t table.Tenant, client string) table.Key {
	return t.Key("CONSENT", client, "company", "CONSENT")
}

// The owners of a client that is not a third party's.
const (
	ofCompany  = "company"
	ofPlatform = "platform"
)

// owner sets a.own, a.trusted and a.logo. No agent is anybody's own: it decides by
// itself what it does.
func (d *decisions) owner(ctx context.Context, a *authorization) error {
	a.own, a.trusted, a.logo = "", false, ""
	if a.ActsAs != "" {
		return nil
	}
	var company, platform table.Item
	var reads table.BatchGet
	if t := d.db.Tenant(a.Tenant.ID); a.Tenant.ID != "" {
		reads.Add(t.Handle, trustKey(t, a.client.ID), &company)
	}
	reads.Add(d.clients.Handle(), d.clients.TrustKey(a.client.ID), &platform)
	if err := reads.Do(ctx); err != nil {
		return fmt.Errorf("trust: %w", err)
	}
	byCompany, err := a.covered(company)
	if err != nil {
		return err
	}
	byPlatform, err := a.covered(platform)
	byPlatform = byPlatform || a.client.ID == clients.CommandLine
	a.trusted = byCompany || byPlatform || a.ofPage == consoleName
	switch {
	case byCompany:
		a.own = ofCompany
	case byPlatform || a.ofPage != "":
		a.own = ofPlatform
	}
	return err
}

// covered reports whether the trust, if there is one, covers the client as it is
// now and the request. It sets a.logo if it covers the logo too. Nobody vouches for
// another logo, because anybody may register anybody's.
func (a *authorization) covered(stored table.Item) (bool, error) {
	if !stored.Found() {
		return false, nil
	}
	n, err := table.DecodeDoc[clients.Trust](stored)
	if err != nil || !n.Covers(a.client, a.asked) ||
		a.device == nil && !clients.RedirectAllowed(n.RedirectURIs, a.RedirectURI) {
		return false, err
	}
	if n.LogoURI == a.client.LogoURI {
		a.logo = n.LogoURI
	}
	return true, nil
}

// The only names that the pages show for clients of this service's own pages.
const (
	referenceName = "API reference"
	consoleName   = "Console"
)

// recognizePage sets a.ofPage if only /docs or only /console/ of this service can
// receive the client's codes. Anybody may register such a client. So the pages show
// nothing of what it says about itself. The request's address is compared too,
// because any port of a loopback address is accepted.
func (a *authorization) recognizePage(baseURL string) {
	only := func(at func(uri string) bool) bool {
		elsewhere := func(uri string) bool { return !at(uri) }
		return a.client.Host() == "" && at(a.RedirectURI) && !slices.ContainsFunc(a.client.RedirectURIs, elsewhere)
	}
	switch {
	case only(func(uri string) bool { return uri == baseURL+"/docs" || strings.HasPrefix(uri, baseURL+"/docs/") }):
		a.ofPage = referenceName
	case only(func(uri string) bool { return uri == baseURL+"/console/" }):
		a.ofPage = consoleName
	default:
		return
	}
	a.client.Name, a.client.PolicyURI, a.client.TermsURI = a.ofPage, "", ""
}

// skipsConsent reports whether the trust of company or platform takes the place
// of the person's consent. The person must have seen where they are: on the sign-in
// page of this request, or on a page of an earlier one. For the console it is enough
// that they picked the company on a page of this request. Another program on the device
// may receive the code at any address that is not https, but not at the console's: this
// service itself is there.
func (d *decisions) skipsConsent(a *authorization, consent, actor table.Item) bool {
	return a.trusted && a.device == nil && !a.Asks("consent") && (a.ofPage == consoleName || strings.HasPrefix(a.RedirectURI, "https://")) &&
		(a.session.FreshFor(a.Name(), d.now()) || inForce(consent, actor) ||
			a.ofPage == consoleName && a.session.Picks[a.Name()] != "")
}

// TrustClient makes a client an application of the tenant's company, or ends
// that. People who did not consent before are then asked. Tokens stay valid: DisableClient
// stops a client at once. The error is
// fault.NotFound if the client is unknown, or was not trusted.
func (s *Server) TrustClient(ctx context.Context, t table.Tenant, by audit.By, id string, trusted bool) error {
	return s.setTrust(ctx, t.Handle, trustKey(t, id), id, trusted, func(tx *table.Tx, what string, now any) {
		audit.Append(tx, t, by, what, id, nil, now)
	})
}

// TrustClientEverywhere makes a client an application of the platform itself, for
// every company, or ends that. The caller writes to the audit logs. The errors
// are those of TrustClient.
func (s *Server) TrustClientEverywhere(ctx context.Context, id string, trusted bool) error {
	return s.setTrust(ctx, s.clients.Handle(), s.clients.TrustKey(id), id, trusted, func(*table.Tx, string, any) {})
}

var _ = table.Kind[any]{Type: "trust", Personal: "nothing",
	Once: "a company trusts a client by svc; its own test replaces it"}

// setTrust stores at the key that the client of the id is trusted as it is
// registered now, or deletes that. log adds to the same transaction.
func (s *Server) setTrust(ctx context.Context, h table.Handle, key table.Key, id string, trusted bool,
	log func(tx *table.Tx, what string, now any)) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		was, err := h.Get(ctx, key)
		if err != nil {
			return err
		}
		tx := h.Write()
		if !trusted {
			if !was.Found() {
				return fault.NotFound()
			}
			tx.Delete(key)
			log(tx, "client.distrust", nil)
			return tx.Commit(ctx)
		}
		c, err := s.ShowClient(ctx, id)
		if err != nil {
			return err
		}
		now := clients.Trust{Name: c.Name, RedirectURIs: c.RedirectURIs, Scopes: c.Scopes, LogoURI: c.LogoURI}
		audit.Put(tx, was, table.Item{Key: key, Type: "trust", Version: 1, Doc: now})
		log(tx, "client.trust", now)
		return tx.Commit(ctx)
	})
}

// none permits nothing. A consent with no pairs at all would permit its scopes
// (see agreed).
var none = pairs([]string{authz.API}, []string{"nothing"})
