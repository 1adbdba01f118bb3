package tokens

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/oauth/clients"
	"svc/pkg/oauth/protocol"
)

// refreshGrant is the refresh_token grant (RFC 6749 section 6) with rotation
// (RFC 9700 section 4.14.2).
type refreshGrant struct {
	form   url.Values
	token  string
	at     address // of the family, from the token
	secret string  // the family secret
	formed error   // why the token is malformed, nil if it is not
	tenant table.Tenant
	items  familyItems
}

// newRefreshGrant parses the refresh token of a form.
func newRefreshGrant(form url.Values) *refreshGrant {
	g := &refreshGrant{form: form, token: form.Get("refresh_token")}
	g.at, g.secret, g.formed = parseRefresh(g.token)
	return g
}

// addGets adds the reads of familyItems, unless the token is malformed.
func (g *refreshGrant) addGets(s *Issuer, b *table.BatchGet, clientID string) {
	if g.formed != nil {
		return
	}
	g.tenant = s.db.Tenant(g.at.tenant)
	g.items.addGets(b, g.tenant, g.at, clientID)
}

// familyItems are the items that decide whether a refresh token is valid.
type familyItems struct {
	family table.Item
	standingItems
}

// addGets adds the reads of the items to the batch.
func (f *familyItems) addGets(b *table.BatchGet, t table.Tenant, at address, clientID string) {
	b.Add(t.Handle, authz.FamilyKey(t, at.family), &f.family)
	f.standingItems.addGets(b, t, at.audience, clientID, at.actor, at.family)
}

var errBadRefresh = badGrant("The refresh token is unknown, expired, used or revoked, or it belongs to another client.")

// redeem validates the token against the items and exchanges it for new tokens.
func (g *refreshGrant) redeem(ctx context.Context, s *Issuer, c clients.Client) (tokens, error) {
	if g.token == "" {
		return tokens{}, protocol.Refuse("invalid_request", "refresh_token is missing.")
	}
	if g.formed != nil {
		return tokens{}, errBadRefresh
	}
	now, held := s.now(), &g.items.standingItems
	f, err := familyFrom(g.items.family, now)
	if errors.Is(err, errNoFamily) {
		return tokens{}, errBadRefresh
	}
	if err != nil {
		return tokens{}, err
	}
	// The token has no effect unless it belongs to this family, the family's
	// client presents it, and neither the grant nor the membership has ended.
	hash := ids.Hash(g.token)
	switch {
	case f.Client != c.ID || f.Actor != g.at.actor || f.Audience != g.at.audience ||
		!protocol.Equal(ids.Hash(g.secret), f.SecretHash):
		return tokens{}, errBadRefresh
	case !held.grant.Found() || held.grant.Int("epoch") != f.Epoch:
		return tokens{}, errBadRefresh
	// A new membership, a new password or login.EndTokens has ended the family.
	case held.actor.Found() && held.actor.Text("since") != f.Since:
		return tokens{}, errBadRefresh
	}
	replay := f.Previous != nil && !f.Revoked && protocol.Equal(hash, f.Previous.Hash) && now.Before(f.Previous.Until)
	if !protocol.Equal(hash, f.CurrentHash) && !replay {
		// An earlier token of the family was used again: somebody may have
		// stolen it (RFC 9700 section 4.14.2).
		if err := s.endGrant(ctx, g.tenant, c.ID, f.Actor, f.Epoch); err != nil {
			return tokens{}, err
		}
		return tokens{}, errBadRefresh
	}
	if f.Revoked {
		return tokens{}, errBadRefresh
	}
	stands, err := held.standing()
	if err != nil {
		return tokens{}, err
	}
	if replay {
		return g.repeatTokens(ctx, s, c, f, stands)
	}
	scopes, err := g.scopes(c, f, stands)
	if err != nil {
		return tokens{}, err
	}
	return g.rotate(ctx, s, c, f, stands, scopes)
}

