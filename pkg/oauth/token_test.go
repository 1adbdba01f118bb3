package oauth_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/oauth"
	"svc/pkg/oauth/tokens"
)

func TestCodeExchange(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		audience authz.Audience
		scope    string
		granted  string
	}{
		{authz.Rider, "rider.trips:read rider.trips:create", "rider.trips:read rider.trips:create"},
		{authz.Driver, "driver.trips:accept", "driver.trips:accept"},
		{authz.Dashboard, "tenant.trips:read tenant.wallets:read", "tenant.trips:read"}, // no VIEW_WALLETS
	} {
		t.Run(string(tc.audience), func(t *testing.T) {
			f := newFixture(t)
			a := f.register(nil)
			permissions := []string{"VIEW_TRIPS", "VIEW_DRIVERS"}
			member := f.actorKey(authz.Dashboard)
			f.set(member, map[string]any{"permissions": append(permissions, "VIEW_WALLETS")})
			code := f.code(a, tc.audience, tc.scope)
			f.set(member, map[string]any{"permissions": permissions}) // lost before the code is redeemed
			r := f.redeem(a, code)
			if r.text("token_type") != "Bearer" || r.body["expires_in"] != 3600.0 || r.text("scope") != tc.granted ||
				r.text("refresh_token") == "" {
				t.Errorf("RFC 6749 5.1: %s", r.raw)
			}
			if r.header.Get("Cache-Control") != "no-store" || r.header.Get("Pragma") != "no-cache" {
				t.Errorf("RFC 6749 5.1: %v", r.header)
			}
			if _, has := r.body["id_token"]; has {
				t.Error("an id_token without openid")
			}
			access, err := f.keys.Verify(t.Context(), r.text("access_token"))
			if err != nil {
				t.Fatal(err)
			}
			if access.Issuer != baseURL || access.Subject != f.actors[tc.audience] || access.Audience != string(tc.audience) ||
				access.TenantID != f.tenant.ID() ||
				strings.Join(access.Scopes, " ") != tc.granted || !ids.Valid(ids.Token, access.ID) ||
				access.Expires.Sub(access.IssuedAt) != time.Hour {
				t.Errorf("claims: %+v", access)
			}
			if !f.alive(r.text("access_token")) {
				t.Error("the token does not pass the checks")
			}
		})
	}
}

// expires_in of a new token is an hour, even if creating it took long
// (specification, "Token").
func TestExpiresIn(t *testing.T) {
	t.Parallel()
	var looks atomic.Int64
	f := newFixture(t, func(c *oauth.Config) {
		now := c.Now
		c.Now = func() time.Time { return now().Add(time.Duration(looks.Add(1)) * 700 * time.Millisecond) }
	})
	a := f.register(nil)
	r := f.tokens(a, authz.Rider, "rider.trips:read")
	for _, answer := range []reply{r, f.refresh(a, r.text("refresh_token"))} {
		if answer.body["expires_in"] != 3600.0 {
			t.Errorf("%s", answer.raw)
		}
	}
}

func TestIDToken(t *testing.T) {
	t.Parallel()
	for _, alg := range []string{"RS256", "ES256"} {
		t.Run(alg, func(t *testing.T) {
			f := newFixture(t)
			a := f.register(map[string]any{"id_token_signed_response_alg": alg})
			f.code(a, authz.Rider, "rider.trips:read") // signs her in
			f.advance(time.Minute)
			r := f.redeem(a, f.code(a, authz.Rider, "openid rider.trips:read", "nonce", "n-0S6"))
			claims, err := f.keys.VerifyID(t.Context(), r.text("id_token"))
			if err != nil {
				t.Fatal(err)
			}
			half := sha256.Sum256([]byte(r.text("access_token")))
			now := f.now()
			want := map[string]any{"iss": baseURL, "sub": f.actors[authz.Rider], "aud": a.id, "nonce": "n-0S6",
				"tenant_id": f.tenant.ID(),
				"auth_time": float64(now.Add(-time.Minute).Unix()), "iat": float64(now.Unix()),
				"exp":     float64(now.Add(time.Hour).Unix()),
				"at_hash": base64.RawURLEncoding.EncodeToString(half[:16])}
			if diff := cmp.Diff(want, claims); diff != "" {
				t.Error(diff)
			}
			var h struct{ Alg, Typ, Kid string }
			text, _ := base64.RawURLEncoding.DecodeString(strings.Split(r.text("id_token"), ".")[0])
			if err := json.Unmarshal(text, &h); err != nil || h.Alg != alg || h.Kid == "" {
				t.Errorf("header %s, %v", text, err)
			}
			f.advance(time.Minute)
			again := f.refresh(a, r.text("refresh_token"))
			claims, err = f.keys.VerifyID(t.Context(), again.text("id_token"))
			if err != nil || claims["auth_time"] != want["auth_time"] || claims["sub"] != want["sub"] {
				t.Errorf("OpenID Connect Core 12.2: %v, %v", claims, err)
			}
			if _, has := claims["nonce"]; has {
				t.Error("OpenID Connect Core 12.2: the refreshed id_token has a nonce")
			}
		})
	}
}

