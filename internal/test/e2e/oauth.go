package e2e

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"svc/internal/test/devices"
	"svc/internal/test/testkit"
	"svc/pkg/access/signing"
	"svc/pkg/oauth/flow"
)

// documents checks the public documents, and the errors for an unknown path, a wrong
// method and a missing token.
func (s *suite) documents(t *testing.T) {
	s.get(t, "", "/health").must(200)
	if got := s.get(t, "", "/openapi.json").must(200).text("openapi"); !strings.HasPrefix(got, "3.1") {
		t.Errorf("OpenAPI %q", got)
	}
	if page := s.get(t, "", "/docs").must(200); !strings.Contains(page.header.Get("Content-Type"), "text/html") {
		t.Errorf("/docs is %s", page.header.Get("Content-Type"))
	}
	s.get(t, "", "/nothing/here").refused(404, "not_found")
	if a := s.do(t, call{method: "PUT", path: "/api/v1/reports/summary", body: "{}"}).refused(405,
		"method_not_allowed"); a.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("Allow: %q", a.header.Get("Allow"))
	}
	if a := s.get(t, "", "/api/v1/trips").refused(401, "unauthorized"); !strings.Contains(challenge(a), s.BaseURL+
		"/.well-known/oauth-protected-resource") {
		t.Errorf("WWW-Authenticate: %q", challenge(a))
	}
}

// challenge returns the WWW-Authenticate header, which REST APIs rename.
func challenge(a answer) string {
	if v := a.header.Get("WWW-Authenticate"); v != "" {
		return v
	}
	return a.header.Get("X-Amzn-Remapped-Www-Authenticate")
}

// discovery checks the metadata of the authorization server and of the API, and the
// published keys.
func (s *suite) discovery(t *testing.T) {
	for _, path := range []string{"/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"} {
		doc := s.get(t, "", path).must(200)
		if doc.text("issuer") != s.BaseURL || doc.text("token_endpoint") != s.BaseURL+"/oauth/token" {
			t.Errorf("%s: issuer %q", path, doc.text("issuer"))
		}
	}
	if got := s.get(t, "", "/.well-known/oauth-protected-resource").must(200).text("resource"); got != s.BaseURL+
		"/api/v1" {
		t.Errorf("resource %q", got)
	}
	keys, _ := s.get(t, "", "/.well-known/jwks.json").must(200).json()["keys"].([]any)
	if len(keys) < 2 {
		t.Errorf("%d keys are published", len(keys))
	}
}

// registration checks that a client can register, change its registration and delete it
// (RFC 7591, RFC 7592).
func (s *suite) registration(t *testing.T) {
	body := `{"client_name": "Fleet board", "redirect_uris": ["https://board.example/cb"], "audiences": ["dashboard"], "scope": "tenant.trips:read",
		"token_endpoint_auth_method": "client_secret_basic"}`
	made := s.post(t, "", "/oauth/register", body).must(201)
	id, secret, token := made.text("client_id"), made.text("client_secret"), made.text("registration_access_token")
	path := "/oauth/register/" + id
	if made.text("registration_client_uri") != s.BaseURL+path || secret == "" {
		t.Errorf("registration_client_uri %q", made.text("registration_client_uri"))
	}
	s.get(t, token, path).must(200)
	s.do(t, call{method: "GET", path: path}).must(401)
	changed := fmt.Sprintf(`{"client_id": %q, "client_name": "Fleet wall", "redirect_uris": ["https://board.example/cb2"], "audiences": ["dashboard"],
		"scope": "tenant.trips:read", "token_endpoint_auth_method": "client_secret_basic"}`, id)
	renamed := s.do(t, call{method: "PUT", path: path, token: token, body: changed}).must(200)
	if renamed.text("client_name") != "Fleet wall" {
		t.Errorf("client_name %q", renamed.text("client_name"))
	}
	if next := renamed.text("registration_access_token"); next != "" {
		token = next
	}
	s.do(t, call{method: "DELETE", path: path, token: token}).must(204)
	s.get(t, token, path).must(401)
	s.post(t, "", "/oauth/register", `{"redirect_uris": ["javascript:1"]}`).must(400)
}

