package oauth_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apptest"
)

// userinfo requests the userinfo endpoint with the token.
func (s *service) userinfo(t testing.TB, token string) apptest.Answer {
	t.Helper()
	return s.Get(t, token, "/oauth/userinfo")
}

var rulesCore = []rule{
	{"2 the claims of an id_token", func(t *testing.T, s *service) {
		header, c := claims(t, s.signIn(t, s.public, "nonce", "n-1").ID)
		iat, _ := c["iat"].(float64)
		exp, _ := c["exp"].(float64)
		sub, _ := c["sub"].(string)
		if c["iss"] != s.URL || c["aud"] != s.public.id || sub != s.rider.ID || len(sub) > 255 || exp <= iat || iat == 0 ||
			c["nonce"] != "n-1" {
			t.Errorf("%v", c)
		}
		if header["alg"] != "RS256" || header["kid"] == "" {
			t.Errorf("%v", header)
		}
	}},
	{"2 auth_time when max_age is asked for, and it is the sign-in's", func(t *testing.T, s *service) {
		before := float64(s.Clock.Now().Unix())
		_, fresh := claims(t, s.signIn(t, s.public, "max_age", "0", "prompt", "login").ID)
		_, old := claims(t, s.signIn(t, s.public, "max_age", "10000").ID)
		if at, _ := fresh["auth_time"].(float64); at < before || fresh["auth_time"] != old["auth_time"] {
			t.Errorf("%v then %v, not before %v", fresh["auth_time"], old["auth_time"], before)
		}
	}},
	{"3.1.2.1 without openid there is no id_token", func(t *testing.T, s *service) {
		got := s.signIn(t, s.public, "scope", "rider.trips:read")
		if got.ID != "" || s.userinfo(t, got.Access).Status != 403 {
			t.Errorf("%+v", got)
		}
	}},
	{"3.1.2.1 GET and POST", func(t *testing.T, s *service) {
		b := s.browser
		if got := b.follow(b.do(http.MethodPost, "/oauth/authorize", s.authorization(s.public, "prompt",
			"none"))); got.page() != "code" {
			t.Errorf("by POST: %s", got.page())
		}
	}},
	{"3.1.2.1 optional parameters are accepted without an error", func(t *testing.T, s *service) {
		for name, value := range map[string]string{"display": "touch", "ui_locales": "es en", "claims_locales": "en",
			"acr_values": "1 2", "login_hint": "rosa@metro.example"} {
			if got := s.answer(t, s.public, name, value).page(); got != "code" {
				t.Errorf("%s: %s", name, got)
			}
		}
	}},
	{"3.1.2.1 ui_locales picks the language of the page", func(t *testing.T, s *service) {
		got := newServiceBrowser(t, s.Service).get("/oauth/authorize?" + s.authorization(s.public, "ui_locales",
			"es").Encode())
		if !strings.Contains(got.body, `lang="es"`) {
			t.Errorf("%s", got.body)
		}
	}},
	{"3.1.2.1 prompt none shows nothing, ever", func(t *testing.T, s *service) {
		for name, b := range map[string]*browser{"nobody": newServiceBrowser(t, s.Service), "the rider": s.browser} {
			got := b.get("/oauth/authorize?" + s.authorization(s.public, "prompt", "none").Encode())
			if got.body != "" || got.location == "" {
				t.Errorf("%s: %d %s", name, got.status, got.body)
			}
		}
	}},
	{"3.1.2.1 prompt none with anything else is an error", func(t *testing.T, s *service) {
		for _, prompt := range []string{"none login", "consent none", "none none"} {
			if got := s.answer(t, s.public, "prompt", prompt).page(); got != "invalid_request" {
				t.Errorf("%s: %s", prompt, got)
			}
		}
	}},
	{"3.1.2.1 prompt login and max_age ask for the password again", func(t *testing.T, s *service) {
		s.code(t, s.public)
		s.Clock.Advance(2 * time.Second)
		for _, change := range [][]string{{"prompt", "login"}, {"max_age", "1"}} {
			if got := s.browser.get("/oauth/authorize?" +
				s.authorization(s.public, change...).Encode()).page(); got != "sign-in" {
				t.Errorf("%v: %s", change, got)
			}
		}
	}},
	{"3.1.2.1 an id_token_hint of somebody else is login_required", func(t *testing.T, s *service) {
		mine := s.signIn(t, s.public).ID
		hers := s.SignIn(t, s.Rider(t, "metro", "vera"), "openid", "rider.trips:read").IDToken
		if got := s.answer(t, s.public, "prompt", "none", "id_token_hint", mine).page(); got != "code" {
			t.Errorf("one's own: %s", got)
		}
		for name, hint := range map[string]string{"another's": hers, "tampered": tampered(mine),
			"an access token": s.signIn(t, s.public).Access} {
			if got := s.answer(t, s.public, "prompt", "none", "id_token_hint", hint).page(); got != "login_required" {
				t.Errorf("%s: %s", name, got)
			}
		}
	}},
	{"3.1.2.6 the errors of prompt none", func(t *testing.T, s *service) {
		if got := newServiceBrowser(t, s.Service).finish(s.authorization(s.public, "prompt", "none"),
			"").page(); got != "login_required" {
			t.Error(got)
		}
		if got := s.answer(t, s.client(t), "prompt", "none").page(); got != "consent_required" {
			t.Error(got)
		}
	}},
	{"3.1.3.3 the token answer holds an id_token", func(t *testing.T, s *service) {
		if got := s.signIn(t, s.basic); got.ID == "" || got.Type != "Bearer" {
			t.Errorf("%+v", got)
		}
	}},
	{"3.1.3.6 at_hash is the left half of the access token's hash", func(t *testing.T, s *service) {
		got := s.signIn(t, s.public)
		_, c := claims(t, got.ID)
		sum := sha256.Sum256([]byte(got.Access))
		if c["at_hash"] != base64.RawURLEncoding.EncodeToString(sum[:16]) {
			t.Errorf("at_hash %v", c["at_hash"])
		}
	}},
	{"3.1.3.7 the algorithm is the registered one", func(t *testing.T, s *service) {
		a := s.client(t, "id_token_signed_response_alg", "ES256", "token_endpoint_auth_method", "none")
		header, _ := claims(t, s.signIn(t, a).ID)
		if header["alg"] != "ES256" {
			t.Errorf("%v", header)
		}
		for _, alg := range []string{"none", "HS256"} { // RFC 7591 section 3.2.1: the response has the one of the server
			body := apptest.JSON[map[string]any](t, s.register(t, "id_token_signed_response_alg", alg).Must(t, 201))
			if body["id_token_signed_response_alg"] != "RS256" {
				t.Errorf("%s: %v", alg, body)
			}
		}
	}},
	{"5.3.1 userinfo by GET, by POST, and by a form", func(t *testing.T, s *service) {
		token := s.signIn(t, s.public).Access
		first := s.userinfo(t, token).Must(t, 200)
		posted := s.Do(t, apptest.Request{Method: http.MethodPost, Path: "/oauth/userinfo", Token: token}).Must(t, 200)
		formed := s.send(t, "/oauth/userinfo", url.Values{"access_token": {token}}.Encode()).Must(t, 200)
		if string(first.Body) != string(posted.Body) || string(first.Body) != string(formed.Body) {
			t.Errorf("%s, %s, %s", first.Body, posted.Body, formed.Body)
		}
	}},
	{"5.3.2 sub is there, and the id_token's", func(t *testing.T, s *service) {
		got := s.signIn(t, s.public)
		_, c := claims(t, got.ID)
		a := s.userinfo(t, got.Access)
		if body := apptest.JSON[map[string]any](t, a); body["sub"] != c["sub"] ||
			a.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s", a.Body)
		}
	}},
	{"5.3.3 errors are those of RFC 6750", func(t *testing.T, s *service) {
		for name, token := range map[string]string{"none": "", "garbage": "x"} {
			if a := s.userinfo(t, token); a.Status != 401 || !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%s: %d %v", name, a.Status, a.Header)
			}
		}
	}},
	{"5.4 the claims of a scope, and of no other", func(t *testing.T, s *service) {
		for scope, want := range map[string][]string{"openid": {"sub"}, "openid email": {"email", "email_verified", "sub"},
			"openid profile": {"family_name", "given_name", "name", "sub"}} {
			var got []string
			for name := range apptest.JSON[map[string]any](t, s.userinfo(t, s.signIn(t, s.public, "scope", scope).Access).Must(t,
				200)) {
				got = append(got, name)
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v", scope, got)
			}
		}
	}},
	{"5.7 sub is of one person of one tenant, for every client", func(t *testing.T, s *service) {
		_, one := claims(t, s.signIn(t, s.public).ID)
		_, two := claims(t, s.signIn(t, s.basic).ID)
		if one["sub"] != two["sub"] {
			t.Errorf("%v and %v", one["sub"], two["sub"])
		}
	}},
	{"12.2 the id_token of a refresh", func(t *testing.T, s *service) {
		first := s.signIn(t, s.public, "nonce", "n-1")
		s.Clock.Advance(2 * time.Second)
		_, was := claims(t, first.ID)
		_, is := claims(t, apptest.JSON[granted](t, s.refresh(t, s.public, first.Refresh).Must(t, 200)).ID)
		for _, name := range []string{"iss", "sub", "aud", "auth_time"} {
			if was[name] != is[name] || is[name] == nil {
				t.Errorf("%s: %v then %v", name, was[name], is[name])
			}
		}
		if is["iat"].(float64) <= was["iat"].(float64) || (is["nonce"] != nil && is["nonce"] != "n-1") ||
			is["at_hash"] == was["at_hash"] {
			t.Errorf("%v then %v", was, is)
		}
	}},
	{"15.1 what every provider can do", func(t *testing.T, s *service) {
		if got := list(s.document(t, "/.well-known/openid-configuration"),
			"id_token_signing_alg_values_supported"); !strings.Contains(got, "RS256") || strings.Contains(got, "none") {
			t.Error(got)
		}
	}},
}

