package signing_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/access/signing"
	"svc/pkg/base/fault"
	"svc/pkg/data/table"
)

const issuer = "https://svc.example"

// clock is a clock that tests move.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// noOpener is a sealer that fails the test when it opens anything.
type noOpener struct {
	signing.Sealer
	t *testing.T
}

func (n noOpener) Open(context.Context, string, []byte) ([]byte, error) {
	n.t.Error("a private key was opened")
	return nil, errors.New("not here")
}

type fixture struct {
	db     *table.DB
	clock  *clock
	sealer signing.Sealer
	keys   *signing.Keys
}

func setup(t *testing.T) fixture {
	t.Helper()
	f := fixture{db: testkit.Table(t), clock: newClock(), sealer: signing.NewSealer()}
	f.keys = f.open(f.sealer)
	if err := f.keys.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f fixture) open(s signing.Sealer) *signing.Keys {
	return signing.Open(f.db, signing.Options{Issuer: issuer, Sealer: s, Now: f.clock.now})
}

func (f fixture) access() signing.Access {
	now := f.clock.now()
	return signing.Access{Issuer: issuer, Subject: "cus_1", Audience: "rider", ClientID: "cli_1", TenantID: "ten_1",
		Scopes: []string{"rider.trips:read", "openid"}, ID: "tok_1", IssuedAt: now, Expires: now.Add(time.Hour)}
}

