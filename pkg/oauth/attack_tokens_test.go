package oauth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/apptest"
)

var attacksOnCodes = []rule{
	{"4.5 code injection: another request's code does not fit one's verifier, and stays its owner's",
		func(t *testing.T, s *service) {
			other := strings.Repeat("v", 50)
			stolen := s.code(t, s.public, "code_challenge", challengeOf(other), "nonce", "theirs")
			for _, a := range []registration{s.public, s.basic, s.post} {
				refused(t, s.redeem(t, a, stolen), 400, "invalid_grant")
			}
			got := apptest.JSON[granted](t, s.redeem(t, s.public, stolen, "code_verifier", other).Must(t, 200))
			if _, c := claims(t, got.ID); c["nonce"] != "theirs" {
				t.Errorf("nonce %v", c["nonce"])
			}
		}},
	{"4.8 PKCE downgrade: a challenge that was removed", func(t *testing.T, s *service) {
		for _, a := range []registration{s.public, s.basic, s.post} {
			for _, changes := range [][]string{{"code_challenge", ""}, {"code_challenge", "", "code_challenge_method", ""},
				{"code_challenge_method", ""}, {"code_challenge_method", "plain"},
				{"code_challenge", verifier, "code_challenge_method", "plain"}} {
				if got := s.answer(t, a, changes...).page(); got != "invalid_request" {
					t.Errorf("%v: %s", changes, got)
				}
			}
		}
	}},
	{"4.8 PKCE downgrade: a wrong verifier, then none, then an empty one", func(t *testing.T, s *service) {
		code := s.code(t, s.public)
		refused(t, s.redeem(t, s.public, code, "code_verifier", strings.Repeat("w", 43)), 400, "invalid_grant")
		refused(t, s.redeem(t, s.public, code, "code_verifier", ""), 400, "invalid_request")
		refused(t, s.form(t, s.public, "/oauth/token", "grant_type", "authorization_code", "code", code, "redirect_uri",
			callback, "code_verifier", ""), 400, "invalid_request")
		refused(t, s.redeem(t, s.public, code, "code_verifier", challengeOf(verifier), "code_challenge_method", "plain"), 400,
			"invalid_grant")
		s.redeem(t, s.public, code).Must(t, 200)
	}},
	{"4.2.4 a code replayed by somebody without the verifier hurts nobody", func(t *testing.T, s *service) {
		code := s.code(t, s.public)
		got := apptest.JSON[granted](t, s.redeem(t, s.public, code).Must(t, 200))
		refused(t, s.redeem(t, s.public, code, "code_verifier", strings.Repeat("w", 43)), 400, "invalid_grant")
		refused(t, s.redeem(t, s.post, code), 400, "invalid_grant")
		if !s.lives(t, got.Access) {
			t.Error("the tokens died")
		}
	}},
	{"a code is nothing but a code", func(t *testing.T, s *service) {
		code := s.code(t, s.public)
		if s.lives(t, code) {
			t.Error("it is an access token")
		}
		refused(t, s.refresh(t, s.public, code), 400, "invalid_grant")
		body := apptest.JSON[map[string]any](t, s.form(t, s.post, "/oauth/introspect", "token", code).Must(t, 200))
		if body["active"] != false {
			t.Errorf("%v", body)
		}
	}},
}

