package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"svc/pkg/authz"
	"svc/pkg/ids"
	"svc/pkg/table"
)

// refreshGrant is RFC 6749 section 6 with rotation (RFC 9700 section 4.14.2).
type refreshGrant struct {
	form   url.Values
	token  string
	at     address
	secret string // the family secret
	formed error
	tenant table.Tenant
}

func newRefreshGrant(form url.Values) *refreshGrant {
	g := &refreshGrant{form: form, token: form.Get("refresh_token")}
	g.at, g.secret, g.formed = parseRefresh(g.token)
	return g
}

func (g *refreshGrant) reads(s *Server, clientID string) (table.Handle, []table.Key) {
	if g.formed != nil {
		return table.Handle{}, nil
	}
	g.tenant = s.db.Tenant(g.at.tenant)
	return g.tenant.Handle, []table.Key{
		familyKey(g.tenant, g.at.family), authz.GrantKey(g.tenant, clientID, g.at.actor),
		authz.ActorKey(g.tenant, g.at.audience, g.at.actor), authz.FlagsKey(g.tenant, ids.Pick(g.at.family, authz.Copies)),
	}
}

var errBadRefresh = badGrant("The refresh token is not good.")

func (g *refreshGrant) redeem(ctx context.Context, s *Server, c Client, items []table.Item) (tokens, error) {
	if g.token == "" {
		return tokens{}, refuse("invalid_request", "refresh_token is missing.")
	}
	if g.formed != nil {
		return tokens{}, errBadRefresh
	}
	var out tokens
	first := true
	err := table.Retry(ctx, func(ctx context.Context) (err error) {
		if !first { // another rotation won: what was read is old
			_, keys := g.reads(s, c.ID)
			if items, err = g.tenant.Batch(ctx, keys...); err != nil {
				return fmt.Errorf("reading a token request: %w", err)
			}
		}
		first = false
		out, err = g.attempt(ctx, s, c, items)
		return err
	})
	return out, err
}

// attempt judges the token by what was read and rotates it.
func (g *refreshGrant) attempt(ctx context.Context, s *Server, c Client, items []table.Item) (tokens, error) {
	now, grant := s.now(), items[1]
	f, err := familyFrom(items[0], now)
	if errors.Is(err, errNoFamily) {
		return tokens{}, errBadRefresh
	}
	if err != nil {
		return tokens{}, err
	}
	// These must hold before the token can have any effect: it is of this family,
	// it is presented by the family's client, and neither grant nor membership
	// has ended since.
	hash := ids.Hash(g.token)
	switch {
	case f.Client != c.ID || f.Actor != g.at.actor || f.Audience != g.at.audience || !same(ids.Hash(g.secret), f.SecretHash):
		return tokens{}, errBadRefresh
	case !grant.Found() || grant.Int("epoch") != f.Epoch:
		return tokens{}, errBadRefresh
	case items[2].Found() && items[2].Text("since") != f.Since: // of a membership that ended, or of an earlier password
		return tokens{}, errBadRefresh
	}
	replay := f.Previous != nil && !f.Revoked && same(hash, f.Previous.Hash) && now.Before(f.Previous.Until)
	if !same(hash, f.CurrentHash) && !replay {
		// An old generation again: somebody holds a copy (RFC 9700 section 4.14.2).
		if err := s.endGrant(ctx, g.tenant, c.ID, f.Actor, f.Epoch); err != nil {
			return tokens{}, err
		}
		return tokens{}, errBadRefresh
	}
	if f.Revoked {
		return tokens{}, errBadRefresh
	}
	stands, err := standingOf(items[2], items[3])
	if err != nil {
		return tokens{}, err
	}
	if replay {
		return g.again(ctx, s, c, f, stands)
	}
	scopes, err := g.scopes(c, f, stands)
	if err != nil {
		return tokens{}, err
	}
	return g.rotate(ctx, s, c, f, stands, scopes)
}

// scopes are those asked for, by default all that were granted (RFC 6749
// section 6), as far as they may be had now.
func (g *refreshGrant) scopes(c Client, f family, stands standing) ([]string, error) {
	asked := f.Scopes
	if g.form.Has("scope") {
		asked = authz.Split(g.form.Get("scope"))
		for _, scope := range asked {
			if !slices.Contains(f.Scopes, scope) {
				return nil, refuse("invalid_scope", "The scope is wider than what was granted.")
			}
		}
	}
	return grantable(c, f.Audience, asked, stands.Have)
}

func (g *refreshGrant) rotate(ctx context.Context, s *Server, c Client, f family, stands standing, scopes []string) (tokens, error) {
	now, refresh := s.now(), g.at.token(g.secret)
	i := issue{tenant: g.tenant, client: c, family: f, scopes: scopes, id: ids.New(ids.Token, now), at: now, shards: stands.writeShards}
	out, err := s.sign(ctx, i, refresh)
	if err != nil {
		return tokens{}, err
	}
	tx := g.tenant.Write()
	endTokens(tx, g.tenant, f.remember(i.id, i.at.Add(AccessLife), now)...)
	f.Previous = nil
	if grace := s.config.RefreshGrace; grace > 0 {
		next := successor{Refresh: refresh, ID: i.id, IssuedAt: i.at.Unix()}
		if !slices.Equal(scopes, f.Scopes) {
			next.Scopes = scopes
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

// again gives the successor that the token was rotated into, to a client that
// lost the answer: never a fork.
func (g *refreshGrant) again(ctx context.Context, s *Server, c Client, f family, stands standing) (tokens, error) {
	next, err := openBy(g.token, f.Previous.Sealed)
	if err != nil {
		return tokens{}, err
	}
	if next.Scopes == nil {
		next.Scopes = f.Scopes
	}
	at := time.Unix(next.IssuedAt, 0)
	i := issue{tenant: g.tenant, client: c, family: f, scopes: next.Scopes, id: next.ID, at: at, age: s.now().Sub(at), shards: stands.writeShards}
	return s.sign(ctx, i, next.Refresh)
}
