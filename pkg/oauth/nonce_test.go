package oauth_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"svc/pkg/access/authz"
	"svc/pkg/oauth"
)

// noChallenge are the changes to an authorization request that a nonce protects in place
// of PKCE.
var noChallenge = []string{"code_challenge", "", "code_challenge_method", "", "nonce", "n-1"}

// confidential registers a client for riders that has a secret.
func (f *fixture) confidential() registration {
	f.t.Helper()
	return f.register(map[string]any{"token_endpoint_auth_method": "client_secret_post", "audiences": []string{"rider"}})
}

// nonceCode returns a code for Rita without a challenge.
func (f *fixture) nonceCode(a registration, changes ...string) string {
	f.t.Helper()
	return f.code(a, authz.Rider, "openid rider.trips:read", append(noChallenge, changes...)...)
}

// redeemWithoutPKCE redeems a code with the client's secret and without a verifier;
// changes are pairs that replace parameters, and "" removes one.
func (f *fixture) redeemWithoutPKCE(a registration, code string, changes ...string) reply {
	f.t.Helper()
	form := formOf("grant_type", "authorization_code", "client_id", a.id, "client_secret", a.secret, "code", code,
		"redirect_uri", callback)
	for i := 0; i+1 < len(changes); i += 2 {
		if form.Set(changes[i], changes[i+1]); changes[i+1] == "" {
			form.Del(changes[i])
		}
	}
	return f.do(formRequest("/oauth/token", form))
}

// RFC 9700 section 2.1.1: a confidential client may do without PKCE if it asks for openid
// with a nonce. Its id_token has the nonce of the request that got the code, so a client
// notices if somebody puts another person's code in the place of its own.
func TestNonceInPlaceOfPKCE(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, method := range []string{"client_secret_post", "client_secret_basic"} {
		a := f.register(map[string]any{"token_endpoint_auth_method": method, "audiences": []string{"rider"}})
		codes := map[string]string{"n-1": f.nonceCode(a), "n-2": f.nonceCode(a, "nonce", "n-2")}
		for nonce, code := range codes {
			r := f.redeemWithoutPKCE(a, code)
			if method == "client_secret_basic" {
				in := formRequest("/oauth/token", formOf("grant_type", "authorization_code", "code", code,
					"redirect_uri", callback))
				in.SetBasicAuth(a.id, a.secret)
				r = f.do(in)
			}
			if r.status != http.StatusOK {
				t.Fatalf("%s: %d %s", method, r.status, r.raw)
			}
			if _, body := claims(t, r.text("id_token")); body["nonce"] != nonce {
				t.Errorf("%s: the nonce is %v, want %s", method, body["nonce"], nonce)
			}
		}
	}
}

// nonceConditions are what a request without PKCE needs. Each takes one away from a
// request that has all.
var nonceConditions = []struct {
	name string
	take func(member map[string]any, q url.Values)
}{
	{"confidential", func(m map[string]any, _ url.Values) { m["token_endpoint_auth_method"] = "none" }},
	{"openid is asked for", func(_ map[string]any, q url.Values) { q.Set("scope", "rider.trips:read") }},
	{"any scope is asked for", func(_ map[string]any, q url.Values) { q.Del("scope") }},
	{"openid is registered", func(m map[string]any, _ url.Values) { m["scope"] = "rider.trips:read" }},
	{"a nonce", func(_ map[string]any, q url.Values) { q.Del("nonce") }},
	{"a nonce that is not empty", func(_ map[string]any, q url.Values) { q.Set("nonce", "") }},
	{"no resource for agents", func(_ map[string]any, q url.Values) {
		q.Add("resource", baseURL+"/mcp/rider/metro")
	}},
	{"no resource for agents beside the API", func(_ map[string]any, q url.Values) {
		q["resource"] = []string{baseURL + "/api/v1", baseURL + "/mcp/rider/metro"}
	}},
	{"no method without a challenge", func(_ map[string]any, q url.Values) { q.Set("code_challenge_method", "S256") }},
}

