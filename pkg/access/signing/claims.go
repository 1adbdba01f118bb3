package signing

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// Access holds the claims of an access token (RFC 9068). Times are whole
// seconds. The cache of verified tokens shares Scopes: never modify them.
type Access struct {
	Issuer   string
	Subject  string // the actor's id: usr_…, cus_… or drv_…
	Audience string // "dashboard", "rider" or "driver"
	ClientID string
	TenantID string
	Scopes   []string
	ID       string // jti, the id of the audit record
	IssuedAt time.Time
	Expires  time.Time
}

// The algorithms of the signing keys (RFC 7518 section 3.1).
const (
	ES256 = "ES256" // access tokens, and id_tokens of clients that ask for it
	RS256 = "RS256" // id_tokens
)

// Algorithms lists the algorithms of the signing keys.
var Algorithms = []string{ES256, RS256}

// ErrToken means that a token is not a valid access token or id_token of this
// service. Its form, signature, algorithm, typ, issuer or a claim's type is
// wrong, its key is not published, an access token has expired, or a claim is
// missing.
var ErrToken = errors.New("not a valid token of this service")

// Unverified decodes the payload of a JWT into claims, and reports whether it
// could. It verifies nothing, so anybody can have written the claims.
func Unverified(token string, claims any) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	return err == nil && json.Unmarshal(payload, claims) == nil
}
