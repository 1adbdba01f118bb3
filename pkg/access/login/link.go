package login

import (
	"cmp"
	"net/url"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/email"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
)

// LinkLife is how long a link of an invitation or a sign-up is valid.
const LinkLife = 24 * time.Hour

// Link is the stored content of a one-time link with which a person sets a
// password.
type Link struct {
	Audience authz.Audience `json:"audience"`
	TenantID string         `json:"tenant,omitempty"` // "" for an operator
	Actor    string         `json:"actor"`
	Email    string         `json:"email"`
	Since    string         `json:"since"` // Login.Since; the link is void once the account has another value
	SignUp   *SignUp        `json:"signUp,omitempty"`
}

// SignUp is the content of a link for a rider who signs up. Such a link has no Actor
// if the address has no account yet.
type SignUp struct {
	Query string `json:"query"` // of the sign-up page; the sign-in continues with it
	Form  string `json:"form"`  // token of the sign-up page's form, which only its browser has
}

// LinkKey returns the key of a link. p must be a handle for the kind LINK.
func LinkKey(p table.Platform, secret string) table.Key {
	return p.Key("LINK", ids.Hash(secret), "LINK")
}

// LinksOf returns the partition of by-g1 with an actor's links. p must be a handle
// for the kind LINK.
func LinksOf(p table.Platform, actor string) string { return p.Partition("LINK", "OF", actor) }

// Newcomer returns the value that replaces the actor's id in LinksOf while the
// address has no account: a hash of tenant and address.
func Newcomer(tenantID, address string) string {
	return ids.Hash(tenantID + "\n" + email.Fold(address))
}

// SessionsOf returns the partition of by-g1 with an actor's sessions. p must be a
// handle for the kind SESSION.
func SessionsOf(p table.Platform, actor string) string { return p.Partition("SESSION", "OF", actor) }

// SessionKey returns the key of the session with the hash of a secret. p must be a handle
// for the kind SESSION.
func SessionKey(p table.Platform, hash string) table.Key { return p.Key("SESSION", hash, "SESSION") }

// SessionLife is how long a person stays signed in with a browser.
const SessionLife = 12 * time.Hour

// LinkHints returns the query parameters of a link that name the account's audience
// and, except for an operator, its tenant. When the link has been used or has
// expired, the page needs them to offer a new one.
func LinkHints(audience authz.Audience, slug string) url.Values {
	hints := url.Values{"audience": {string(audience)}}
	if audience != authz.Dashboard {
		hints.Set("tenant_hint", slug)
	}
	return hints
}

var _ = table.Kind[any]{Type: "link", Personal: "e-mail address, applications, sign-ups not finished",
	Erasure: "deletes", Once: "used once, then deleted"}

// AddLink adds the creation of a link to the transaction. It returns the link's path
// and query, to which it adds the hints. They contain the secret: never log them. The
// link is valid once, until it expires.
func AddLink(tx *table.Tx, p table.Platform, n Link, hints url.Values, expires time.Time) string {
	secret := ids.Secret()
	it := table.Item{Key: LinkKey(p, secret), Type: "link", Expires: expires, Doc: n}
	if n.Audience != authz.Dashboard { // an erasure looks for the links of riders and drivers
		it.G[0], it.R = LinksOf(p, cmp.Or(n.Actor, Newcomer(n.TenantID, n.Email))), ids.Hash(secret)
	}
	tx.Covers(p.Handle).Create(it)
	hints.Set("link", secret)
	return "/oauth/password?" + hints.Encode()
}