// TestNonceNeedsEveryCondition takes one condition away, and every two. The error names
// both ways.
func TestNonceNeedsEveryCondition(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rita := f.newBrowser()
	ask := func(first, second int) response {
		member := map[string]any{"token_endpoint_auth_method": "client_secret_post", "audiences": []string{"rider"},
			"scope": "openid rider.trips:read"}
		q := authorizationOf("", callback, "openid rider.trips:read", noChallenge...)
		for _, n := range []int{first, second} {
			if n < len(nonceConditions) {
				nonceConditions[n].take(member, q)
			}
		}
		q.Set("client_id", f.register(member).id)
		return rita.finish(q, f.emails[authz.Rider])
	}
	all := len(nonceConditions)
	if got := ask(all, all); got.page() != "code" {
		t.Fatalf("with all conditions: %s", got.text())
	}
	for first := range all {
		for second := first; second < all; second++ {
			got := ask(first, second)
			said := got.answer.Get("error_description")
			if got.page() != "invalid_request" || !strings.Contains(said, "PKCE") || !strings.Contains(said, "nonce") {
				t.Errorf("without %q and %q: %s", nonceConditions[first].name, nonceConditions[second].name, got.text())
			}
		}
	}
}

// A challenge binds its code also if there is a nonce.
func TestChallengeBindsBesideANonce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.confidential()
	code := f.code(a, authz.Rider, "openid rider.trips:read", "nonce", "n-1")
	f.expect(f.redeemWithoutPKCE(a, code), http.StatusBadRequest, "invalid_request")
	f.expect(f.redeemWithoutPKCE(a, code, "code_verifier", strings.Repeat("v", 43)), 400, "invalid_grant")
	if r := f.redeemWithoutPKCE(a, code, "code_verifier", verifier); r.status != http.StatusOK {
		t.Errorf("%d %s", r.status, r.raw)
	}
	for name, changes := range map[string][]string{"plain": {"code_challenge_method", "plain"},
		"no method": {"code_challenge_method", ""}, "too short": {"code_challenge", "abc"}} {
		q := authorizationOf(a.id, callback, "openid rider.trips:read", append([]string{"nonce", "n-1"}, changes...)...)
		if got := f.browsers[authz.Rider].authorize(q); got.page() != "invalid_request" {
			t.Errorf("%s: %s", name, got.text())
		}
	}
}

// A code without a challenge is good for its client alone, which authenticates, with its
// own redirect address, once, and without a verifier (RFC 9700 section 4.8.2).
func TestRedemptionWithoutPKCE(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, other := f.confidential(), f.confidential()
	code := f.nonceCode(a)
	for name, test := range map[string]struct {
		changes []string
		status  int
		code    string
	}{
		"no secret":            {[]string{"client_secret", ""}, 401, "invalid_client"},
		"a wrong secret":       {[]string{"client_secret", "wrong"}, 401, "invalid_client"},
		"a verifier":           {[]string{"code_verifier", verifier}, 400, "invalid_grant"},
		"a short verifier":     {[]string{"code_verifier", "x"}, 400, "invalid_grant"},
		"another client":       {[]string{"client_id", other.id, "client_secret", other.secret}, 400, "invalid_grant"},
		"another address":      {[]string{"redirect_uri", callback + "/"}, 400, "invalid_grant"},
		"no address":           {[]string{"redirect_uri", ""}, 400, "invalid_grant"},
		"a resource of agents": {[]string{"resource", baseURL + "/mcp/rider/metro"}, 400, "invalid_target"},
		"another code":         {[]string{"code", code[1:] + code[:1]}, 400, "invalid_grant"},
	} {
		t.Run(name, func(*testing.T) { f.expect(f.redeemWithoutPKCE(a, code, test.changes...), test.status, test.code) })
	}
	first := f.redeemWithoutPKCE(a, code)
	if first.status != http.StatusOK || !f.alive(first.text("access_token")) {
		t.Fatalf("after requests that failed: %d %s", first.status, first.raw)
	}
	f.expect(f.redeemWithoutPKCE(a, code), http.StatusBadRequest, "invalid_grant")
	if f.alive(first.text("access_token")) {
		t.Error("the tokens of a code that was presented twice live")
	}
}

