package tokens

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/oauth/clients"
	"svc/pkg/oauth/protocol"
)

// codeGrant is the authorization_code grant (RFC 6749 section 4.1.3) with PKCE
// (RFC 7636).
type codeGrant struct {
	form url.Values
	item table.Item // the code
}

// addGets adds the read of the code.
func (g *codeGrant) addGets(s *Issuer, b *table.BatchGet, _ string) {
	b.Add(s.p.Handle, s.codeKey(g.form.Get("code")), &g.item)
}

var errBadCode = badGrant("The authorization code is unknown, expired, used or revoked, or it does not match " +
	"the client, the redirect_uri or the code_verifier.")

// redeem validates the code against the items and exchanges it for tokens. A request that
// fails a check leaves the code unused and its tokens valid. The exception is a
// correct request for a code that was redeemed before (RFC 6749 section 4.1.2):
// it revokes the code's tokens.
func (g *codeGrant) redeem(ctx context.Context, s *Issuer, c clients.Client) (tokens, error) {
	if !g.form.Has("code") {
		return tokens{}, protocol.Refuse("invalid_request", "code is missing.")
	}
	now, it := s.now(), g.item
	if !it.Live(now) {
		return tokens{}, errBadCode
	}
	var code AuthorizationCode
	if err := it.Decode(&code); err != nil {
		return tokens{}, err
	}
	if code.ClientID != c.ID || code.RedirectURI != g.form.Get("redirect_uri") {
		return tokens{}, errBadCode
	}
	if code.Challenge != "" && !g.form.Has("code_verifier") {
		return tokens{}, protocol.Refuse("invalid_request", "code_verifier is missing.")
	}
	if !g.proves(c, code) {
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

var _ = table.Kind[any]{Type: "grant", Personal: "nothing", Once: "only its epoch is updated"}

// exchange marks the code as used, creates a family and signs the first tokens.
// It also creates the audit record of the access token, and the grant if there
// is none. All writes are one transaction.
func (g *codeGrant) exchange(ctx context.Context, s *Issuer, c clients.Client, t table.Tenant, at table.Key,
	code AuthorizationCode) (tokens, error) {
	now := s.now()
	var b table.BatchGet
	var held standingItems
	held.addGets(&b, t, code.Audience, c.ID, code.Actor, at.PK)
	if err := b.Do(ctx); err != nil {
		return tokens{}, fmt.Errorf("reading the account for an authorization code: %w", err)
	}
	// In the meantime the person may have ended the access or changed the
	// password, the membership may have ended, or a refresh token may have been
	// reused.
	if !held.current(code.Epoch, code.Since) {
		return tokens{}, errBadCode
	}
	stands, err := held.standing()
	if err != nil {
		return tokens{}, err
	}
	scopes, err := grantable(c, code.Audience, code.Scopes, stands.Have)
	if err != nil {
		return tokens{}, err
	}
	if code.Challenge == "" && !slices.Contains(scopes, "openid") { // without an id_token the client sees no nonce
		return tokens{}, protocol.Refuse("invalid_scope", "The client may not have openid now, and its code has no PKCE.")
	}
	resource, err := s.narrowed(g.form, code.Resource)
	if err != nil {
		return tokens{}, err
	}
	begun, err := s.begin(ctx, t, c, code, issue{scopes: scopes, resource: resource, shards: stands.writeShards})
	if err != nil {
		return tokens{}, err
	}
	tx := t.Write().Covers(s.p.Handle).Covers(s.Clients.Handle())
	tx.Update(at, table.Change{Set: map[string]any{"family": begun.family.ID},
		Expires: now.Add(RefreshLife + retention).Unix()}).
		If("attribute_exists(pk) AND attribute_not_exists('family')").Else(table.ErrConflict)
	s.store(tx, begun)
	if !held.grant.Found() {
		tx.Create(table.Item{Key: authz.GrantKey(t, c.ID, code.Actor), Type: "grant",
			Attrs: map[string]any{"epoch": 0, "client": c.ID, "actor": code.Actor}}).Else(table.ErrConflict)
	}
	if err := tx.Commit(ctx); err != nil {
		return tokens{}, fmt.Errorf("redeeming a code: %w", err)
	}
	return begun.tokens, nil
}

// beginning is a new family and its first access token, which are not stored yet.
type beginning struct {
	issue
	tokens tokens
}

// begin makes the family that the code grants, and signs its first tokens. i has what is to be
// known of the access token.
func (s *Issuer) begin(ctx context.Context, t table.Tenant, c clients.Client, code AuthorizationCode, i issue) (
	beginning, error) {
	now, secret := s.now(), ids.Secret()
	f := family{ID: ids.New(ids.Family, now), Client: c.ID, Actor: code.Actor, Audience: code.Audience, Scopes: i.scopes,
		Resource: code.Resource, AuthTime: code.AuthTime, Session: code.Session, CreatedAt: now, Since: code.Since,
		Agents: code.Agents, Epoch: code.Epoch, Device: code.Device, Expires: now.Add(RefreshLife)}
	refresh := address{t.ID(), code.Audience, code.Actor, f.ID}.token(secret)
	f.SecretHash, f.CurrentHash = ids.Hash(secret), ids.Hash(refresh)
	i.tenant, i.client, i.family, i.id, i.at, i.nonce = t, c, f, ids.New(ids.Token, now), now, code.Nonce
	out, err := s.sign(ctx, i, refresh)
	i.family.remember(i.id, now.Add(AccessLife), now)
	return beginning{i, out}, err
}

// store adds the family, its access token and the use of its client to the transaction that
// redeems the grant.
func (s *Issuer) store(tx *table.Tx, b beginning) {
	tx.Create(b.family.item(b.tenant))
	tx.Create(b.record())
	s.Clients.MarkUsed(tx, b.client)
}

// proves reports whether the request comes from the client that asked for the code, by
// PKCE. For a code without a challenge, the request must have no verifier. Otherwise an
// attacker could remove the challenge from the authorization request (RFC 9700 section
// 4.8.2). The client of such a code must still be confidential: it may have changed its
// registration since.
func (g *codeGrant) proves(c clients.Client, code AuthorizationCode) bool {
	if code.Challenge != "" {
		return verifies(g.form.Get("code_verifier"), code.Challenge)
	}
	return !g.form.Has("code_verifier") && c.AlwaysConfidential() && code.Nonce != "" && !authz.NamesAgents(code.Resource)
}

// verifies reports whether the verifier matches the challenge by PKCE's S256
// (RFC 7636 section 4.6). A verifier has 43 to 128 unreserved characters.
func verifies(verifier, challenge string) bool {
	if len(verifier) < 43 || len(verifier) > 128 || strings.ContainsFunc(verifier, reserved) {
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	return protocol.Equal(base64.RawURLEncoding.EncodeToString(sum[:]), challenge)
}

// reserved reports whether a verifier must not contain the character.
func reserved(r rune) bool {
	letter := (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9')
	return !letter && !strings.ContainsRune("-._~", r)
}