var attacksOnTokens = []rule{
	{"4.10 audience replay: a token of one audience is none of another", func(t *testing.T, s *service) {
		rider, driver, operator := s.Token(t, s.rider), s.Token(t, s.Driver(t, "metro", "dan")),
			s.Token(t, s.Operator(t, "metro", "olga"))
		for _, tc := range []struct{ token, path string }{{rider, "/api/v1/trips"}, {driver, "/api/v1/trips"},
			{driver, "/api/v1/me/addresses"}, {operator, "/api/v1/me/wallet"}, {rider, "/api/v1/feedback"}} {
			refused(t, s.Get(t, tc.token, tc.path), 403, "insufficient_scope")
		}
	}},
	{"4.10 tenant replay: a token shows its own tenant's data, whatever the request says", func(t *testing.T, s *service) {
		metro, harbor := s.Token(t, s.Operator(t, "metro", "olga")), s.Token(t, s.Operator(t, "harbor", "hugo"))
		made := apptest.JSON[map[string]any](t,
			s.Post(t, s.Token(t, s.rider), "/api/v1/me/trips", `{"originAddress":"A","originLat":1,"originLng":1}`).Must(t, 201))
		id, _ := made["id"].(string)
		s.Get(t, metro, "/api/v1/trips/"+id).Must(t, 200)
		s.Get(t, harbor, "/api/v1/trips/"+id).Must(t, 404)
		for _, header := range []string{"X-Tenant-Id", "X-Tenant", "Tenant", "Host"} {
			a := s.Do(t, apptest.Request{Method: http.MethodGet, Path: "/api/v1/trips/" + id, Token: harbor,
				Header: map[string]string{header: s.Metro.ID}})
			a.Must(t, 404)
		}
		if a := s.Get(t, harbor, "/api/v1/trips?tenant_id="+s.Metro.ID); a.Status == 200 {
			t.Errorf("%s", a.Body)
		}
	}},
	{"4.10 tenant replay: a refresh token with another tenant's address", func(t *testing.T, s *service) {
		got := s.signIn(t, s.public)
		first, rest, _ := strings.Cut(got.Refresh, ".")
		raw, err := base64.RawURLEncoding.DecodeString(first)
		if err != nil || !strings.Contains(string(raw), s.Metro.ID) {
			t.Fatalf("%q %v", raw, err)
		}
		for _, change := range [][2]string{{s.Metro.ID, s.Harbor.ID}, {".rider.", ".driver."}, {".rider.", ".dashboard."},
			{s.Metro.ID, "#" + s.Metro.ID[1:]}} {
			forged := base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(raw), change[0], change[1], 1))) + "." +
				rest
			refused(t, s.refresh(t, s.public, forged), 400, "invalid_grant")
		}
		s.refresh(t, s.public, got.Refresh).Must(t, 200)
	}},
	{"4.15 client posing as a user: a client's name for itself is never a subject", func(t *testing.T, s *service) {
		a := apptest.JSON[map[string]any](t, s.register(t, "client_id", s.rider.ID, "client_secret", "x",
			"registration_access_token", "y").Must(t, 201))
		if a["client_id"] == s.rider.ID || a["client_secret"] == "x" {
			t.Errorf("%v", a)
		}
		refused(t, s.form(t, s.basic, "/oauth/token", "grant_type", "client_credentials", "scope", "rider.trips:read"), 400,
			"unsupported_grant_type")
		_, c := claims(t, s.signIn(t, s.basic).Access)
		if c["sub"] == c["client_id"] || c["sub"] != s.rider.ID {
			t.Errorf("%v", c)
		}
	}},
	{"4.14 refresh replay: every generation, and with it every token of client and person",
		func(t *testing.T, s *service) {
			for old := range 3 {
				first, elsewhere, other := s.signIn(t, s.public), s.signIn(t, s.public), s.signIn(t, s.post)
				chain := []granted{first}
				for range 3 {
					chain = append(chain, apptest.JSON[granted](t, s.refresh(t, s.public, chain[len(chain)-1].Refresh).Must(t, 200)))
				}
				refused(t, s.refresh(t, s.post, chain[old].Refresh), 400, "invalid_grant") // from another client: nothing happens
				if !s.lives(t, chain[3].Access) {
					t.Fatalf("generation %d from another client ended the chain", old)
				}
				refused(t, s.refresh(t, s.public, chain[old].Refresh), 400, "invalid_grant")
				for i, dead := range append(chain, elsewhere) {
					if s.lives(t, dead.Access) {
						t.Errorf("generation %d again: access token %d lives", old, i)
					}
					refused(t, s.refresh(t, s.public, dead.Refresh), 400, "invalid_grant")
				}
				if !s.lives(t, other.Access) {
					t.Error("another client's token died")
				}
			}
		}},
	{"4.14 refresh replay: a burst of fifty gives one chain, which is dead", func(t *testing.T, s *service) {
		got := s.signIn(t, s.public)
		var all sync.WaitGroup
		var mu sync.Mutex
		var won []granted
		for range 50 {
			all.Go(func() {
				if a := s.refresh(t, s.public, got.Refresh); a.Status == 200 {
					mu.Lock()
					defer mu.Unlock()
					won = append(won, apptest.JSON[granted](t, a))
				}
			})
		}
		all.Wait()
		if len(won) != 1 {
			t.Fatalf("%d won", len(won))
		}
		if s.lives(t, won[0].Access) || s.lives(t, got.Access) {
			t.Error("a token lives")
		}
		refused(t, s.refresh(t, s.public, won[0].Refresh), 400, "invalid_grant")
	}},
	{"an id_token is no access token, and an access token no id_token_hint", func(t *testing.T, s *service) {
		got := s.signIn(t, s.public)
		if s.lives(t, got.ID) || s.userinfo(t, got.ID).Status != 401 {
			t.Error("an id_token is accepted")
		}
		if a := newServiceBrowser(t, s.Service).get("/oauth/logout?id_token_hint=" + got.Access); a.status != 400 {
			t.Errorf("an access token as hint: %d", a.status)
		}
		s.form(t, s.public, "/oauth/revoke", "token", got.ID).Must(t, 200)
		if !s.lives(t, got.Access) {
			t.Error("revoking an id_token ended the access token")
		}
	}},
	{"after an access token is revoked nothing of its sign-in is left", func(t *testing.T, s *service) {
		first := s.signIn(t, s.public)
		second := apptest.JSON[granted](t, s.refresh(t, s.public, first.Refresh).Must(t, 200))
		elsewhere := s.signIn(t, s.public)
		s.form(t, s.public, "/oauth/revoke", "token", first.Access).Must(t, 200)
		refused(t, s.refresh(t, s.public, second.Refresh), 400, "invalid_grant")
		if s.lives(t, first.Access) || s.lives(t, second.Access) || s.userinfo(t, second.Access).Status != 401 {
			t.Error("an access token lives")
		}
		_ = elsewhere
	}},
	{"4.14 what is disconnected does not come back by a code that was not redeemed yet", func(t *testing.T, s *service) {
		a := s.client(t, "token_endpoint_auth_method", "none")
		s.signIn(t, a)
		code := s.code(t, a)
		b := s.browser
		_, csrf := b.get("/oauth/apps").form(t)
		if got := b.do(http.MethodPost, "/oauth/apps",
			formOf("csrf", csrf, "client", a.id, "of", s.Metro.ID)); got.status != http.StatusSeeOther {
			t.Fatalf("%d", got.status)
		}
		refused(t, s.redeem(t, a, code), 400, "invalid_grant")
		s.signIn(t, a) // after a new consent, sign-in works again
	}},
}