// What a client's update takes away between the code and its redemption is missing then.
func TestClientChangesBeforeTheRedemptionWithoutPKCE(t *testing.T) {
	t.Parallel()
	public := map[string]any{"token_endpoint_auth_method": "none"}
	for name, test := range map[string]struct {
		members map[string]any
		changes []string // of the redemption
		want    string
	}{
		"public":                      {public, []string{"client_secret", ""}, "invalid_grant"},
		"public, with a verifier":     {public, []string{"client_secret", "", "code_verifier", verifier}, "invalid_grant"},
		"public, with the old secret": {public, nil, "invalid_client"},
		"without openid":              {map[string]any{"scope": "rider.trips:read"}, nil, "invalid_scope"},
		"another method": {map[string]any{"token_endpoint_auth_method": "client_secret_basic"}, nil,
			"invalid_client"},
		"nothing that the code depends on": {map[string]any{"client_name": "Renamed"}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			a := f.confidential()
			code := f.nonceCode(a)
			body := map[string]any{"client_id": a.id, "client_name": "Test client", "redirect_uris": []string{callback},
				"token_endpoint_auth_method": "client_secret_post", "audiences": []string{"rider"}}
			for member, value := range test.members {
				body[member] = value
			}
			if r := f.sendJSON(http.MethodPut, "/oauth/register/"+a.id, a.management, body); r.status != http.StatusOK {
				t.Fatalf("update: %d %s", r.status, r.raw)
			}
			if r := f.redeemWithoutPKCE(a, code, test.changes...); r.text("error") != test.want {
				t.Errorf("%d %s", r.status, r.raw)
			}
		})
	}
}

// A client with a published document that lists none beside private_key_jwt needs PKCE,
// because it may redeem a code without credentials. So does its code if it lists none
// only later.
func TestDocumentClientWithoutPKCE(t *testing.T) {
	t.Parallel()
	d := newDocumented(t, oauth.Limits{Registrations: -1, TokenFailures: -1, Documents: -1})
	d.Clock.Hold()
	k := newClientKey(t)
	publish := func(methods ...string) {
		d.publish(plannerAt, "token_endpoint_auth_method", nil, "token_endpoint_auth_methods_supported", methods,
			"jwks", k.set())
		d.Clock.Advance(25 * 3600e9) // the stored document is too old
	}
	ask := func() response {
		q := d.query(plannerAt)
		for name, value := range map[string]string{"nonce": "n-1", "scope": "openid rider.trips:read"} {
			q.Set(name, value)
		}
		q.Del("code_challenge")
		q.Del("code_challenge_method")
		return newServiceBrowser(t, d.Service).finish(q, d.rider.Email)
	}
	redeem := func(code string) string {
		answer := d.prove(t, k, "/oauth/token", "grant_type", "authorization_code", "code", code, "redirect_uri",
			d.query(plannerAt).Get("redirect_uri"))
		return fmt.Sprint(answer.Status, " ", answer.Code())
	}
	publish("private_key_jwt", "none")
	if got := ask(); got.status != http.StatusBadRequest || !strings.Contains(got.text(), "PKCE") {
		t.Errorf("with none: %d %s", got.status, got.text())
	}
	publish("private_key_jwt")
	if got := redeem(ask().answer.Get("code")); got != "200 " {
		t.Errorf("with a key only: %s", got)
	}
	code := ask().answer.Get("code")
	k = newClientKey(t) // an unknown key makes the server read the document again
	d.publish(plannerAt, "token_endpoint_auth_method", nil, "token_endpoint_auth_methods_supported",
		[]string{"private_key_jwt", "none"}, "jwks", k.set())
	if got := redeem(code); got != "400 invalid_grant" {
		t.Errorf("none was added before the redemption: %s", got)
	}
	if got := ask(); got.status != http.StatusBadRequest {
		t.Errorf("none was added: %s", got.text())
	}
}
