package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/page"
	"svc/pkg/domain/person"
	"svc/pkg/oauth/protocol"
	"svc/pkg/oauth/session"
	"svc/pkg/oauth/tokens"
)

// mostApps is the maximum number of consents listed per tenant. Together with the tenant's
// flags and the actor, they are one batch get of 100 items.
const mostApps = 98

// consentStore stores what people consented to.
type consentStore struct {
	db  *table.DB
	now func() time.Time
}

// consentDoc is the JSON document of a stored consent. What the consent permits
// is in attributes of the item (see add).
type consentDoc struct {
	Client  string `json:"client"`
	Name    string `json:"name"`  // the client's own name at that time
	Allowed string `json:"since"` // when the person last agreed on the consent page
}

// consentKey returns the key of the actor's consent to the client in the tenant.
func consentKey(t table.Tenant, client, actor string) table.Key {
	return t.Key("CONSENT", client, actor, "CONSENT")
}

// consentsOf returns the partition of the index by-g1 with an actor's consents, sorted by
// client.
func consentsOf(t table.Tenant, actor string) string { return authz.ConsentsOf(t, actor) }

// agreed returns what a consent permits: pairs of a protected resource and a
// scope, as "/mcp tenant.trips:read". An old consent that names no resource
// permits the API only.
func agreed(consent table.Item) []string {
	if !consent.Has("allowed") {
		return pairs([]string{authz.API}, consent.Strings("scopes"))
	}
	return consent.Strings("allowed")
}

// pairs returns each resource with each scope, as "/mcp tenant.trips:read".
func pairs(resources, scopes []string) []string {
	out := make([]string, 0, len(resources)*len(scopes))
	for _, resource := range resources {
		for _, scope := range scopes {
			out = append(out, resource+" "+scope)
		}
	}
	return out
}

// wanted returns what a consent to the request must permit: the granted scopes
// at each requested resource.
func (a *authorization) wanted() []string {
	return pairs(strings.Fields(cmp.Or(a.Resource, authz.API)), a.granted)
}

// agrees reports whether a consent permits the granted scopes at every resource
// that the request asks for. A consent permits nothing to an agent if the tenant now
// lets agents do more than it did at the time of the consent.
func (a *authorization) agrees(consent, actor table.Item) bool {
	had := agreed(consent)
	return inForce(consent, actor) && authz.Stricter(a.agents, a.agentsThen) == a.agents &&
		!slices.ContainsFunc(a.wanted(), func(pair string) bool { return !slices.Contains(had, pair) })
}

// inForce reports whether the consent and the actor exist, and the actor's attribute
// since is the same as when the consent was stored. A new membership, a new password, or
// the end of all tokens of the actor (login.EndTokens) changes the attribute and so voids
// the consent.
func inForce(consent, actor table.Item) bool {
	return consent.Found() && actor.Found() && consent.Text("since") == actor.Text("since")
}

// add returns a function that adds the person's consent to the granted scopes to a
// transaction, in which the code is stored too. What an earlier consent permits
// stays permitted, if that consent is still in force.
//
// If the page named the client as the company's or the platform's own, the stored
// consent permits nothing. The client may change its own registration later, and
// must then not profit from a consent that it got with this name.
func (c consentStore) add(ctx context.Context, a *authorization) (func(*table.Tx), error) {
	if a.own != "" {
		return c.put(ctx, a, none)
	}
	return c.put(ctx, a, a.wanted())
}

// Declares the personal data in the items of type consent.
var _ = table.Kind[any]{Type: "consent", Personal: "e-mail address, applications, sign-ups not finished",
	Erasure: "deletes"}

// put returns a function that adds to a transaction a consent that permits given, which are
// pairs of a resource and a scope.
func (c consentStore) put(ctx context.Context, a *authorization, given []string) (func(*table.Tx), error) {
	t := c.db.Tenant(a.Tenant.ID)
	key := consentKey(t, a.client.ID, a.session.Actor)
	was, err := t.Get(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("consent: %w", err)
	}
	a.agentsThen = a.agents // the consent page showed what the tenant lets agents do
	doc, scopes := consentDoc{a.client.ID, a.client.Name, timestamp.Format(c.now())}, slices.Clone(a.granted)
	given, agents := slices.Clone(given), a.agents
	if was.Found() && was.Text("since") == a.since {
		scopes = append(scopes, was.Strings("scopes")...)
		given = append(given, agreed(was)...)
		agents = cmp.Or(agents, was.Text(authz.AgentActions))
	}
	slices.Sort(scopes)
	slices.Sort(given)
	now := table.Item{Key: key, Type: "consent", Version: 1,
		G: [4]string{consentsOf(t, a.session.Actor)}, R: a.client.ID,
		Attrs: map[string]any{"scopes": slices.Compact(scopes), "since": a.since,
			"allowed": slices.Compact(given), authz.AgentActions: agents}, Doc: doc}
	return func(tx *table.Tx) { audit.Put(tx.Covers(t.Handle), was, now) }, nil
}

