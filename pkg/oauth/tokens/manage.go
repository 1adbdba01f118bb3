package tokens

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// Token is an access token as an operator of the platform sees it.
type Token struct {
	ID       string   `json:"id"` // jti
	Client   string   `json:"client"`
	Actor    string   `json:"actor"`
	Audience string   `json:"audience"`
	Scopes   []string `json:"scopes"`
	IssuedAt string   `json:"issuedAt"`
	Expires  string   `json:"expires"`
	Family   string   `json:"family"`
}

// List returns the tenant's live access tokens, newest first, at most limit
// (1…100). after is the position at which the previous page ended, or "" for
// the first page. next is "" on the last page. A page may be short, because
// List omits tokens that are no longer valid, such as those of an earlier
// membership or password. List includes the tokens of a disabled actor, because
// they become valid again when the actor is enabled. It does not read the
// clients, so it also includes the tokens of a disabled or deleted client.
//
// Access pattern: by-g1, T#t#TOKENS#shard backward from now to AccessLife ago,
// shards merged; then one batch for the tokens' grants, and one batch for the
// actors.
func (s *Issuer) List(ctx context.Context, t table.Tenant, after string, limit int) (tokens []Token, next string,
	err error) {
	flags, err := t.Get(ctx, authz.FlagsKey(t, 0))
	if err != nil {
		return nil, "", fmt.Errorf("listing tokens: %w", err)
	}
	var partitions []string
	for n := range max(1, int(flags.Int("readShards"))) {
		partitions = append(partitions, authz.TokensOf(t, n))
	}
	now := s.now()
	page, err := t.Merge(ctx, partitions, table.Query{Index: 1, Backward: true,
		From: timestamp.Format(now.Add(-AccessLife)), After: after, Limit: limit})
	if err != nil {
		return nil, "", fmt.Errorf("listing tokens: %w", err)
	}
	docs := make([]tokenDoc, len(page.Items))
	grants, actors := make([]table.Key, len(page.Items)), make([]table.Key, len(page.Items))
	for i, it := range page.Items {
		if err := it.Decode(&docs[i]); err != nil {
			return nil, "", err
		}
		grants[i] = authz.GrantKey(t, it.Text("client"), it.Text("actor"))
		actors[i] = authz.ActorKey(t, authz.Audience(docs[i].Audience), it.Text("actor"))
	}
	granted, err := t.Batch(ctx, grants...)
	if err != nil {
		return nil, "", fmt.Errorf("listing tokens: %w", err)
	}
	people, err := t.Batch(ctx, actors...)
	if err != nil {
		return nil, "", fmt.Errorf("listing tokens: %w", err)
	}
	tokens = []Token{}
	for i, it := range page.Items {
		doc, grant, actor := docs[i], granted[i], people[i]
		if it.Flag("revoked") || !now.Before(doc.Expires) || !grant.Found() || grant.Int("epoch") != it.Int("epoch") ||
			!actor.Found() || actor.Text("since") != it.Text("since") {
			continue
		}
		_, id, _ := strings.Cut(it.R, "#")
		tokens = append(tokens, Token{ID: id, Client: it.Text("client"), Actor: it.Text("actor"), Audience: doc.Audience,
			Scopes:   doc.Scopes,
			IssuedAt: timestamp.Format(doc.IssuedAt), Expires: timestamp.Format(doc.Expires), Family: it.Text("family")})
	}
	if page.More {
		next = page.Last
	}
	return tokens, next, nil
}

// RevokeByID revokes an access token of the tenant and all tokens of the same
// family, and adds an entry to the tenant's audit log. The error is
// fault.NotFound if the tenant has no such token. Revoking a revoked token is
// not an error, and adds no entry.
func (s *Issuer) RevokeByID(ctx context.Context, t table.Tenant, by audit.By, jti string) error {
	if !ids.Valid(ids.Token, jti) {
		return fault.NotFound()
	}
	it, err := t.Get(ctx, authz.TokenKey(t, jti))
	if err != nil {
		return fmt.Errorf("revoking a token: %w", err)
	}
	if !it.Live(s.now()) {
		return fault.NotFound()
	}
	entry := func(tx *table.Tx) { audit.Append(tx, t, by, "token.revoke", jti, nil, nil) }
	if it.Text("family") == "" { // a machine's
		if it.Flag("revoked") {
			return nil
		}
		return s.endToken(ctx, t, jti, entry)
	}
	if err := s.endFamily(ctx, t, it.Text("family"), entry); err != nil && !errors.Is(err, errNoFamily) {
		return fmt.Errorf("revoking a token: %w", err)
	}
	return nil
}

// EndGrant adds to a transaction the end of the grant from an actor to a
// client. This revokes every token of that client and actor in the tenant, on
// all devices, and every code that is not yet redeemed. If no code was redeemed
// so far, EndGrant creates the grant, with epoch 1. Codes that were issued
// before the grant existed have epoch 0, so they become invalid.
func EndGrant(tx *table.Tx, t table.Tenant, client, actor string) {
	tx.Update(authz.GrantKey(t, client, actor), table.Change{Add: map[string]any{"epoch": 1},
		Set: map[string]any{"type": "grant", "client": client, "actor": actor}})
}
