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

// trust is what a company trusts: a client as it was registered then. A client
// may change its own registration, and a change must not extend the trust.
type trust struct {
	Name         string   `json:"name"`
	RedirectURIs []string `json:"redirectUris"`
	Scopes       []string `json:"scopes"`
}

// trustKey is the key of a consent that the company gave for its riders, drivers
// and operators.
func trustKey(t table.Tenant, client string) table.Key {
	return t.Key("CONSENT", "CONSENT", client, "company")
}

// trusted reports whether the request's company trusts the client as it is now.
// No trust covers an agent: it decides by itself what it does.
func (d *decisions) trusted(ctx context.Context, a *authorization) (bool, error) {
	if a.tenant.ID == "" || a.actsAs != "" {
		return false, nil
	}
	t := d.db.Tenant(a.tenant.ID)
	stored, err := t.Get(ctx, trustKey(t, a.client.ID))
	if err != nil {
		return false, fmt.Errorf("trust: %w", err)
	}
	if !stored.Found() {
		return false, nil
	}
	n, err := table.DecodeDoc[trust](stored)
	foreign := func(scope string) bool { return !slices.Contains(n.Scopes, scope) }
	return n.Name == a.client.Name && clients.RedirectAllowed(n.RedirectURIs, a.redirectURI) &&
		!slices.ContainsFunc(a.asked, foreign), err
}

// skipsConsent reports whether the company's trust takes the place of the
// person's consent. The person must have seen where they are: on the sign-in
// page of this request, or on a page of an earlier one. Another program on the
// device may receive the code at any address that is not https.
func (d *decisions) skipsConsent(a *authorization, consent, actor table.Item) bool {
	return a.trusted && !a.asks("consent") && strings.HasPrefix(a.redirectURI, "https://") &&
		(a.session.FreshFor(a.name(), d.now()) || inForce(consent, actor))
}

// TrustClient makes a client an application of the tenant's company, or ends
// that. People who did not consent themselves are then asked. The error is
// fault.NotFound if the client is unknown, or was not trusted.
func (s *Server) TrustClient(ctx context.Context, t table.Tenant, by audit.By, id string, trusted bool) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		was, err := t.Get(ctx, trustKey(t, id))
		if err != nil {
			return err
		}
		tx := t.Write()
		if !trusted {
			if !was.Found() {
				return fault.NotFound()
			}
			tx.Delete(was.Key)
			audit.Append(tx, t, by, "client.distrust", id, nil, nil)
			return tx.Commit(ctx)
		}
		c, err := s.ShowClient(ctx, id)
		if err != nil {
			return err
		}
		now := trust{c.Name, c.RedirectURIs, c.Scopes}
		audit.Put(tx, was, table.Item{Key: trustKey(t, id), Type: "trust", Version: 1, Doc: now})
		audit.Append(tx, t, by, "client.trust", id, nil, now)
		return tx.Commit(ctx)
	})
}

// addTrusted is add for a client that the company trusts. The person did not
// consent, so the consent permits nothing by itself: it only lists the client
// among the connected applications.
func (c consents) addTrusted(ctx context.Context, a *authorization) (func(*table.Tx), error) {
	return c.put(ctx, a, none)
}

// none permits nothing. A consent with no pairs at all would permit its scopes
// (see agreed).
var none = pairs([]string{authz.API}, []string{"nothing"})