// codeFault is a change to a valid token request with a code, and the expected
// response.
type codeFault struct {
	change func(url.Values)
	status int
	want   string
}

// codeFaults returns faults of a valid request with the code. other is another
// public client; secret is a client with a secret.
func codeFaults(code string, other, secret registration, now time.Time) map[string]codeFault {
	return map[string]codeFault{
		"no grant_type":        {func(v url.Values) { v.Del("grant_type") }, 400, "invalid_request"},
		"unknown grant_type":   {func(v url.Values) { v.Set("grant_type", "password") }, 400, "unsupported_grant_type"},
		"repeated parameter":   {func(v url.Values) { v.Add("code", code) }, 400, "invalid_request"},
		"no code":              {func(v url.Values) { v.Del("code") }, 400, "invalid_request"},
		"empty code is absent": {func(v url.Values) { v.Set("code", "") }, 400, "invalid_request"},
		"unknown code":         {func(v url.Values) { v.Set("code", ids.Secret()) }, 400, "invalid_grant"},
		"no verifier":          {func(v url.Values) { v.Del("code_verifier") }, 400, "invalid_request"},
		"wrong verifier": {func(v url.Values) { v.Set("code_verifier", strings.Repeat("a", 43)) }, 400,
			"invalid_grant"},
		"verifier is challenge": {func(v url.Values) { v.Set("code_verifier", challengeOf(verifier)) }, 400,
			"invalid_grant"},
		"short verifier":       {func(v url.Values) { v.Set("code_verifier", "a") }, 400, "invalid_grant"},
		"no redirect_uri":      {func(v url.Values) { v.Del("redirect_uri") }, 400, "invalid_grant"},
		"another redirect_uri": {func(v url.Values) { v.Set("redirect_uri", callback+"/") }, 400, "invalid_grant"},
		"no client_id":         {func(v url.Values) { v.Del("client_id") }, 400, "invalid_request"},
		"another client":       {func(v url.Values) { v.Set("client_id", other.id) }, 400, "invalid_grant"},
		"unknown client": {func(v url.Values) { v.Set("client_id", ids.New(ids.Client, now)) }, 401,
			"invalid_client"},
		"client_id of no form": {func(v url.Values) { v.Set("client_id", strings.Repeat("x#", 3000)) }, 401,
			"invalid_client"},
		"public client, a secret":  {func(v url.Values) { v.Set("client_secret", "x") }, 401, "invalid_client"},
		"secret client, no secret": {func(v url.Values) { v.Set("client_id", secret.id) }, 401, "invalid_client"},
		"client assertion":         {func(v url.Values) { v.Set("client_assertion", "x") }, 400, "invalid_request"},
		"another resource": {func(v url.Values) { v.Set("resource", "https://other.example") }, 400,
			"invalid_target"},
		"one resource of two bad": {func(v url.Values) {
			v["resource"] = []string{baseURL + "/api/v1",
				"https://other.example"}
		}, 400, "invalid_target"},
	}
}

// wireFaults sends the valid request, or an empty one, in ways that the token
// endpoint does not accept.
func wireFaults(f *fixture, good url.Values) {
	f.t.Helper()
	json := httptest.NewRequest(http.MethodPost, "/oauth/token", strings.NewReader(`{}`))
	json.Header.Set("Content-Type", "application/json")
	f.expect(f.do(json), 400, "invalid_request")
	query := httptest.NewRequest(http.MethodPost, "/oauth/token?"+good.Encode(), strings.NewReader(""))
	query.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	f.expect(f.do(query), 400, "invalid_request") // RFC 6749 2.3.1: never in the query
	malformed := httptest.NewRequest(http.MethodPost, "/oauth/token", strings.NewReader("grant_type=%zz"))
	malformed.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	f.expect(f.do(malformed), 400, "invalid_request")
	get := f.do(httptest.NewRequest(http.MethodGet, "/oauth/token", nil))
	if get.status != http.StatusMethodNotAllowed || get.header.Get("Allow") != "POST" {
		f.t.Errorf("GET: %d %v", get.status, get.header)
	}
}

