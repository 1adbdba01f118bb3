package signing_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"

	"svc/pkg/access/signing"
)

const (
	tokenEndpoint = "https://id.example/oauth/token"
	issuerURL     = "https://id.example"
)

var assertedAt = time.Unix(1_800_000_000, 0)

func b64(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

func jsonOf(t testing.TB, v any) []byte {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// jwkOf returns a public key as a JWK; changes alternate names and values.
func jwkOf(public any, changes ...string) map[string]any {
	out := map[string]any{"kid": "k1"}
	switch key := public.(type) {
	case *ecdsa.PublicKey:
		point, _ := key.Bytes() // 4, x, y
		size := len(point) / 2
		out["kty"], out["crv"] = "EC", key.Curve.Params().Name
		out["x"], out["y"] = b64(point[1:1+size]), b64(point[1+size:])
	case *rsa.PublicKey:
		out["kty"], out["n"], out["e"] = "RSA", b64(key.N.Bytes()), b64(big.NewInt(int64(key.E)).Bytes())
	case ed25519.PublicKey:
		out["kty"], out["crv"], out["x"] = "OKP", "Ed25519", b64(key)
	}
	for i := 0; i+1 < len(changes); i += 2 {
		out[changes[i]] = changes[i+1]
	}
	return out
}

func keySetOf(t testing.TB, keys ...map[string]any) []byte {
	t.Helper()
	return jsonOf(t, map[string]any{"keys": keys})
}

// sign returns a compact JWS by the algorithm, with the standard library alone.
func sign(t testing.TB, alg string, private any, header, claims map[string]any) string {
	t.Helper()
	header["alg"] = alg
	text := b64(jsonOf(t, header)) + "." + b64(jsonOf(t, claims))
	sum := sha256.Sum256([]byte(text))
	var out []byte
	var err error
	switch key := private.(type) {
	case *ecdsa.PrivateKey:
		var r, s *big.Int
		if r, s, err = ecdsa.Sign(rand.Reader, key, sum[:]); err == nil {
			size := (key.Curve.Params().BitSize + 7) / 8
			out = append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...)
		}
	case *rsa.PrivateKey:
		if alg == signing.PS256 {
			out, err = rsa.SignPSS(rand.Reader, key, crypto.SHA256, sum[:], &rsa.PSSOptions{SaltLength: 32})
		} else {
			out, err = rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
		}
	case ed25519.PrivateKey:
		out = ed25519.Sign(key, []byte(text))
	case []byte: // HMAC
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(text))
		out = mac.Sum(nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + b64(out)
}

// goodClaims returns the claims of an assertion; changes alternate names and
// values, and nil removes a claim.
func goodClaims(changes ...any) map[string]any {
	out := map[string]any{"iss": "cli", "sub": "cli", "aud": issuerURL, "jti": "j1", "exp": assertedAt.Unix() + 60,
		"iat": assertedAt.Unix()}
	for i := 0; i+1 < len(changes); i += 2 {
		if out[changes[i].(string)] = changes[i+1]; changes[i+1] == nil {
			delete(out, changes[i].(string))
		}
	}
	return out
}

type keyPairs struct {
	p256, p384     *ecdsa.PrivateKey
	weak, rsa2048  *rsa.PrivateKey
	edPublic       ed25519.PublicKey
	edPrivate      ed25519.PrivateKey
	rsaPEM, ecText []byte // the public keys as an attacker would use them as a secret
}

func newKeyPairs(t testing.TB) keyPairs {
	t.Helper()
	var k keyPairs
	var errs [5]error
	k.p256, errs[0] = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	k.p384, errs[1] = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	k.weak, errs[2] = rsa.GenerateKey(rand.Reader, 1024)
	k.rsa2048, errs[3] = rsa.GenerateKey(rand.Reader, 2048)
	k.edPublic, k.edPrivate, errs[4] = ed25519.GenerateKey(rand.Reader)
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	k.rsaPEM = x509.MarshalPKCS1PublicKey(&k.rsa2048.PublicKey)
	k.ecText = jsonOf(t, jwkOf(&k.p256.PublicKey))
	return k
}

func typed(typ string) map[string]any { return map[string]any{"typ": typ} }

type jwks []map[string]any

// named returns the header that names the key.
func named() map[string]any { return map[string]any{"kid": "k1"} }

// An assertion is valid only with an asymmetric algorithm that fits the key.
func TestAssertionSignatures(t *testing.T) {
	t.Parallel()
	k := newKeyPairs(t)
	ec, rs, ed := jwkOf(&k.p256.PublicKey), jwkOf(&k.rsa2048.PublicKey), jwkOf(k.edPublic)
	ps := jwkOf(&k.rsa2048.PublicKey, "alg", "PS256")
	for name, test := range map[string]struct {
		alg    string
		key    any
		header map[string]any
		set    jwks
		good   bool
	}{
		"ES256":                             {"ES256", k.p256, named(), jwks{ec}, true},
		"RS256":                             {"RS256", k.rsa2048, named(), jwks{rs}, true},
		"PS256":                             {"PS256", k.rsa2048, named(), jwks{rs}, true},
		"EdDSA":                             {"EdDSA", k.edPrivate, named(), jwks{ed}, true},
		"among other keys of the same kid":  {"EdDSA", k.edPrivate, named(), jwks{ec, rs, ed}, true},
		"without a kid":                     {"ES256", k.p256, map[string]any{}, jwks{rs, ec}, true},
		"explicit type":                     {"ES256", k.p256, typed("client-authentication+jwt"), jwks{ec}, true},
		"type JWT":                          {"ES256", k.p256, typed("JWT"), jwks{ec}, true},
		"an access token":                   {"ES256", k.p256, typed("at+jwt"), jwks{ec}, false},
		"another kid":                       {"ES256", k.p256, map[string]any{"kid": "../../k1"}, jwks{ec}, false},
		"crit":                              {"ES256", k.p256, map[string]any{"crit": []string{"b64"}}, jwks{ec}, false},
		"a key in the header":               {"ES256", k.p256, map[string]any{"jwk": ec}, jwks{rs}, false},
		"a key's address in the header":     {"ES256", k.p256, map[string]any{"jku": "https://a.example"}, jwks{rs}, false},
		"of another algorithm":              {"RS256", k.rsa2048, map[string]any{}, jwks{ps}, false},
		"RS256 called PS256":                {"RS256", k.rsa2048, named(), jwks{ed}, false},
		"HS256 with the public RSA key":     {"HS256", k.rsaPEM, named(), jwks{rs}, false},
		"HS256 with the public EC key":      {"HS256", k.ecText, named(), jwks{ec}, false},
		"none":                              {"none", nil, named(), jwks{ec}, false},
		"None":                              {"None", nil, named(), jwks{ec}, false},
		"an EC signature that says RS256":   {"RS256", k.p256, named(), jwks{ec, rs}, false},
		"an algorithm that is not accepted": {"RS512", k.rsa2048, named(), jwks{rs}, false},
		"ES256 by P-384":                    {"ES256", k.p384, map[string]any{}, jwks{ec}, false},
	} {
		t.Run(name, func(t *testing.T) {
			keys, err := signing.ParseClientKeys(keySetOf(t, test.set...))
			if err != nil {
				t.Fatal(err)
			}
			raw := sign(t, test.alg, test.key, test.header, goodClaims())
			a, err := signing.ParseAssertion(raw, assertedAt, issuerURL, tokenEndpoint)
			if got := err == nil && a.Verify(keys); got != test.good {
				t.Errorf("%v (%v), want %v", got, err, test.good)
			}
			if test.good {
				parts := strings.Split(raw, ".")
				forged := parts[0] + "." + b64(jsonOf(t, goodClaims("jti", "j2"))) + "." + parts[2]
				if a, err := signing.ParseAssertion(forged, assertedAt, issuerURL); err != nil || a.Verify(keys) {
					t.Errorf("other claims under the signature: %v", err)
				}
			}
		})
	}
}

// The rules for claims of RFC 7523 section 3, and those that this server adds.
func TestAssertionClaims(t *testing.T) {
	t.Parallel()
	k := newKeyPairs(t)
	now := assertedAt.Unix()
	for name, test := range map[string]struct {
		changes []any
		good    bool
	}{
		"good":                             {nil, true},
		"the token endpoint":               {[]any{"aud", tokenEndpoint}, true},
		"a list of one":                    {[]any{"aud", []string{issuerURL}}, true},
		"a list of both of ours":           {[]any{"aud", []string{issuerURL, tokenEndpoint}}, true},
		"another audience":                 {[]any{"aud", "https://other.example"}, false},
		"another audience beside ours":     {[]any{"aud", []string{issuerURL, "https://other.example"}}, false},
		"an audience that ours begins":     {[]any{"aud", issuerURL + "/"}, false},
		"no audience":                      {[]any{"aud", nil}, false},
		"an empty list":                    {[]any{"aud", []string{}}, false},
		"an audience of the wrong type":    {[]any{"aud", 1}, false},
		"sub is another":                   {[]any{"sub", "other"}, false},
		"no iss":                           {[]any{"iss", nil}, false},
		"neither iss nor sub":              {[]any{"iss", nil, "sub", nil}, false},
		"no jti":                           {[]any{"jti", nil}, false},
		"a jti of 256 bytes":               {[]any{"jti", strings.Repeat("j", 256)}, true},
		"a longer jti":                     {[]any{"jti", strings.Repeat("j", 257)}, false},
		"no exp":                           {[]any{"exp", nil}, false},
		"over":                             {[]any{"exp", now}, false},
		"ten minutes":                      {[]any{"exp", now + 600}, true},
		"far in the future":                {[]any{"exp", now + 3600}, false},
		"beyond all time":                  {[]any{"exp", 1e300}, false},
		"exp is a text":                    {[]any{"exp", "1800000060"}, false},
		"a fraction of a second":           {[]any{"exp", float64(now) + 0.5}, true},
		"from a clock that is ahead":       {[]any{"iat", now + 30, "nbf", now + 30}, true},
		"issued in the future":             {[]any{"iat", now + 300}, false},
		"not yet good":                     {[]any{"nbf", now + 300}, false},
		"without iat":                      {[]any{"iat", nil}, true},
		"claims that this server ignores":  {[]any{"scope", []any{1}}, true},
		"too long for any client's header": {[]any{"x", strings.Repeat("x", 9000)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			raw := sign(t, "ES256", k.p256, map[string]any{}, goodClaims(test.changes...))
			a, err := signing.ParseAssertion(raw, assertedAt, issuerURL, tokenEndpoint)
			if (err == nil) != test.good || (test.good && a.Client != "cli") {
				t.Errorf("%+v %v, want %v", a, err, test.good)
			}
			if test.good && a.Expires.Before(assertedAt) {
				t.Errorf("expires %v", a.Expires)
			}
		})
	}
	for _, raw := range []string{"", "a.b", "a.b.c", "....", strings.Repeat("a", 9000)} {
		if _, err := signing.ParseAssertion(raw, assertedAt, issuerURL); err == nil {
			t.Errorf("%.20q is good", raw)
		}
	}
}

// A key set holds public keys of the accepted kinds; others are skipped.
func TestClientKeys(t *testing.T) {
	t.Parallel()
	k := newKeyPairs(t)
	ec := jwkOf(&k.p256.PublicKey)
	many := make([]map[string]any, 17)
	for i := range many {
		many[i] = ec
	}
	for name, test := range map[string]struct {
		set  []byte
		want int // keys; 0 is an error
	}{
		"one":                          {keySetOf(t, ec), 1},
		"beside unknown kinds":         {keySetOf(t, ec, map[string]any{"kty": "AKP"}, jwkOf(&k.p384.PublicKey)), 1},
		"a weak RSA key":               {keySetOf(t, jwkOf(&k.weak.PublicKey)), 0},
		"a weak one beside another":    {keySetOf(t, jwkOf(&k.weak.PublicKey), jwkOf(&k.rsa2048.PublicKey)), 1},
		"another curve":                {keySetOf(t, jwkOf(&k.p384.PublicKey)), 0},
		"for encryption":               {keySetOf(t, jwkOf(&k.p256.PublicKey, "use", "enc")), 0},
		"for HS256":                    {keySetOf(t, jwkOf(&k.rsa2048.PublicKey, "alg", "HS256")), 0},
		"a point that is not on P-256": {keySetOf(t, jwkOf(&k.p256.PublicKey, "y", b64(make([]byte, 32)))), -1},
		"a private key":                {keySetOf(t, jwkOf(&k.p256.PublicKey, "d", b64(make([]byte, 32)))), 0},
		"a short Ed25519 key":          {keySetOf(t, jwkOf(k.edPublic, "x", "AAAA")), 0},
		"a symmetric key":              {keySetOf(t, ec, map[string]any{"kty": "oct", "k": "AAAA"}), 0},
		"none":                         {keySetOf(t), 0},
		"no set":                       {[]byte(`[]`), 0},
		"null":                         {[]byte(`null`), 0},
		"no object":                    {[]byte(`{"keys":["x"]}`), 0},
		"too many":                     {keySetOf(t, many...), 0},
	} {
		t.Run(name, func(t *testing.T) {
			keys, err := signing.ParseClientKeys(test.set)
			if test.want >= 0 && (len(keys) != test.want || (err == nil) != (test.want > 0)) {
				t.Errorf("%d keys, %v, want %d", len(keys), err, test.want)
			}
			raw := sign(t, "ES256", k.p256, map[string]any{}, goodClaims())
			a, err := signing.ParseAssertion(raw, assertedAt, issuerURL)
			if test.want < 0 && (err != nil || a.Verify(keys)) {
				t.Errorf("it verifies: %v", err)
			}
		})
	}
}
