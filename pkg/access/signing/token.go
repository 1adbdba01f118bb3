package signing

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwa"
	"github.com/lestrrat-go/jwx/v2/jws"
)

// longest is the maximum size of a token that is examined, in bytes.
const longest = 8 << 10

// accessClaims is the JSON form of Access. Times are Unix seconds.
type accessClaims struct {
	Issuer   string `json:"iss"`
	Subject  string `json:"sub"`
	Audience string `json:"aud"`
	ClientID string `json:"client_id"`
	TenantID string `json:"tenant_id"`
	Scope    string `json:"scope"`
	ID       string `json:"jti"`
	IssuedAt int64  `json:"iat"`
	Expires  int64  `json:"exp"`
}

// MintAccess signs an access token (RFC 9068 section 2). If a.Issuer is empty,
// the token's issuer is that of the Options.
func (k *Keys) MintAccess(ctx context.Context, a Access) (string, error) {
	if a.Issuer == "" {
		a.Issuer = k.options.Issuer
	}
	return k.mint(ctx, ES256, "at+jwt", accessClaims{a.Issuer, a.Subject, a.Audience, a.ClientID, a.TenantID,
		strings.Join(a.Scopes, " "), a.ID, a.IssuedAt.Unix(), a.Expires.Unix()})
}

// MintID signs an id_token with the claims (OpenID Connect Core section 2). alg
// is RS256 or ES256.
func (k *Keys) MintID(ctx context.Context, claims map[string]any, alg string) (string, error) {
	return k.mint(ctx, alg, "JWT", claims)
}

