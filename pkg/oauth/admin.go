package oauth

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"svc/pkg/audit"
	"svc/pkg/authz"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/table"
	"svc/pkg/timestamp"
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

// Tokens lists the tenant's live access tokens, newest first, up to limit
// (1…100) after the position that the last page ended at ("" for the first);
// next is "" at the end. A page may be short, for dead ones are left out: those
// of an earlier membership or password too. Those of a disabled actor are
// there, for they are good again when she is enabled.
//
// Access pattern: by-g1, T#t#TOKENS#shard backward from now to AccessLife ago,
// shards merged; then the grants of what was found in one batch, and the actors
// in another.
func (s *Server) Tokens(ctx context.Context, t table.Tenant, after string, limit int) (tokens []Token, next string, err error) {
	flags, err := t.Get(ctx, authz.FlagsKey(t, 0))
	if err != nil {
		return nil, "", fmt.Errorf("listing tokens: %w", err)
	}
	var partitions []string
	for n := range max(1, int(flags.Int("readShards"))) {
		partitions = append(partitions, tokensOf(t, n))
	}
	now := s.now()
	page, err := t.Merge(ctx, partitions, table.Query{Index: 1, Backward: true, From: timestamp.Format(now.Add(-AccessLife)), After: after, Limit: limit})
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
		tokens = append(tokens, Token{ID: id, Client: it.Text("client"), Actor: it.Text("actor"), Audience: doc.Audience, Scopes: doc.Scopes,
			IssuedAt: timestamp.Format(doc.IssuedAt), Expires: timestamp.Format(doc.Expires), Family: it.Text("family")})
	}
	if page.More {
		next = page.Last
	}
	return tokens, next, nil
}

// RevokeToken ends an access token of the tenant and all that came of the same
// sign-in, with an entry in the tenant's audit log. fault.NotFound when the
// tenant has no such token; one that was ended before is no error.
func (s *Server) RevokeToken(ctx context.Context, t table.Tenant, by audit.By, jti string) error {
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
	if err := s.endFamily(ctx, t, it.Text("family"), entry); err != nil && !errors.Is(err, errNoFamily) {
		return fmt.Errorf("revoking a token: %w", err)
	}
	return nil
}

// disconnect ends every token of the client and actor.
func (s *Server) disconnect(ctx context.Context, t table.Tenant, client, actor string) error {
	grant, err := t.Get(ctx, authz.GrantKey(t, client, actor))
	if err != nil {
		return fmt.Errorf("disconnecting an app: %w", err)
	}
	if !grant.Found() {
		return nil
	}
	return s.endGrant(ctx, t, client, actor, grant.Int("epoch"))
}