// scopes returns those of the requested scopes that were granted, or all granted
// scopes if the request names none (RFC 6749 section 6). It removes those that the
// client no longer registers, or that the actor may not have now. It ignores
// requested scopes that were not granted, because some libraries repeat their first
// request at each refresh.
func (g *refreshGrant) scopes(c clients.Client, f family, stands standing) ([]string, error) {
	asked := f.Scopes
	if g.form.Has("scope") {
		asked = slices.DeleteFunc(authz.Split(g.form.Get("scope")), func(scope string) bool {
			return !slices.Contains(f.Scopes, scope)
		})
		if len(asked) == 0 {
			return nil, protocol.Refuse("invalid_scope", "None of these scopes was granted. Omit scope to get all that were.")
		}
	}
	return grantable(c, f.Audience, asked, stands.Have)
}

// rotate issues new tokens, and replaces the refresh token. During the grace period, a
// client that lost the response may repeat the request with the old one (repeatTokens).
func (g *refreshGrant) rotate(ctx context.Context, s *Issuer, c clients.Client, f family, stands standing,
	scopes []string) (tokens, error) {
	now, refresh := s.now(), g.at.token(g.secret)
	resource, err := s.narrowed(g.form, f.Resource)
	if err != nil {
		return tokens{}, err
	}
	i := issue{tenant: g.tenant, client: c, family: f, scopes: scopes, resource: resource, id: ids.New(ids.Token, now),
		at: now, shards: stands.writeShards}
	out, err := s.sign(ctx, i, refresh)
	if err != nil {
		return tokens{}, err
	}
	tx := g.tenant.Write()
	endTokens(tx, g.tenant, f.remember(i.id, i.at.Add(AccessLife), now)...)
	f.Previous = nil
	if grace := s.RefreshGrace; grace > 0 {
		next := successor{Refresh: refresh, ID: i.id, IssuedAt: i.at.Unix()}
		if !slices.Equal(scopes, f.Scopes) {
			next.Scopes = scopes
		}
		if resource != f.Resource {
			next.Resource = &resource
		}
		sealed, err := sealTo(g.token, next)
		if err != nil {
			return tokens{}, err
		}
		f.Previous = &previous{Hash: f.CurrentHash, Until: now.Add(grace), Sealed: sealed}
	}
	f.CurrentHash, f.Expires = ids.Hash(refresh), now.Add(RefreshLife)
	tx.Replace(f.item(g.tenant)).Else(table.ErrConflict)
	tx.Create(i.record())
	if err := tx.Commit(ctx); err != nil {
		return tokens{}, fmt.Errorf("rotating a refresh token: %w", err)
	}
	return out, nil
}

// repeatTokens returns the existing successor of the token, for a client that lost its
// response. It never creates a second successor.
func (g *refreshGrant) repeatTokens(ctx context.Context, s *Issuer, c clients.Client, f family, stands standing) (
	tokens, error) {
	next, err := openBy(g.token, f.Previous.Sealed)
	if err != nil {
		return tokens{}, err
	}
	if next.Scopes == nil {
		next.Scopes = f.Scopes
	}
	if next.Resource == nil {
		next.Resource = &f.Resource
	}
	if err := g.repeats(s, next); err != nil {
		return tokens{}, err
	}
	at := time.Unix(next.IssuedAt, 0)
	i := issue{tenant: g.tenant, client: c, family: f, scopes: next.Scopes, id: next.ID, at: at, age: s.now().Sub(at),
		shards: stands.writeShards}
	return s.sign(ctx, i, next.Refresh)
}

// repeats checks a request that is repeated within the grace period. It returns
// an error if the request asks for fewer scopes than the successor has, for
// another resource, or for a resource that was not granted.
func (g *refreshGrant) repeats(s *Issuer, next successor) error {
	switch resource, err := s.narrowed(g.form, *next.Resource); {
	case err != nil:
		return err
	case resource != *next.Resource:
		return protocol.Refuse("invalid_target", "This repeats an earlier request. It must name the same resource.")
	case !g.form.Has("scope"):
		return nil
	}
	asked := authz.Split(g.form.Get("scope"))
	missing := func(scope string) bool { return !slices.Contains(asked, scope) }
	if slices.ContainsFunc(next.Scopes, missing) {
		return protocol.Refuse("invalid_scope", "This repeats an earlier request. It must ask for the same scope.")
	}
	return nil
}