var rulesDiscovery = []rule{
	{"3 what is required is there", func(t *testing.T, s *service) {
		doc := s.document(t, "/.well-known/openid-configuration")
		for _, name := range []string{"issuer", "authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri",
			"registration_endpoint", "end_session_endpoint"} {
			if text, _ := doc[name].(string); !strings.HasPrefix(text, s.URL) {
				t.Errorf("%s is %v", name, doc[name])
			}
		}
		for name, want := range map[string]string{"scopes_supported": "openid", "response_types_supported": "code",
			"subject_types_supported":               "public",
			"id_token_signing_alg_values_supported": "RS256", "claims_supported": "sub"} {
			if !slices.Contains(strings.Fields(list(doc, name)), want) {
				t.Errorf("%s lacks %s", name, want)
			}
		}
	}},
	{"3 jwks_uri: public keys with a use and an algorithm each", func(t *testing.T, s *service) {
		for _, one := range s.document(t, "/.well-known/jwks.json")["keys"].([]any) {
			key := one.(map[string]any)
			if key["use"] != "sig" || key["alg"] == nil || key["kid"] == nil || key["d"] != nil || key["k"] != nil {
				t.Errorf("%v", key)
			}
		}
	}},
	{"3 what is not supported is said", func(t *testing.T, s *service) {
		doc := s.document(t, "/.well-known/openid-configuration")
		if doc["request_parameter_supported"] != false || doc["request_uri_parameter_supported"] != false ||
			doc["claims_parameter_supported"] != false {
			t.Errorf("%v", doc)
		}
		if got := s.answer(t, s.public, "request", "eyJ").page(); got != "request_not_supported" {
			t.Error(got)
		}
		if got := s.answer(t, s.public, "request_uri",
			"https://planner.example/r").page(); got != "request_uri_not_supported" {
			t.Error(got)
		}
	}},
	{"4.3 the issuer is that of the id_token", func(t *testing.T, s *service) {
		_, c := claims(t, s.signIn(t, s.public).ID)
		if s.document(t, "/.well-known/openid-configuration")["issuer"] != c["iss"] {
			t.Errorf("%v", c["iss"])
		}
	}},
	{"4.2 any page of the web may read it", func(t *testing.T, s *service) {
		for _, path := range []string{"/.well-known/openid-configuration", "/.well-known/jwks.json",
			"/.well-known/oauth-protected-resource"} {
			a := s.Do(t, apptest.Request{Method: http.MethodGet, Path: path,
				Header: map[string]string{"Origin": "https://other.example"}})
			if got := a.Header.Get("Access-Control-Allow-Origin"); got != "*" {
				t.Errorf("%s: %q", path, got)
			}
		}
	}},
	{"RP-Initiated Logout 2 and 3 a hint ends the session and leads back with the state", func(t *testing.T, s *service) {
		a := s.client(t, "token_endpoint_auth_method", "none", "post_logout_redirect_uris",
			[]string{"https://app.example/bye"})
		b := newServiceBrowser(t, s.Service)
		got := b.finish(s.authorization(a), s.rider.Email)
		tokens := apptest.JSON[granted](t, s.redeem(t, a, got.answer.Get("code")).Must(t, 200))
		q := url.Values{"id_token_hint": {tokens.ID}, "post_logout_redirect_uri": {"https://app.example/bye"}, "state": {"x"}}
		if got := b.get("/oauth/logout?" + q.Encode()); got.location != "https://app.example/bye?state=x" {
			t.Errorf("%d to %q", got.status, got.location)
		}
		if got := b.get("/oauth/authorize?" + s.authorization(a, "prompt", "none").Encode()).page(); got != "login_required" {
			t.Errorf("afterwards: %s", got)
		}
		q.Set("post_logout_redirect_uri", "https://evil.example/")
		if got := b.get("/oauth/logout?" + q.Encode()); got.location != "" {
			t.Errorf("to %q", got.location)
		}
	}},
}

