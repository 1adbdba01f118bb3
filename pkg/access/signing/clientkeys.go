package signing

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lestrrat-go/jwx/v2/jwk"
)

// Bounds of the set of keys that a client publishes.
const (
	mostClientKeys = 16
	leastRSA       = 2048 // bits (RFC 7518 section 3.3)
	mostRSA        = 8192 // bits; a larger key would only cost time
)

// ClientKeys are the public keys that verify a client's assertions: the JWTs with
// which the client authenticates.
type ClientKeys []clientKey

// clientKey is a public key of a client.
type clientKey struct {
	kid, alg string // "" if the JWK does not have the member
	public   crypto.PublicKey
}

// ParseClientKeys decodes a JWK set (RFC 7517 section 5). It skips keys that
// cannot verify an assertion, and returns an error if none remains. A private
// or symmetric key is an error, because the set is public. So is a set of more
// than mostClientKeys keys. The text of an error is safe to show.
func ParseClientKeys(set []byte) (ClientKeys, error) {
	var body struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(set, &body); err != nil {
		return nil, errors.New("it is not a JWK set")
	}
	if len(body.Keys) > mostClientKeys {
		return nil, fmt.Errorf("it holds more than %d keys", mostClientKeys)
	}
	var out ClientKeys
	for _, text := range body.Keys {
		var members map[string]json.RawMessage
		if json.Unmarshal(text, &members) != nil {
			return nil, errors.New("it is not a JWK set")
		}
		if members["d"] != nil || members["k"] != nil {
			return nil, errors.New("it must hold public keys only")
		}
		if key, ok := parseClientKey(text); ok {
			out = append(out, key)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("it holds no key that may verify ES256, RS256 or PS256 (2048 to 8192 bits), or EdDSA")
	}
	return out, nil
}

// parseClientKey parses one JWK. It returns false if the key cannot verify an assertion.
func parseClientKey(text []byte) (clientKey, bool) {
	key, err := jwk.ParseKey(text)
	if err != nil || (key.KeyUsage() != "" && key.KeyUsage() != "sig") {
		return clientKey{}, false
	}
	verifies := len(key.KeyOps()) == 0
	for _, op := range key.KeyOps() {
		verifies = verifies || op == jwk.KeyOpVerify
	}
	var raw any
	if err := key.Raw(&raw); err != nil || !verifies {
		return clientKey{}, false
	}
	out := clientKey{kid: key.KeyID(), alg: key.Algorithm().String()}
	switch public := raw.(type) {
	case *ecdsa.PublicKey:
		out.public = public
	case *rsa.PublicKey:
		out.public = public
	case ed25519.PublicKey:
		out.public = public
	}
	for _, alg := range AssertionAlgorithms {
		if out.fits(alg) {
			return out, true
		}
	}
	return clientKey{}, false
}

// fits reports whether the key has the type and size that the algorithm needs,
// and does not name another algorithm.
func (k clientKey) fits(alg string) bool {
	if k.alg != "" && k.alg != alg {
		return false
	}
	switch public := k.public.(type) {
	case *ecdsa.PublicKey:
		return alg == ES256 && public.Curve == elliptic.P256()
	case *rsa.PublicKey:
		bits := public.N.BitLen()
		return (alg == RS256 || alg == PS256) && bits >= leastRSA && bits <= mostRSA
	case ed25519.PublicKey:
		return alg == EdDSA && len(public) == ed25519.PublicKeySize // a shorter one would panic in Verify
	}
	return false
}