// lives checks the life of tokens: refresh, userinfo, reuse and revocation. It
// also opens the pages of sign-out and connected applications, and checks that
// nobody signs in with a wrong password.
func (s *suite) lives(t *testing.T) {
	const who = "/api/v1/me"
	first := s.signIn(t, rider)
	s.get(t, first.AccessToken, who).must(200)
	o := s.options(rider)
	o.ClientID = first.ClientID
	second, err := flow.Refresh(context.Background(), o, first.RefreshToken)
	testkit.Must(t, err)
	s.get(t, second.AccessToken, who).must(200)
	info := s.get(t, second.AccessToken, "/oauth/userinfo").must(200)
	if info.text("email") != rider.email {
		t.Errorf("userinfo has another person's address")
	}
	if _, err := flow.Refresh(context.Background(), o, first.RefreshToken); err == nil ||
		!strings.Contains(err.Error(), "invalid_grant") {
		t.Errorf("a refresh token is accepted twice: %v", err)
	}
	s.get(t, second.AccessToken, who).refused(401, "unauthorized") // the reuse revoked them

	third := s.signIn(t, rider, func(o *flow.Options) { o.ClientID = first.ClientID })
	s.get(t, third.AccessToken, who).must(200)
	s.do(t, call{method: "POST", path: "/oauth/revoke", form: url.Values{"token": {third.AccessToken},
		"client_id": {first.ClientID}}}).must(200)
	s.get(t, third.AccessToken, who).refused(401, "unauthorized")
	s.get(t, "", "/oauth/logout").must(200)
	s.get(t, "", "/oauth/apps").must(200)
	wrong := s.options(rider)
	wrong.Password, wrong.ClientID = "not-the-password", first.ClientID
	if _, err := flow.Token(context.Background(), wrong); err == nil {
		t.Error("a wrong password signs in")
	}
}

// introspection checks what a confidential client can do with its own tokens:
// introspect an access token, and use the scopes that were granted.
func (s *suite) introspection(t *testing.T) {
	made := s.post(t, "", "/oauth/register", `{"client_name": "Back office", "redirect_uris": ["`+flow.Redirect+
		`"], "audiences": ["dashboard"],
		"scope": "openid tenant.trips:read", "token_endpoint_auth_method": "client_secret_basic"}`).must(201)
	id, secret := made.text("client_id"), made.text("client_secret")
	tokens := s.signIn(t, operator, func(o *flow.Options) {
		o.ClientID, o.ClientSecret, o.Scope = id, secret, "openid tenant.trips:read"
	})
	ask := func(token string) map[string]any {
		return s.do(t, call{method: "POST", path: "/oauth/introspect", form: url.Values{"token": {token}},
			basic: url.UserPassword(id, secret)}).must(200).json()
	}
	if got := ask(tokens.AccessToken); got["active"] != true || got["client_id"] != id || got["aud"] == nil {
		t.Errorf("introspection: active %v", got["active"])
	}
	if got := ask(tokens.AccessToken + "x"); got["active"] != false {
		t.Error("a mangled token is active")
	}
	var claims map[string]any
	if !signing.Unverified(tokens.IDToken, &claims) {
		t.Fatal("no id_token, or none that can be decoded")
	}
	if claims["aud"] != id || claims["iss"] != s.BaseURL {
		t.Errorf("id_token: aud %v, iss %v", claims["aud"], claims["iss"])
	}
	s.get(t, tokens.AccessToken, "/api/v1/trips").must(200)
	s.get(t, tokens.AccessToken, "/api/v1/drivers").refused(403, "insufficient_scope")
}

// devices lets the command line on another machine act for somebody of each audience.
func (s *suite) devices(t *testing.T) {
	for _, p := range []struct {
		person
		scope string
	}{{operator, "tenant.trips:read"}, {rider, "rider.trips:read"}, {driver, "driver.trips:read"}} {
		asked := s.do(t, call{method: "POST", path: "/oauth/device_authorization", form: url.Values{"client_id": {"svc"},
			"scope": {p.scope}, "tenant_hint": {p.tenant}}}).must(200)
		poll := call{method: "POST", path: "/oauth/token", form: url.Values{"client_id": {"svc"},
			"grant_type":  {"urn:ietf:params:oauth:grant-type:device_code"},
			"device_code": {asked.text("device_code")}}}
		s.do(t, poll).refused(400, "authorization_pending")
		testkit.Must(t, devices.Allow(context.Background(), s.options(p.person), asked.text("verification_uri_complete")))
		s.get(t, s.do(t, poll).must(200).text("access_token"), "/api/v1/me").must(200)
		s.do(t, poll).refused(400, "invalid_grant")
	}
}