// An invalid request changes nothing: the code is still valid afterwards.
func TestCodeFaults(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, other := f.register(nil), f.register(nil)
	secret := f.register(map[string]any{"token_endpoint_auth_method": "client_secret_post"})
	code := f.code(a, authz.Rider, "rider.trips:read")
	good := func() url.Values {
		return formOf("grant_type", "authorization_code", "client_id", a.id, "code", code, "redirect_uri", callback,
			"code_verifier", verifier)
	}
	for name, tc := range codeFaults(code, other, secret, f.now()) {
		t.Run(name, func(*testing.T) {
			form := good()
			tc.change(form)
			f.expect(f.do(formRequest("/oauth/token", form)), tc.status, tc.want)
		})
	}
	wireFaults(f, good())
	form := good()
	form.Set("resource", baseURL+"/api/v1")
	form.Set("unknown", "ignored")
	if r := f.do(formRequest("/oauth/token", form)); r.status != http.StatusOK {
		t.Errorf("the code was burnt: %d %s", r.status, r.raw)
	}
}

func TestClientAuthentication(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	basic := f.register(map[string]any{"token_endpoint_auth_method": "client_secret_basic"})
	post := f.register(map[string]any{"token_endpoint_auth_method": "client_secret_post"})
	encoded := strings.NewReplacer("_", "%5F", "a", "%61") // form-encoded more than needed: RFC 6749 2.3.1
	header := func(id, secret string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret))
	}
	for name, tc := range map[string]struct {
		registration registration
		header       string
		form         []string
		status       int
		want         string
	}{
		"basic":                   {basic, header(basic.id, basic.secret), nil, 200, ""},
		"basic, form-encoded":     {basic, header(encoded.Replace(basic.id), encoded.Replace(basic.secret)), nil, 200, ""},
		"basic and its client_id": {basic, header(basic.id, basic.secret), []string{"client_id", basic.id}, 200, ""},
		"basic and another id": {basic, header(basic.id, basic.secret), []string{"client_id", post.id}, 400,
			"invalid_request"},
		"basic, wrong secret": {basic, header(basic.id, "x"), nil, 401, "invalid_client"},
		"basic, no secret":    {basic, header(basic.id, ""), nil, 401, "invalid_client"},
		"basic, not base64":   {basic, "Basic ~", nil, 401, "invalid_client"},
		"basic, no colon": {basic, "Basic " + base64.StdEncoding.EncodeToString([]byte(basic.id)), nil, 401,
			"invalid_client"},
		"bearer": {basic, "Bearer x", nil, 401, "invalid_client"},
		"two methods": {basic, header(basic.id, basic.secret), []string{"client_secret", basic.secret}, 400,
			"invalid_request"},
		"post by a basic client": {basic, "", []string{"client_id", basic.id, "client_secret", basic.secret}, 401,
			"invalid_client"},
		"none by a basic client": {basic, "", []string{"client_id", basic.id}, 401, "invalid_client"},
		"post":                   {post, "", []string{"client_id", post.id, "client_secret", post.secret}, 200, ""},
		"post, wrong secret": {post, "", []string{"client_id", post.id, "client_secret", basic.secret}, 401,
			"invalid_client"},
		"post, the secret's hash": {post, "", []string{"client_id", post.id, "client_secret", ids.Hash(post.secret)}, 401,
			"invalid_client"},
		"basic by a post client":    {post, header(post.id, post.secret), nil, 401, "invalid_client"},
		"empty client_secret, none": {post, "", []string{"client_id", post.id, "client_secret", ""}, 401, "invalid_client"},
	} {
		t.Run(name, func(t *testing.T) {
			form := formOf(append([]string{"grant_type", "authorization_code", "code",
				f.code(tc.registration, authz.Rider, "rider.trips:read"),
				"redirect_uri", callback, "code_verifier", verifier}, tc.form...)...)
			r := formRequest("/oauth/token", form)
			if tc.header != "" {
				r.Header.Set("Authorization", tc.header)
			}
			got := f.do(r)
			f.expect(got, tc.status, tc.want)
			if challenged := got.header.Get("WWW-Authenticate") != ""; challenged != (tc.status == 401 && tc.header != "") {
				t.Errorf("RFC 6749 5.2: WWW-Authenticate %q", got.header.Get("WWW-Authenticate"))
			}
		})
	}
}

func TestCodeExpires(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.register(nil)
	for after, status := range map[time.Duration]int{tokens.CodeLife - time.Second: 200, tokens.CodeLife: 400} {
		code := f.code(a, authz.Rider, "rider.trips:read")
		f.advance(after)
		if r := f.redeem(a, code); r.status != status {
			t.Errorf("after %v: %d %s", after, r.status, r.raw)
		}
	}
}