var rules9728 = []rule{
	{"2 the resource, its authorization server, and how tokens are sent", func(t *testing.T, s *service) {
		doc := s.document(t, "/.well-known/oauth-protected-resource/api/v1")
		if doc["resource"] != s.URL+"/api/v1" || list(doc, "authorization_servers") != s.URL ||
			list(doc, "bearer_methods_supported") != "header" {
			t.Errorf("%v", doc)
		}
		if doc["jwks_uri"] != s.URL+"/.well-known/jwks.json" || list(doc, "scopes_supported") == "" {
			t.Errorf("%v", doc)
		}
	}},
	{"3.2 JSON without empty lists", func(t *testing.T, s *service) {
		if kind := s.Get(t, "",
			"/.well-known/oauth-protected-resource").Header.Get("Content-Type"); kind != "application/json" {
			t.Errorf("type %q", kind)
		}
		for name, value := range s.document(t, "/.well-known/oauth-protected-resource") {
			if many, is := value.([]any); value == nil || (is && len(many) == 0) {
				t.Errorf("%s is empty", name)
			}
		}
	}},
	{"3.3 the authorization server names the resource too", func(t *testing.T, s *service) {
		if got := list(s.document(t, "/.well-known/oauth-authorization-server"),
			"protected_resources"); got != s.URL+"/api/v1 "+s.URL+"/mcp" {
			t.Errorf("%s", got)
		}
	}},
	{"5.1 a 401 says where the metadata is", func(t *testing.T, s *service) {
		for _, token := range []string{"", "x", tampered(s.signIn(t, s.public).Access)} {
			challenge := s.Get(t, token, "/api/v1/me/trips").Must(t, 401).Header.Get("WWW-Authenticate")
			_, rest, found := strings.Cut(challenge, `resource_metadata="`)
			at, _, closed := strings.Cut(rest, `"`)
			if !found || !closed || !strings.HasPrefix(at, s.URL+"/") {
				t.Fatalf("WWW-Authenticate: %s", challenge)
			}
			if doc := s.document(t, strings.TrimPrefix(at, s.URL)); doc["resource"] != s.URL+"/api/v1" {
				t.Errorf("%s says %v", at, doc["resource"])
			}
		}
	}},
	{"RFC 6750 2.3 a token in the query is not accepted", func(t *testing.T, s *service) {
		if s.Get(t, "", "/api/v1/me/trips?access_token="+s.signIn(t, s.public).Access).Status != 401 {
			t.Error("it is")
		}
	}},
	{"3 the scopes are those of the authorization server", func(t *testing.T, s *service) {
		one, two := s.document(t, "/.well-known/oauth-protected-resource"), s.document(t, "/.well-known/openid-configuration")
		if a, b := list(one, "scopes_supported"), list(two, "scopes_supported"); a != b ||
			!slices.Contains(strings.Fields(a), "rider.trips:read") {
			t.Errorf("%s and %s", a, b)
		}
	}},
}
