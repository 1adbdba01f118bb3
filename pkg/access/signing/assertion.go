package signing

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jws"
)

// Algorithms of client assertions only (RFC 7518 section 3.1, RFC 8037 section
// 3.1).
const (
	PS256 = "PS256"
	EdDSA = "EdDSA"
)

// AssertionAlgorithms lists the algorithms that a client assertion may have. All
// are asymmetric. Therefore nothing that a client publishes can sign.
var AssertionAlgorithms = []string{ES256, RS256, PS256, EdDSA}

// Bounds of a client assertion.
const (
	AssertionLife = 10 * time.Minute // how far ahead exp may be, by the client's clock
	assertionSkew = time.Minute      // how far a client's clock may be ahead
	longestJTI    = 256              // bytes
)

// Assertion is a client assertion (RFC 7523 section 3, OpenID Connect Core
// section 9) whose claims are valid. Its signature is not verified until Verify
// returns true.
type Assertion struct {
	Client  string // iss and sub, the client_id
	ID      string // jti
	Alg     string
	Expires time.Time // from this time on, ParseAssertion rejects the assertion

	kid, raw string
}

// assertionClaims are the decoded claims of a client assertion. Times are Unix seconds.
type assertionClaims struct {
	Issuer    string   `json:"iss"`
	Subject   string   `json:"sub"`
	Audience  textList `json:"aud"`
	ID        string   `json:"jti"`
	Expires   *float64 `json:"exp"`
	NotBefore *float64 `json:"nbf"`
	IssuedAt  *float64 `json:"iat"`
}

// textList is a JSON string or a list of strings (RFC 7519 section 4.1.3).
type textList []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *textList) UnmarshalJSON(text []byte) error {
	var one string
	if err := json.Unmarshal(text, &one); err == nil {
		*l = textList{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(l))
}

// assertionTypes lists the accepted values of typ; "" means no typ. The type of
// another kind of JWT, such as at+jwt, is rejected (RFC 8725 section 3.11).
var assertionTypes = []string{"", "jwt", "client-authentication+jwt"}

// ParseAssertion decodes a client assertion and checks its header and claims. It
// does not check the signature, or whether the assertion was used before. Every
// member of aud must be one of the audiences, so that the assertion is valid at
// no other server. The text of an error is safe to show.
func ParseAssertion(raw string, now time.Time, audiences ...string) (Assertion, error) {
	h, payload, err := decodeCompact(raw)
	if err != nil {
		return Assertion{}, errors.New("it is not a signed JWT of at most 8 KiB")
	}
	switch {
	case h.Crit != nil:
		return Assertion{}, errors.New("its header must not have crit")
	case !slices.Contains(AssertionAlgorithms, h.Alg):
		return Assertion{}, errors.New("its alg must be one of " + strings.Join(AssertionAlgorithms, ", "))
	case !slices.Contains(assertionTypes, strings.TrimPrefix(strings.ToLower(h.Typ), "application/")):
		return Assertion{}, errors.New("its typ must be JWT or client-authentication+jwt")
	}
	var c assertionClaims
	if err := json.Unmarshal(payload, &c); err != nil {
		return Assertion{}, errors.New("its claims are not a JSON object, or a claim has the wrong type")
	}
	if err := c.check(now, audiences); err != nil {
		return Assertion{}, err
	}
	return Assertion{Client: c.Issuer, ID: c.ID, Alg: h.Alg, kid: h.KID, raw: raw,
		Expires: time.Unix(int64(*c.Expires)+1, 0)}, nil
}

// check returns which claim is invalid at now. audiences are the values that aud may have.
func (c assertionClaims) check(now time.Time, audiences []string) error {
	seconds, skew := float64(now.Unix()), assertionSkew.Seconds()
	foreign := func(one string) bool { return !slices.Contains(audiences, one) }
	switch {
	case c.Issuer == "" || c.Issuer != c.Subject:
		return errors.New("its iss and sub must be the client_id")
	case len(c.Audience) == 0 || slices.ContainsFunc(c.Audience, foreign):
		return errors.New("its aud must be the issuer or the token endpoint, and no other")
	case c.ID == "" || len(c.ID) > longestJTI:
		return errors.New("its jti must have 1 to 256 bytes")
	case c.Expires == nil || *c.Expires <= seconds:
		return errors.New("its exp is missing or has passed")
	case *c.Expires > seconds+AssertionLife.Seconds()+skew:
		return errors.New("its exp must be at most 10 minutes ahead")
	case c.NotBefore != nil && *c.NotBefore > seconds+skew:
		return errors.New("its nbf is in the future")
	case c.IssuedAt != nil && *c.IssuedAt > seconds+skew:
		return errors.New("its iat is in the future")
	}
	return nil
}

// Verify reports whether one of the keys verifies the signature. The key must
// fit the algorithm. If the header has a kid, the key must have the same kid.
func (a Assertion) Verify(keys ClientKeys) bool {
	for _, key := range keys {
		if (a.kid != "" && a.kid != key.kid) || !key.fits(a.Alg) {
			continue
		}
		_, err := jws.Verify([]byte(a.raw), jws.WithKey(jwa.SignatureAlgorithm(a.Alg), key.public), jws.WithCompact())
		if err == nil {
			return true
		}
	}
	return false
}