func TestCodeReplay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, other := f.register(nil), f.register(nil)
	second := f.tokens(a, authz.Rider, "rider.trips:read") // another sign-in, which a replay does not affect
	code := f.code(a, authz.Rider, "rider.trips:read")
	first := f.redeem(a, code)
	next := f.refresh(a, first.text("refresh_token"))
	f.expect(f.redeem(other, code), 400, "invalid_grant")
	f.expect(f.postForm("/oauth/token", "grant_type", "authorization_code", "client_id", a.id, "code", code,
		"redirect_uri", callback,
		"code_verifier", strings.Repeat("b", 43)), 400, "invalid_grant")
	if !f.alive(first.text("access_token")) || !f.alive(next.text("access_token")) {
		t.Fatal("a replay by another client or without the verifier revoked the tokens")
	}
	f.advance(30 * 24 * time.Hour)                      // code records outlive the tokens they gave
	next = f.refresh(a, next.text("refresh_token"))     // alive a month later
	second = f.refresh(a, second.text("refresh_token")) // as is the other
	f.expect(f.redeem(a, code), 400, "invalid_grant")   // RFC 6749 4.1.2
	f.expect(f.redeem(a, code), 400, "invalid_grant")   // and again
	f.expect(f.refresh(a, next.text("refresh_token")), 400, "invalid_grant")
	if f.alive(next.text("access_token")) {
		t.Error("what the code gave lives on")
	}
	if r := f.refresh(a, second.text("refresh_token")); r.status != 200 || !f.alive(second.text("access_token")) {
		t.Errorf("another sign-in was revoked: %d %s", r.status, r.raw)
	}
}

func TestCodeOfWhomMayNot(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(f *fixture, a registration)
		status int
		want   string
	}{
		"disabled actor": {func(f *fixture,
			_ registration) {
			f.set(f.actorKey(authz.Rider), map[string]any{"disabled": true})
		}, 400, "invalid_grant"},
		"disabled tenant": {func(f *fixture, _ registration) { f.setFlag("disabled", true) }, 400, "invalid_grant"},
		"disabled client": {func(f *fixture, a registration) { _ = f.server.DisableClient(f.t.Context(), a.id, true) },
			401, "invalid_client"},
		"feature switched off": {func(f *fixture, _ registration) { f.setFlag("taxiEnabled", false) }, 400, "invalid_scope"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			a := f.register(nil)
			code := f.code(a, authz.Rider, "rider.trips:create")
			tc.change(f, a)
			f.expect(f.redeem(a, code), tc.status, tc.want)
		})
	}
}

func TestTokenThrottle(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(c *oauth.Config) { c.Limits.TokenFailures, c.Limits.Registrations = 3, 5 })
	a := f.register(nil)
	f.tokens(a, authz.Rider, "rider.trips:read")
	f.comeFrom("")
	for range 5 { // no address, no throttle
		f.expect(f.refresh(a, "x"), 400, "invalid_grant")
	}
	f = newFixture(t, func(c *oauth.Config) {
		c.Limits.TokenFailures, c.Limits.Registrations = 3, 2
	})
	a = f.register(nil)
	tokens := f.tokens(a, authz.Rider, "rider.trips:read")
	for range 3 {
		f.expect(f.refresh(a, "x"), 400, "invalid_grant")
	}
	r := f.refresh(a, "x")
	f.expect(r, 429, "rate_limited")
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	// Others behind the address failed; good grants of a public client work all the same.
	if r = f.redeem(a, f.code(a, authz.Rider, "rider.trips:read")); r.status != 200 {
		t.Errorf("a good code beside others' failures: %d %s", r.status, r.raw)
	}
	if r = f.refresh(a, tokens.text("refresh_token")); r.status != 200 {
		t.Errorf("a good refresh beside others' failures: %d %s", r.status, r.raw)
	}
	if r = f.postForm("/oauth/revoke", "client_id", a.id, "token", r.text("refresh_token")); r.status != 200 {
		t.Errorf("a revocation beside others' failures: %d %s", r.status, r.raw)
	}
	f.advance(time.Minute)
	f.expect(f.refresh(a, "x"), 400, "invalid_grant")
	f.register(nil)
	f.expect(f.sendJSON(http.MethodPost, "/oauth/register", "", map[string]any{"redirect_uris": []string{callback},
		"audiences": []string{"rider"}}), 429, "rate_limited")
	f.comeFrom("198.51.100.2")
	f.register(nil) // from another address
}
