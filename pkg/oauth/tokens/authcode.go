package tokens

import (
	"context"
	"errors"
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
	Challenge   string         `json:"challenge"`   // PKCE, S256; "" for none (see codeGrant.proves)
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
	Device bool   `json:"device,omitempty"` // the person allowed access on another device
}

func (s *Issuer) codeKey(code string) table.Key { return s.p.Key("CODE", ids.Hash(code), "CODE") }

// ErrRedeemed means that a code was issued before, and was redeemed or expired.
var ErrRedeemed = errors.New("the authorization code was issued before")

var _ = table.Kind[any]{Type: "code", Personal: "nothing", Once: "used once, then updated"}

// IssueCode issues a code that is valid once and for CodeLife. code is a secret
// of 256 bits. If the code was issued before, IssueCode changes nothing, and the
// error is nil if it can still be redeemed. The caller must have checked the
// client, the redirect URI and the person. require adds to the transaction the
// check of the consent, or the consent itself; nil adds nothing.
func (s *Issuer) IssueCode(ctx context.Context, code string, c AuthorizationCode, require func(*table.Tx)) error {
	now, key := s.now(), s.codeKey(code)
	c.Expires = now.Add(CodeLife)
	tx := s.p.Write()
	tx.Create(table.Item{Key: key, Type: "code", Doc: c, Expires: c.Expires.Add(retention)}).Else(ErrRedeemed)
	if require != nil {
		require(tx)
	}
	err := tx.Commit(ctx)
	if errors.Is(err, ErrRedeemed) {
		return s.issued(ctx, key)
	}
	if err != nil {
		return fmt.Errorf("issuing a code: %w", err)
	}
	return nil
}

// issued returns nil if the code can still be redeemed, else ErrRedeemed.
func (s *Issuer) issued(ctx context.Context, key table.Key) error {
	it, err := s.p.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("issuing a code: %w", err)
	}
	var was AuthorizationCode
	if !it.Live(s.now()) || it.Text("family") != "" {
		return ErrRedeemed
	}
	if err := it.Decode(&was); err != nil {
		return err
	}
	if !s.now().Before(was.Expires) {
		return ErrRedeemed
	}
	return nil
}