func (f fixture) mint(t *testing.T) string {
	t.Helper()
	raw, err := f.keys.MintAccess(t.Context(), f.access())
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func states(t *testing.T, k *signing.Keys, alg string) []string {
	t.Helper()
	list, err := k.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, key := range list {
		if key.Alg == alg {
			out = append(out, key.State)
		}
	}
	return out
}

func kidOf(t *testing.T, raw string) string {
	t.Helper()
	var h struct {
		KID string `json:"kid"`
		Typ string `json:"typ"`
	}
	text, _ := base64.RawURLEncoding.DecodeString(strings.Split(raw, ".")[0])
	if err := json.Unmarshal(text, &h); err != nil {
		t.Fatal(err)
	}
	return h.KID
}

func TestMintAndVerify(t *testing.T) {
	f := setup(t)
	raw := f.mint(t)
	verifier := f.open(noOpener{f.sealer, t}) // another process, which only verifies
	for range 2 {                             // the second from the cache
		got, err := verifier.Verify(t.Context(), raw)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(f.access(), got); diff != "" {
			t.Error(diff)
		}
	}
	f.clock.add(time.Hour - time.Second)
	if _, err := verifier.Verify(t.Context(), raw); err != nil {
		t.Errorf("a second before it expires: %v", err)
	}
	f.clock.add(time.Second)
	if _, err := verifier.Verify(t.Context(), raw); !errors.Is(err, signing.ErrToken) {
		t.Errorf("expired, from the cache: %v", err)
	}
	if _, err := f.open(nil).Verify(t.Context(), raw); !errors.Is(err, signing.ErrToken) {
		t.Errorf("expired: %v", err)
	}
}

// TestVerifyRefuses checks that Verify accepts only access tokens that this
// service signed.
func TestVerifyRefuses(t *testing.T) {
	f := setup(t)
	for name, token := range forgeries(t, f) {
		t.Run(name, func(t *testing.T) {
			if a, err := f.keys.Verify(t.Context(), token); !errors.Is(err, signing.ErrToken) {
				t.Errorf("got %+v, %v", a, err)
			}
		})
	}
}

// forgeries are texts that are almost valid tokens.
func forgeries(t *testing.T, f fixture) map[string]string {
	t.Helper()
	raw := f.mint(t)
	parts, kid, b64 := strings.Split(raw, "."), kidOf(t, raw), base64.RawURLEncoding.EncodeToString
	header := func(text string) string { return b64([]byte(text)) + "." + parts[1] + "." + parts[2] }
	set, err := f.keys.KeySet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hs256 := func(key []byte) string {
		head := b64([]byte(`{"alg":"HS256","typ":"at+jwt","kid":"` + kid + `"}`))
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(head + "." + parts[1]))
		return head + "." + parts[1] + "." + b64(mac.Sum(nil))
	}
	flipped := []byte(parts[2])
	flipped[3] ^= 1
	if flipped[3] == '.' || flipped[3] == '@' {
		flipped[3] = 'x'
	}
	return map[string]string{
		"empty":                   "",
		"two parts":               parts[0] + "." + parts[1],
		"four parts":              raw + ".x",
		"alg none":                b64([]byte(`{"alg":"none","typ":"at+jwt","kid":"`+kid+`"}`)) + "." + parts[1] + ".",
		"alg none with signature": header(`{"alg":"none","typ":"at+jwt","kid":"` + kid + `"}`),
		"alg nOnE":                header(`{"alg":"nOnE","typ":"at+jwt","kid":"` + kid + `"}`),
		"HS256 with the key set":  hs256(set),
		"HS256 with nothing":      hs256(nil),
		"RS256 by an ES256 key":   header(`{"alg":"RS256","typ":"at+jwt","kid":"` + kid + `"}`),
		"no kid":                  header(`{"alg":"ES256","typ":"at+jwt"}`),
		"unknown kid":             header(`{"alg":"ES256","typ":"at+jwt","kid":"key_x"}`),
		"kid that is a path":      header(`{"alg":"ES256","typ":"at+jwt","kid":"../../dev/null"}`),
		"kid of another type":     header(`{"alg":"ES256","typ":"at+jwt","kid":1}`),
		"kid of the control item": header(`{"alg":"ES256","typ":"at+jwt","kid":"ROTATION"}`),
		"key in the header": header(`{"alg":"ES256","typ":"at+jwt","kid":"mine","jwk":{"kty":"EC"},` +
			`"jku":"https://evil.example/jwks"}`),
		"crit":                      header(`{"alg":"ES256","typ":"at+jwt","kid":"` + kid + `","crit":["exp"]}`),
		"b64 false":                 header(`{"alg":"ES256","typ":"at+jwt","kid":"` + kid + `","b64":false,"crit":["b64"]}`),
		"other header, same rest":   header(`{"alg":"ES256","typ":"at+jwt","kid":"` + kid + `","x":1}`),
		"typ JWT":                   f.idToken(t),
		"another issuer":            f.foreign(t),
		"another signature":         parts[0] + "." + parts[1] + "." + string(flipped),
		"no signature":              parts[0] + "." + parts[1] + ".",
		"another payload":           parts[0] + "." + b64([]byte(`{"iss":"https://svc.example"}`)) + "." + parts[2],
		"padding":                   raw + "=",
		"line break":                raw[:20] + "\n" + raw[20:],
		"JSON serialization":        `{"payload":"` + parts[1] + `","signatures":[]}`,
		"longer than any of ours":   raw + strings.Repeat("A", 9000),
		"DER signature of one zero": parts[0] + "." + parts[1] + "." + b64(make([]byte, 64)),
	}
}