// mint signs the claims as a compact JWS. typ is the type in its header.
func (k *Keys) mint(ctx context.Context, alg, typ string, claims any) (string, error) {
	key, private, err := k.signer(ctx, alg)
	if err != nil {
		return "", fmt.Errorf("signing a token: %w", err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("signing a token: %w", err)
	}
	h := jws.NewHeaders()
	for name, value := range map[string]string{jws.TypeKey: typ, jws.KeyIDKey: key.KID} {
		if err := h.Set(name, value); err != nil {
			return "", fmt.Errorf("signing a token: %w", err)
		}
	}
	out, err := jws.Sign(payload, jws.WithKey(jwa.SignatureAlgorithm(alg), private, jws.WithProtectedHeaders(h)))
	if err != nil {
		return "", fmt.Errorf("signing a token: %w", err)
	}
	return string(out), nil
}

// Verify returns the claims of an access token that this service signed and
// that has not expired. For any other token it returns ErrToken. Any other
// error means that the keys could not be read. Verify does not know whether the
// token is revoked.
func (k *Keys) Verify(ctx context.Context, raw string) (Access, error) {
	if len(raw) > longest {
		return Access{}, fmt.Errorf("%w: too long", ErrToken)
	}
	s, err := k.usable(ctx)
	if err != nil {
		return Access{}, err
	}
	now, issuer := k.options.Now(), k.options.Issuer
	sum := sha256.Sum256([]byte(raw))
	for _, e := range s.entries {
		if a, ok := e.tokens.get(sum); ok {
			return checked(a, issuer, now)
		}
	}
	h, err := headerOf(raw)
	if err != nil {
		return Access{}, err
	}
	if h.Alg != ES256 || !accessType(h.Typ) {
		return Access{}, fmt.Errorf("%w: not an access token", ErrToken)
	}
	e, err := k.named(ctx, h.KID)
	if err != nil {
		return Access{}, err
	}
	var c accessClaims
	if err := e.verify(raw, ES256, &c); err != nil {
		return Access{}, err
	}
	a := Access{c.Issuer, c.Subject, c.Audience, c.ClientID, c.TenantID, strings.Fields(c.Scope), c.ID,
		time.Unix(c.IssuedAt, 0).UTC(), time.Unix(c.Expires, 0).UTC()}
	if a, err = checked(a, issuer, now); err == nil {
		e.tokens.put(sum, a)
	}
	return a, err
}

// VerifyID returns the claims of an id_token that this service signed, expired
// or not. The id_token is a hint about a person, never a credential (OpenID
// Connect RP-Initiated Logout section 2). Its key must still be published.
func (k *Keys) VerifyID(ctx context.Context, raw string) (map[string]any, error) {
	h, err := headerOf(raw)
	if err != nil {
		return nil, err
	}
	if (h.Alg != RS256 && h.Alg != ES256) || !strings.EqualFold(h.Typ, "JWT") {
		return nil, fmt.Errorf("%w: not an id_token", ErrToken)
	}
	e, err := k.named(ctx, h.KID)
	if err != nil {
		return nil, err
	}
	var claims map[string]any
	if err := e.verify(raw, h.Alg, &claims); err != nil {
		return nil, err
	}
	if claims["iss"] != k.options.Issuer {
		return nil, fmt.Errorf("%w: another issuer", ErrToken)
	}
	return claims, nil
}

// checked returns a unchanged. If a claim is missing, if a is of another issuer,
// or if a has expired at the time now, it returns ErrToken.
func checked(a Access, issuer string, now time.Time) (Access, error) {
	switch {
	case a.Issuer != issuer || issuer == "":
		return Access{}, fmt.Errorf("%w: another issuer", ErrToken)
	case !now.Before(a.Expires):
		return Access{}, fmt.Errorf("%w: expired", ErrToken)
	case a.Subject == "" || a.Audience == "" || a.ClientID == "" || a.TenantID == "" || a.ID == "" ||
		a.IssuedAt.Unix() <= 0:
		return Access{}, fmt.Errorf("%w: a claim is missing", ErrToken)
	}
	return a, nil
}

// accessType reports whether typ is "at+jwt", with or without "application/"
// (RFC 9068 section 4).
func accessType(typ string) bool {
	typ = strings.ToLower(typ)
	return typ == "at+jwt" || typ == "application/at+jwt"
}

// header is the protected header of a JWS (RFC 7515 section 4.1).
type header struct {
	Alg  string          `json:"alg"`
	Typ  string          `json:"typ"`
	KID  string          `json:"kid"`
	Crit json.RawMessage `json:"crit"`
}

// headerOf returns the protected header of a token of this service. It returns
// ErrToken if the header names no key, or has crit.
func headerOf(raw string) (header, error) {
	h, _, err := decodeCompact(raw)
	if err == nil && (h.Crit != nil || h.KID == "") {
		err = fmt.Errorf("%w: header", ErrToken)
	}
	return h, err
}

// decodeCompact returns the protected header and the payload of a compact JWS,
// which must have three strict base64url parts. It ignores keys that a header
// contains or links to (jwk, jku, x5u, x5c).
func decodeCompact(raw string) (h header, payload []byte, err error) {
	if len(raw) > longest {
		return h, nil, fmt.Errorf("%w: too long", ErrToken)
	}
	parts := strings.Split(raw, ".")
	if len(parts) != 3 || strings.ContainsAny(raw, "\r\n") { // base64 would skip these characters
		return h, nil, fmt.Errorf("%w: not three parts", ErrToken)
	}
	var decoded [3][]byte
	for i, part := range parts {
		if decoded[i], err = base64.RawURLEncoding.Strict().DecodeString(part); err != nil || len(decoded[i]) == 0 {
			return h, nil, fmt.Errorf("%w: not base64url", ErrToken)
		}
	}
	if err := json.Unmarshal(decoded[0], &h); err != nil {
		return header{}, nil, fmt.Errorf("%w: header", ErrToken)
	}
	return h, decoded[1], nil
}

// verify checks the signature of a token with this key only, and decodes the
// payload into claims. It returns ErrToken if the signature is wrong or a claim
// has a wrong type.
func (e *entry) verify(raw, alg string, claims any) error {
	if e.Alg != alg {
		return fmt.Errorf("%w: not the key's algorithm", ErrToken)
	}
	payload, err := jws.Verify([]byte(raw), jws.WithKey(jwa.SignatureAlgorithm(alg), e.public), jws.WithCompact())
	if err != nil {
		return fmt.Errorf("%w: signature", ErrToken)
	}
	if err := json.Unmarshal(payload, claims); err != nil {
		return fmt.Errorf("%w: claims", ErrToken)
	}
	return nil
}

// generation is the maximum number of tokens in one generation of a key's
// cache.
const generation = 4096

// tokens caches verified tokens of one key by their SHA-256, in two
// generations, new and old. When new is full, it becomes old, and the tokens of
// the previous old are dropped. A hit in old copies the token to new.
type tokens struct {
	mu       sync.Mutex
	new, old map[[32]byte]Access
}

// get returns a cached token by the SHA-256 of its text.
func (t *tokens) get(sum [32]byte) (Access, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a, ok := t.new[sum]; ok {
		return a, true
	}
	a, ok := t.old[sum]
	if ok {
		t.add(sum, a)
	}
	return a, ok
}

// put caches a verified token by the SHA-256 of its text.
func (t *tokens) put(sum [32]byte, a Access) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(sum, a)
}

// add stores a token in new. The caller holds the lock.
func (t *tokens) add(sum [32]byte, a Access) {
	if t.new == nil || len(t.new) >= generation {
		t.old, t.new = t.new, make(map[[32]byte]Access)
	}
	t.new[sum] = a
}
