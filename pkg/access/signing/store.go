package signing

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lestrrat-go/jwx/v2/jwk"

	"svc/pkg/data/table"
)

// record is a stored signing key.
type record struct {
	KID         string          `json:"kid"`
	Alg         string          `json:"alg"`
	Public      json.RawMessage `json:"public"` // the JWK as published
	Sealed      []byte          `json:"sealed"` // private key in PKCS #8, encrypted by the Sealer for the kid
	PublishedAt time.Time       `json:"publishedAt"`
	SignsFrom   time.Time       `json:"signsFrom"`
	RevokedAt   *time.Time      `json:"revokedAt,omitempty"`

	version int64
	unknown table.Unknown // what a newer build stored in the item
}

// Names in the table, and a bound.
const (
	mostKeys = 1000       // how many items one query reads
	rotation = "ROTATION" // range key of the item that Rotate changes; it sorts before every kid
	cursors  = "cursors"  // attribute of that item with the key that authenticates cursors
)

// key returns the key of the item of the signing key with the kid.
func (k *Keys) key(kid string) table.Key { return k.p.Key("KEYS", kid) }

// records reads all stored keys, in the order in which they begin to sign, and
// the item ROTATION, with one query. Every transaction of Rotate increments the
// version of ROTATION, so that two of them conflict. ROTATION also has the key of
// cursors.
func (k *Keys) records(ctx context.Context) ([]record, table.Item, error) {
	page, err := k.p.Query(ctx, k.p.Partition("KEYS"), table.Query{Limit: mostKeys, Consistent: true})
	if err != nil {
		return nil, table.Item{}, fmt.Errorf("reading the signing keys: %w", err)
	}
	now, control := k.options.Now(), table.Item{Key: k.key(rotation), Type: "key"}
	var out []record
	for _, it := range page.Items {
		if it.SK == rotation {
			control, control.Preserve = it, it.Unknown()
			continue
		}
		if !it.Live(now) {
			continue
		}
		var r record
		if err := it.Decode(&r); err != nil {
			return nil, table.Item{}, fmt.Errorf("reading the signing keys: %w", err)
		}
		r.version, r.unknown = it.Version, it.Unknown()
		out = append(out, r)
	}
	return sorted(out), control, nil
}

var _ = table.Kind[any]{Type: "key", Personal: "nothing"}

// item returns the stored form of a key. A revoked key expires after the duration keep.
func (k *Keys) item(r record) table.Item {
	it := table.Item{Key: k.key(r.KID), Type: "key", Version: max(r.version, 1), Doc: r, Preserve: r.unknown}
	if r.RevokedAt != nil {
		it.Expires = r.RevokedAt.Add(keep)
	}
	return it
}

// generate returns a new key pair: the public key as a JWK and the private key
// as PKCS #8.
func generate(alg, kid string) (public json.RawMessage, private []byte, err error) {
	var pair crypto.Signer
	if alg == RS256 {
		pair, err = rsa.GenerateKey(rand.Reader, 2048)
	} else {
		pair, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("generating a key: %w", err)
	}
	key, err := jwk.FromRaw(pair.Public())
	if err != nil {
		return nil, nil, fmt.Errorf("publishing a key: %w", err)
	}
	for name, value := range map[string]string{jwk.KeyIDKey: kid, jwk.AlgorithmKey: alg, jwk.KeyUsageKey: "sig"} {
		if err := key.Set(name, value); err != nil {
			return nil, nil, fmt.Errorf("publishing a key: %w", err)
		}
	}
	if public, err = json.Marshal(key); err != nil {
		return nil, nil, fmt.Errorf("publishing a key: %w", err)
	}
	if private, err = x509.MarshalPKCS8PrivateKey(pair); err != nil {
		return nil, nil, fmt.Errorf("generating a key: %w", err)
	}
	return public, private, nil
}

// parsePublic parses a published JWK. The key must be ECDSA or RSA.
func parsePublic(text json.RawMessage) (crypto.PublicKey, error) {
	key, err := jwk.ParseKey(text)
	if err != nil {
		return nil, fmt.Errorf("a stored key: %w", err)
	}
	var raw any
	if err := key.Raw(&raw); err != nil {
		return nil, fmt.Errorf("a stored key: %w", err)
	}
	switch pub := raw.(type) {
	case *ecdsa.PublicKey:
		return pub, nil
	case *rsa.PublicKey:
		return pub, nil
	}
	return nil, fmt.Errorf("a stored key is a %T", raw)
}

// parsePrivate parses a private key and checks that it belongs to the public
// key.
func parsePrivate(plain []byte, public crypto.PublicKey) (crypto.Signer, error) {
	parsed, err := x509.ParsePKCS8PrivateKey(plain)
	if err != nil {
		return nil, fmt.Errorf("a private key: %w", err)
	}
	signer, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a private key is a %T", parsed)
	}
	same, ok := signer.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !same.Equal(public) {
		return nil, fmt.Errorf("a private key does not belong to the published public key")
	}
	return signer, nil
}

// published returns the body of jwks.json: the public keys that are not revoked.
func published(records []record) ([]byte, error) {
	var body struct {
		Keys []json.RawMessage `json:"keys"`
	}
	body.Keys = []json.RawMessage{}
	for _, r := range records {
		if r.RevokedAt == nil {
			body.Keys = append(body.Keys, r.Public)
		}
	}
	out, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("publishing the keys: %w", err)
	}
	return out, nil
}
