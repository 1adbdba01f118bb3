package tokens

import (
	"context"
	"fmt"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
)

// AuthorizationCode is the stored content of a code: what one authorization
// request was granted.
type AuthorizationCode struct {
	ClientID    string         `json:"client"`
	RedirectURI string         `json:"redirectUri"` // as the authorization request gave it
	Challenge   string         `json:"challenge"`   // PKCE, S256
	TenantID    string         `json:"tenant"`
	Audience    authz.Audience `json:"audience"`
	Actor       string         `json:"actor"` // usr_…, cus_… or drv_…
	Scopes      []string       `json:"scopes"`
	Nonce       string         `json:"nonce,omitempty"`
	AuthTime    time.Time      `json:"authTime"`           // when the person signed in
	Resource    string         `json:"resource,omitempty"` // RFC 8707: paths, space-separated; "" is the API
	Session     string         `json:"session,omitempty"`  // hash of the browser session, "" for none
	// Epoch is the grant's epoch when the code was issued. Ending the grant
	// invalidates the code.
	Epoch int64 `json:"epoch,omitempty"`
	// Since is the actor's attribute since when the code was issued. A new
	// membership, a new password, or the end of all tokens of the actor
	// (login.EndTokens) changes this attribute, which invalidates the code.
	Since   string    `json:"since,omitempty"`
	Expires time.Time `json:"expires"` // set by IssueCode
	// Agents is what the tenant let agents do when the person consented, "" if
	// the code is not for the MCP server.
	Agents string `json:"agents,omitempty"`
}

func (s *Issuer) codeKey(code string) table.Key { return s.p.Key("CODE", "CODE", ids.Hash(code)) }

// IssueCode issues a code that is valid once and for CodeLife. The caller must
// have checked the client, the redirect URI and the person. require adds to the
// transaction the check of the consent, or the consent itself; nil adds nothing.
func (s *Issuer) IssueCode(ctx context.Context, c AuthorizationCode, require func(*table.Tx)) (code string, err error) {
	code, now := ids.Secret(), s.now()
	c.Expires = now.Add(CodeLife)
	tx := s.p.Write()
	tx.Create(table.Item{Key: s.codeKey(code), Type: "code", Doc: c, Expires: c.Expires.Add(retention)})
	if require != nil {
		require(tx)
	}
	if err := tx.Commit(ctx); err != nil {
		return "", fmt.Errorf("issuing a code: %w", err)
	}
	return code, nil
}