// tenants returns the tenants in which the session's person may have
// consents.
func (c consentStore) tenants(ctx context.Context, n *session.Session) ([]string, error) {
	if n.Audience != authz.Dashboard {
		return []string{n.TenantID}, nil
	}
	p, err := person.Store{DB: c.db}.ByID(ctx, n.Actor)
	if errors.Is(err, fault.NotFound()) {
		return nil, nil
	}
	return p.Tenants, err
}

// list returns the clients that the session's person consented to, the most
// recently allowed first. It omits consents that are no longer in force. A
// client is one entry with the consents of all tenants. Entries are joined by
// the client's id only, because anybody may choose the name of another client.
func (c consentStore) list(ctx context.Context, n *session.Session) ([]page.App, error) {
	tenants, err := c.tenants(ctx, n)
	if err != nil {
		return nil, err
	}
	var all []consent
	for _, id := range tenants {
		found, err := c.in(ctx, n, id)
		if err != nil {
			return nil, fmt.Errorf("connected applications: %w", err)
		}
		all = append(all, found...)
	}
	slices.SortStableFunc(all, func(a, b consent) int { return strings.Compare(b.Allowed, a.Allowed) })
	var out []page.App
	entries := map[string]int{} // index in out, by client
	for _, found := range all {
		i, listed := entries[found.Client]
		if !listed {
			i, entries[found.Client] = len(out), len(out)
			out = append(out, page.App{ClientID: found.Client, Name: found.Name})
		}
		out[i].Grants = append(out[i].Grants, found.grant)
	}
	return out, nil
}

// consent is a stored consent, and what the page of connected applications shows of it.
type consent struct {
	consentDoc
	grant page.Grant
}

// in returns the consents of the session's person in one tenant that are in
// force. It reads at most mostApps consents. The index lags, so in reads each
// consent again from the table.
//
// Access pattern: by-g1 T#t#CONSENTS#actor, then a batch get.
func (c consentStore) in(ctx context.Context, n *session.Session, tenantID string) ([]consent, error) {
	t := c.db.Tenant(tenantID)
	listed, err := t.Query(ctx, consentsOf(t, n.Actor), table.Query{Index: 1, Limit: mostApps})
	if err != nil {
		return nil, err
	}
	var flags, actor table.Item
	var reads table.BatchGet
	reads.Add(t.Handle, authz.FlagsKey(t, 0), &flags)
	reads.Add(t.Handle, authz.ActorKey(t, n.Audience, n.Actor), &actor)
	for i, it := range listed.Items {
		reads.Add(t.Handle, it.Key, &listed.Items[i])
	}
	if err := reads.Do(ctx); err != nil {
		return nil, err
	}
	var out []consent
	for _, it := range listed.Items {
		if !inForce(it, actor) {
			continue
		}
		var doc consentDoc
		if err := it.Decode(&doc); err != nil {
			return nil, err
		}
		scopes := it.Strings("scopes")
		slices.Sort(scopes)
		day, _, _ := strings.Cut(doc.Allowed, "T")
		grant := page.Grant{Tenant: tenantID, Company: flags.Text("name"), Allowed: day}
		grant.Scopes, grant.Later = protocol.SplitOffered(scopes)
		out = append(out, consent{doc, grant})
	}
	return out, nil
}

// end deletes the actor's consent to the client and ends the grant in
// one transaction. So a consent is listed as long as tokens of its grant are
// valid.
func (c consentStore) end(ctx context.Context, tenantID, client, actor string) error {
	t := c.db.Tenant(tenantID)
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		tx.Delete(consentKey(t, client, actor))
		tokens.EndGrant(tx, t, client, actor)
		return tx.Commit(ctx)
	})
	if err != nil {
		return fmt.Errorf("ending a consent: %w", err)
	}
	return nil
}
