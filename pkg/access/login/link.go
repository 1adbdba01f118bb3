package login

import (
	"net/url"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
)

// LinkLife is how long a link that a person did not ask for is valid.
const LinkLife = 24 * time.Hour

// Link is the stored content of a one-time link with which a person sets a
// password.
type Link struct {
	Audience authz.Audience `json:"audience"`
	TenantID string         `json:"tenant,omitempty"` // "" for an operator
	Actor    string         `json:"actor"`
	Email    string         `json:"email"`
	Since    string         `json:"since"` // Login.Since; the link is void once the account has another value
}

// LinkKey returns the key of a link. p must be a handle for the kind LINK.
func LinkKey(p table.Platform, secret string) table.Key {
	return p.Key("LINK", "LINK", ids.Hash(secret))
}

// AddLink adds a link to the transaction and returns its path and query, which are
// a credential: never log them. The link is valid once, until it expires.
func AddLink(tx *table.Tx, p table.Platform, n Link, expires time.Time) string {
	secret := ids.Secret()
	tx.Covers(p.Handle).Create(table.Item{Key: LinkKey(p, secret), Type: "link", Expires: expires, Doc: n})
	return "/oauth/password?" + url.Values{"link": {secret}}.Encode()
}
