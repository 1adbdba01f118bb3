package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"svc/pkg/authz"
	"svc/pkg/ids"
	"svc/pkg/table"
)

// codeGrant is RFC 6749 section 4.1.3 with PKCE (RFC 7636).
type codeGrant struct{ form url.Values }

func (g *codeGrant) reads(s *Server, _ string) (table.Handle, []table.Key) {
	return s.p.Handle, []table.Key{s.codeKey(g.form.Get("code"))}
}

var errBadCode = badGrant("The authorization code is not good.")

func (g *codeGrant) redeem(ctx context.Context, s *Server, c Client, items []table.Item) (tokens, error) {
	for _, name := range []string{"code", "code_verifier"} {
		if !g.form.Has(name) {
			return tokens{}, refuse("invalid_request", "%s is missing.", name)
		}
	}
	var out tokens
	first := true
	err := table.Retry(ctx, func(ctx context.Context) (err error) {
		if !first {
			_, keys := g.reads(s, c.ID)
			if items, err = s.p.Batch(ctx, append(keys, s.clientKey(c.ID))...); err != nil {
				return fmt.Errorf("reading a code: %w", err)
			}
			if c, err = clientOf(items[1], s.now()); err != nil {
				return errBadCode // deleted meanwhile
			}
		}
		first = false
		out, err = g.attempt(ctx, s, c, items[0])
		return err
	})
	return out, err
}

// attempt judges the code by what was read and redeems it. Whatever is wrong,
// the code is neither used up nor its tokens touched, unless all is right and
// it was redeemed before (RFC 6749 section 4.1.2).
func (g *codeGrant) attempt(ctx context.Context, s *Server, c Client, it table.Item) (tokens, error) {
	now := s.now()
	if !it.Live(now) {
		return tokens{}, errBadCode
	}
	var code AuthorizationCode
	if err := it.Decode(&code); err != nil {
		return tokens{}, err
	}
	if code.ClientID != c.ID || code.RedirectURI != g.form.Get("redirect_uri") || !verifies(g.form.Get("code_verifier"), code.Challenge) {
		return tokens{}, errBadCode
	}
	t := s.db.Tenant(code.TenantID)
	if id := it.Text("family"); id != "" {
		if err := s.endFamily(ctx, t, id, nil); err != nil && !errors.Is(err, errNoFamily) {
			return tokens{}, err
		}
		return tokens{}, errBadCode
	}
	if !now.Before(code.Expires) {
		return tokens{}, errBadCode
	}
	return g.exchange(ctx, s, c, t, it.Key, code)
}

// exchange marks the code used, begins a family, and makes the first access
// token, its audit record and, where the actor never granted this client
// anything, the grant, all in one transaction.
func (g *codeGrant) exchange(ctx context.Context, s *Server, c Client, t table.Tenant, at table.Key, code AuthorizationCode) (tokens, error) {
	now := s.now()
	grantKey := authz.GrantKey(t, c.ID, code.Actor)
	items, err := t.Batch(ctx, grantKey, authz.ActorKey(t, code.Audience, code.Actor), authz.FlagsKey(t, ids.Pick(at.PK, authz.Copies)))
	if err != nil {
		return tokens{}, fmt.Errorf("reading what a code is for: %w", err)
	}
	granted := items[0]
	// The person ended the access, a refresh token was reused, the membership
	// ended, or the password is another, meanwhile.
	if granted.Int("epoch") != code.Epoch || items[1].Text("since") != code.Since {
		return tokens{}, errBadCode
	}
	stands, err := standingOf(items[1], items[2])
	if err != nil {
		return tokens{}, err
	}
	scopes, err := grantable(c, code.Audience, code.Scopes, stands.Have)
	if err != nil {
		return tokens{}, err
	}
	f := family{ID: ids.New(ids.Family, now), Client: c.ID, Actor: code.Actor, Audience: code.Audience, Scopes: scopes,
		AuthTime: code.AuthTime, Session: code.Session, CreatedAt: now, Since: items[1].Text("since"),
		Epoch: granted.Int("epoch"), Expires: now.Add(RefreshLife)}
	secret := ids.Secret()
	refresh := address{t.ID(), code.Audience, code.Actor, f.ID}.token(secret)
	f.SecretHash, f.CurrentHash = ids.Hash(secret), ids.Hash(refresh)
	i := issue{tenant: t, client: c, family: f, scopes: scopes, id: ids.New(ids.Token, now), at: now, nonce: code.Nonce, shards: stands.writeShards}
	out, err := s.sign(ctx, i, refresh)
	if err != nil {
		return tokens{}, err
	}
	f.remember(i.id, now.Add(AccessLife), now)
	tx := t.Write().Covers(s.p.Handle)
	tx.Update(at, table.Change{Set: map[string]any{"family": f.ID}, Expires: now.Add(RefreshLife + afterlife).Unix()}).
		If("attribute_exists(pk) AND attribute_not_exists('family')").Else(table.ErrConflict)
	tx.Create(f.item(t))
	tx.Create(i.record())
	if !granted.Found() {
		tx.Create(table.Item{Key: grantKey, Type: "grant", Attrs: map[string]any{"epoch": 0, "client": c.ID, "actor": code.Actor}}).Else(table.ErrConflict)
	}
	s.used(tx, c)
	if err := tx.Commit(ctx); err != nil {
		return tokens{}, fmt.Errorf("redeeming a code: %w", err)
	}
	return out, nil
}

// verifies is PKCE's S256 (RFC 7636 section 4.6). A verifier has 43 to 128
// unreserved characters.
func verifies(verifier, challenge string) bool {
	if len(verifier) < 43 || len(verifier) > 128 || strings.ContainsFunc(verifier, reserved) {
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	return challenge != "" && same(base64.RawURLEncoding.EncodeToString(sum[:]), challenge)
}

func reserved(r rune) bool {
	letter := (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9')
	return !letter && !strings.ContainsRune("-._~", r)
}
