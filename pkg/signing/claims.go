package signing

import (
	"errors"
	"time"
)

// Access is what an access token says (RFC 9068). Times are whole seconds.
// Scopes are shared with the cache of verified tokens: read, never write them.
type Access struct {
	Issuer   string
	Subject  string // the actor's id: usr_…, cus_… or drv_…
	Audience string // "dashboard", "rider" or "driver"
	ClientID string
	TenantID string
	Scopes   []string
	ID       string // jti, names the audit record
	IssuedAt time.Time
	Expires  time.Time
}

// The algorithms of our keys (RFC 7518 section 3.1).
const (
	ES256 = "ES256" // access tokens, and id_tokens of clients that ask for it
	RS256 = "RS256" // id_tokens
)

// Algorithms lists them.
var Algorithms = []string{ES256, RS256}

// ErrToken is a token that is not a good access token of ours, whatever the
// reason: form, signature, algorithm, typ, issuer or expiry.
var ErrToken = errors.New("not a valid access token")