// forge signs header and claims by HMAC with the key, or leaves them unsigned.
func forge(header, body map[string]any, key []byte) string {
	text := func(v any) string {
		raw, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	input := text(header) + "." + text(body)
	if key == nil {
		return input + "."
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(input))
	return input + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// publicKeys returns encodings of the published EC key that a verifier could
// mistake for a shared secret.
func (s *service) publicKeys(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{"empty": {}, "a word": []byte("secret")}
	for _, one := range s.document(t, "/.well-known/jwks.json")["keys"].([]any) {
		key := one.(map[string]any)
		raw, _ := json.Marshal(key)
		out[fmt.Sprint("JWK ", key["kid"])] = raw
		if key["kty"] != "EC" {
			continue
		}
		number := func(name string) []byte {
			b, _ := base64.RawURLEncoding.DecodeString(key[name].(string))
			return b
		}
		public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, number("x")...),
			number("y")...))
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKIXPublicKey(public)
		if err != nil {
			t.Fatal(err)
		}
		out[fmt.Sprint("DER ", key["kid"])] = der
		out[fmt.Sprint("PEM ", key["kid"])] = pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
		out[fmt.Sprint("x ", key["kid"])] = number("x")
	}
	return out
}

// nowhere fails the test if any endpoint accepts the token.
func (s *service) nowhere(t *testing.T, name, token string) {
	t.Helper()
	if a := s.Get(t, token, "/api/v1/me/trips"); a.Status != 401 {
		t.Errorf("%s: the API returns %d", name, a.Status)
	}
	if a := s.userinfo(t, token); a.Status != 401 {
		t.Errorf("%s: userinfo returns %d", name, a.Status)
	}
	if a := s.form(t, s.post, "/oauth/introspect", "token", token); a.Status != 200 ||
		strings.TrimSpace(string(a.Body)) != `{"active":false}` {
		t.Errorf("%s: introspection returns %d %s", name, a.Status, a.Body)
	}
}