// idToken returns an id_token with the claims of an access token.
func (f fixture) idToken(t *testing.T) string {
	t.Helper()
	id, err := f.keys.MintID(t.Context(), map[string]any{"iss": issuer, "sub": "cus_1", "aud": "rider",
		"client_id": "cli_1", "tenant_id": "ten_1", "scope": "rider.trips:read", "jti": "tok_1",
		"iat": f.clock.now().Unix(), "exp": f.clock.now().Add(time.Hour).Unix()}, signing.ES256)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// foreign returns an access token signed with our key but with a different
// issuer.
func (f fixture) foreign(t *testing.T) string {
	t.Helper()
	const issuer = "https://other.example"
	other := signing.Open(f.db, signing.Options{Issuer: issuer, Sealer: f.sealer, Now: f.clock.now})
	access := f.access()
	access.Issuer = issuer
	raw, err := other.MintAccess(t.Context(), access)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestVerifyClaims(t *testing.T) {
	f := setup(t)
	for name, change := range map[string]func(*signing.Access){
		"no subject":  func(a *signing.Access) { a.Subject = "" },
		"no tenant":   func(a *signing.Access) { a.TenantID = "" },
		"no audience": func(a *signing.Access) { a.Audience = "" },
		"no client":   func(a *signing.Access) { a.ClientID = "" },
		"no jti":      func(a *signing.Access) { a.ID = "" },
	} {
		t.Run(name, func(t *testing.T) {
			a := f.access()
			change(&a)
			raw, err := f.keys.MintAccess(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.keys.Verify(t.Context(), raw); !errors.Is(err, signing.ErrToken) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestKeySet(t *testing.T) {
	f := setup(t)
	raw, err := f.keys.KeySet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var set struct{ Keys []map[string]string }
	if err := json.Unmarshal(raw, &set); err != nil {
		t.Fatal(err)
	}
	algs := map[string]bool{}
	for _, key := range set.Keys {
		algs[key["alg"]] = true
		if key["kid"] == "" || key["use"] != "sig" {
			t.Errorf("a key lacks kid or use: %v", key)
		}
		for _, private := range []string{"d", "p", "q", "dp", "dq", "qi", "k"} {
			if _, has := key[private]; has {
				t.Errorf("the key set shows %q", private)
			}
		}
	}
	if diff := cmp.Diff(map[string]bool{"ES256": true, "RS256": true}, algs); diff != "" {
		t.Error(diff)
	}
}

func TestVerifyID(t *testing.T) {
	f := setup(t)
	for _, alg := range signing.Algorithms {
		raw, err := f.keys.MintID(t.Context(), map[string]any{"iss": issuer, "sub": "cus_1",
			"exp": f.clock.now().Unix() - 10}, alg)
		if err != nil {
			t.Fatal(err)
		}
		claims, err := f.keys.VerifyID(t.Context(), raw)
		if err != nil || claims["sub"] != "cus_1" {
			t.Errorf("%s: %v, %v", alg, claims, err)
		}
		if _, err := f.keys.Verify(t.Context(), raw); !errors.Is(err, signing.ErrToken) {
			t.Errorf("an id_token passes for an access token: %v", err)
		}
	}
	if _, err := f.keys.VerifyID(t.Context(), f.mint(t)); !errors.Is(err, signing.ErrToken) {
		t.Errorf("an access token passes for an id_token: %v", err)
	}
}

// A token from the cache costs one allocation: its bytes, to hash them.
func TestCacheAllocations(t *testing.T) {
	f := setup(t)
	raw := f.mint(t)
	ctx := context.Background()
	if _, err := f.keys.Verify(ctx, raw); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(10, func() { _, _ = f.keys.Verify(ctx, raw) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzVerify(f *testing.F) {
	f.Add("a.b.c")
	f.Add("eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCIsImtpZCI6IngifQ.e30.AAAA")
	fix := fixture{db: testkit.Table(f), clock: newClock(), sealer: signing.NewSealer()}
	keys := fix.open(fix.sealer)
	if err := keys.Rotate(context.Background()); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if a, err := keys.Verify(context.Background(), raw); !errors.Is(err, signing.ErrToken) {
			t.Errorf("%q gives %+v, %v", raw, a, err)
		}
	})
}

// outage is a Sealer whose key service is down.
type outage struct{ signing.Sealer }

func (outage) Open(context.Context, string, []byte) ([]byte, error) {
	return nil, errors.New("timeout")
}

// TestSealerUnavailable checks that nothing is signed while the key service is
// down, and that the fault asks the client to retry.
func TestSealerUnavailable(t *testing.T) {
	f := setup(t)
	keys := signing.Open(f.db, signing.Options{Issuer: issuer, Sealer: outage{f.sealer}, Now: f.clock.now})
	var down *fault.Error
	if _, err := keys.MintAccess(t.Context(), f.access()); !errors.As(err, &down) ||
		down.Kind != fault.KindUnavailable || down.RetryAfter <= 0 {
		t.Errorf("got %v", err)
	}
}
