package oauth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/pkg/base/ids"
)

const jwtBearer = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

// clientKey is a key of a client that authenticates by private_key_jwt.
type clientKey struct {
	t       testing.TB
	kid     string
	private *ecdsa.PrivateKey
}

func newClientKey(t testing.TB) clientKey {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return clientKey{t, ids.Secret(), private}
}

// set returns a JWK set of this key and the others.
func (k clientKey) set(others ...clientKey) map[string]any {
	var keys []any
	for _, one := range append([]clientKey{k}, others...) {
		point, _ := one.private.PublicKey.Bytes() // 4, x, y
		keys = append(keys, map[string]any{"kty": "EC", "crv": "P-256", "kid": one.kid, "use": "sig", "alg": "ES256",
			"x": base64.RawURLEncoding.EncodeToString(point[1:33]),
			"y": base64.RawURLEncoding.EncodeToString(point[33:])})
	}
	return map[string]any{"keys": keys}
}

// assertion returns a client assertion for the audience, valid for a minute
// from now; changes are pairs, and nil removes a claim.
func (k clientKey) assertion(client, audience string, now time.Time, changes ...any) string {
	k.t.Helper()
	claims := map[string]any{"iss": client, "sub": client, "aud": audience, "jti": ids.Secret(), "iat": now.Unix(),
		"exp": now.Add(time.Minute).Unix()}
	for i := 0; i+1 < len(changes); i += 2 {
		if claims[changes[i].(string)] = changes[i+1]; changes[i+1] == nil {
			delete(claims, changes[i].(string))
		}
	}
	header, err := json.Marshal(map[string]any{"alg": "ES256", "kid": k.kid})
	if err != nil {
		k.t.Fatal(err)
	}
	body, err := json.Marshal(claims)
	if err != nil {
		k.t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode(header) + "." + encode(body)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, k.private, sum[:])
	if err != nil {
		k.t.Fatal(err)
	}
	return text + "." + encode(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}

// asserted sends a form with a client assertion.
func asserted(t testing.TB, s *apptest.Service, path, assertion string, pairs ...string) apptest.Answer {
	t.Helper()
	return (&service{Service: s}).send(t, path, formOf(append([]string{"client_assertion_type", jwtBearer,
		"client_assertion", assertion}, pairs...)...).Encode())
}

// redeemed returns the parameters that redeem a code.
func redeemed(code, redirectURI string) []string {
	return []string{"grant_type", "authorization_code", "code", code, "redirect_uri", redirectURI, "code_verifier",
		verifier}
}