var attacksOnSignatures = []rule{
	{"alg none, in every spelling", func(t *testing.T, s *service) {
		header, body := claims(t, s.signIn(t, s.post).Access)
		for _, alg := range []string{"none", "None", "NONE", "nOnE", "", "null"} {
			h := maps.Clone(header)
			h["alg"] = alg
			s.nowhere(t, "alg "+alg, forge(h, body, nil))
		}
		delete(header, "alg")
		s.nowhere(t, "no alg", forge(header, body, nil))
	}},
	{"HS256 with the public key as its secret", func(t *testing.T, s *service) {
		got := s.signIn(t, s.post)
		header, body := claims(t, got.Access)
		for name, key := range s.publicKeys(t) {
			for _, alg := range []string{"HS256", "HS384", "ES256"} {
				h := maps.Clone(header)
				h["alg"] = alg
				s.nowhere(t, alg+" by "+name, forge(h, body, key))
			}
		}
		idHeader, idBody := claims(t, got.ID)
		idHeader["alg"] = "HS256"
		for name, key := range s.publicKeys(t) {
			if a := newServiceBrowser(t, s.Service).get("/oauth/logout?id_token_hint=" +
				forge(idHeader, idBody, key)); a.status != 400 {
				t.Errorf("id_token_hint by %s: %d", name, a.status)
			}
		}
	}},
	{"kid tricks: nothing that a header brings or points to is a key", func(t *testing.T, s *service) {
		header, body := claims(t, s.signIn(t, s.post).Access)
		mine, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		sign := func(h map[string]any) string {
			unsigned := strings.TrimSuffix(forge(h, body, nil), ".")
			sum := sha256.Sum256([]byte(unsigned))
			r, v, err := ecdsa.Sign(rand.Reader, mine, sum[:])
			if err != nil {
				t.Fatal(err)
			}
			return unsigned + "." + base64.RawURLEncoding.EncodeToString(append(r.FillBytes(make([]byte, 32)),
				v.FillBytes(make([]byte, 32))...))
		}
		point, err := mine.PublicKey.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		jwk := map[string]any{"kty": "EC", "crv": "P-256", "x": base64.RawURLEncoding.EncodeToString(point[1:33]),
			"y": base64.RawURLEncoding.EncodeToString(point[33:]), "kid": "mine", "alg": "ES256", "use": "sig"}
		for name, change := range map[string]map[string]any{
			"my own signature": {}, "jwk": {"jwk": jwk}, "jwk and its kid": {"jwk": jwk, "kid": "mine"},
			"jku": {"jku": "https://evil.example/jwks.json", "kid": "mine"},
			"x5u": {"x5u": "https://evil.example/cert.pem"}, "x5c": {"x5c": []string{"MIIB"}}, "no kid": {"kid": nil},
			"empty kid": {"kid": ""}, "path": {"kid": "../../../../dev/null"},
			"key of another kind": {"kid": "T#" + s.Metro.ID + "#TOKEN"}, "query": {"kid": "' OR '1'='1"},
			"line": {"kid": "a\r\nb"}, "list": {"kid": []string{"a"}}, "long": {"kid": strings.Repeat("k", 4000)},
			"crit": {"crit": []string{"exp"}}, "b64": {"b64": false, "crit": []string{"b64"}}, "zip": {"zip": "DEF"},
			"cty": {"cty": "JWT"},
		} {
			h := maps.Clone(header)
			for member, value := range change {
				if h[member] = value; value == nil {
					delete(h, member)
				}
			}
			s.nowhere(t, name, sign(h))
		}
		zero := strings.TrimSuffix(forge(header, body, nil), ".") + "." + base64.RawURLEncoding.EncodeToString(make([]byte,
			64))
		s.nowhere(t, "a signature of zeros", zero)
	}},
	{"claims that were changed, and types that are not an access token's", func(t *testing.T, s *service) {
		got := s.signIn(t, s.post)
		parts := strings.Split(got.Access, ".")
		_, body := claims(t, got.Access)
		body["tenant_id"], body["scope"] = s.Harbor.ID, "rider.trips:read rider.wallet:read"
		raw, _ := json.Marshal(body)
		changed := base64.RawURLEncoding.EncodeToString(raw)
		id := strings.Split(got.ID, ".")
		for name, token := range map[string]string{
			"other claims": parts[0] + "." + changed + "." + parts[2], "the id_token's header": id[0] + "." + parts[1] + "." +
				parts[2], "the id_token's signature": parts[0] + "." + parts[1] + "." + id[2],
			"no signature": parts[0] + "." + parts[1] + ".", "two parts": parts[0] + "." + parts[1],
			"four parts": got.Access + ".x", "padding": got.Access + "=", "a line break": parts[0] + "." + parts[1] + ".\n" +
				parts[2],
			"JSON": `{"payload":"` + parts[1] + `"}`, "five parts": parts[0] + ".." + parts[1] + ".." + parts[2],
			"id_token": got.ID,
		} {
			if !strings.Contains(token, "\n") {
				s.nowhere(t, name, token)
			}
		}
	}},
}

// Old sign-ins, sessions and tokens are rejected: no process keeps anything
// alive.
func TestAttackAfterTime(t *testing.T) {
	t.Parallel()
	s := newService(t)
	got := s.signIn(t, s.post)
	s.Clock.Advance(time.Hour)
	s.nowhere(t, "an expired token", got.Access)
	s.refresh(t, s.post, got.Refresh).Must(t, 200)
	s.Clock.Advance(12 * time.Hour)
	if got := s.browser.get("/oauth/authorize?" +
		s.authorization(s.public, "prompt", "none").Encode()).page(); got != "login_required" {
		t.Errorf("an old session: %s", got)
	}
}
