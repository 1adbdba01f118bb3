package oauth_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/apptest"
)

// keyed registers a client that authenticates by the key.
func (s *service) keyed(t testing.TB, k clientKey, changes ...any) registration {
	t.Helper()
	return s.client(t, append([]any{"token_endpoint_auth_method", "private_key_jwt", "jwks", k.set()}, changes...)...)
}

// prove sends a form that the key authenticates.
func (s *service) prove(t testing.TB, k clientKey, a registration, path string, pairs ...string) apptest.Answer {
	t.Helper()
	return asserted(t, s.Service, path, k.assertion(a.id, s.URL, s.Clock.Now()), pairs...)
}

// RFC 7523 with the assertion framework of RFC 7521, and OpenID Connect Core
// section 9.
var rules7523 = []rule{
	{"2.2 a client authenticates by an assertion at every endpoint", func(t *testing.T, s *service) {
		k := newClientKey(t)
		a := s.keyed(t, k)
		if a.secret != "" {
			t.Error("it got a secret")
		}
		got := apptest.JSON[granted](t, s.prove(t, k, a, "/oauth/token", redeemed(s.code(t, a), callback)...).Must(t, 200))
		got = apptest.JSON[granted](t, s.prove(t, k, a, "/oauth/token", "grant_type", "refresh_token", "refresh_token",
			got.Refresh).Must(t, 200))
		if !s.lives(t, got.Access) {
			t.Error("the token is not good")
		}
		about := s.prove(t, k, a, "/oauth/introspect", "token", got.Access).Must(t, 200)
		if body := apptest.JSON[map[string]any](t, about); body["active"] != true {
			t.Errorf("%s", about.Body)
		}
		s.prove(t, k, a, "/oauth/revoke", "token", got.Access).Must(t, 200)
		if s.lives(t, got.Access) {
			t.Error("the revoked token lives")
		}
	}},
	{"2.2 type and assertion belong together", func(t *testing.T, s *service) {
		k := newClientKey(t)
		a := s.keyed(t, k)
		body := "grant_type=refresh_token&refresh_token=x&client_id=" + a.id
		refused(t, s.send(t, "/oauth/token", body+"&client_assertion=x"), 400, "invalid_request")
		refused(t, s.send(t, "/oauth/token", body+"&client_assertion_type="+jwtBearer), 400, "invalid_request")
		refused(t, s.send(t, "/oauth/token", body+
			"&client_assertion=x&client_assertion_type=urn:ietf:params:oauth:client-assertion-type:saml2-bearer"), 401,
			"invalid_client")
		refused(t, s.send(t, "/oauth/token", body+"&client_assertion=x&client_assertion_type="+jwtBearer), 401,
			"invalid_client")
	}},
	{"3 iss and sub are the client, aud is this server, exp is near", func(t *testing.T, s *service) {
		k := newClientKey(t)
		a := s.keyed(t, k)
		now := s.Clock.Now()
		for name, changes := range map[string][]any{
			"another sub": {"sub", s.public.id}, "another iss": {"iss", s.public.id}, "no sub": {"sub", nil},
			"another aud": {"aud", "https://other.example/"}, "two audiences": {"aud", []string{s.URL, "https://other.example"}},
			"no aud": {"aud", nil}, "no exp": {"exp", nil}, "expired": {"exp", now.Add(-time.Second).Unix()},
			"far": {"exp", now.Add(time.Hour).Unix()}, "no jti": {"jti", nil},
		} {
			got := asserted(t, s.Service, "/oauth/token", k.assertion(a.id, s.URL, now, changes...), "grant_type",
				"refresh_token", "refresh_token", "x")
			if refused(t, got, 401, "invalid_client"); t.Failed() {
				t.Fatal(name)
			}
			saysError(t, got)
		}
		for _, audience := range []any{s.URL + "/oauth/token", []string{s.URL, s.URL + "/oauth/token"}} {
			refused(t, asserted(t, s.Service, "/oauth/token", k.assertion(a.id, s.URL, now, "aud", audience), "grant_type",
				"refresh_token", "refresh_token", "x"), 400, "invalid_grant") // and not invalid_client
		}
	}},
	{"3 an assertion is good once, also when its requests come at once", func(t *testing.T, s *service) {
		k := newClientKey(t)
		a := s.keyed(t, k)
		one := k.assertion(a.id, s.URL, s.Clock.Now())
		var all sync.WaitGroup
		answers := make([]apptest.Answer, 8)
		for n := range answers {
			all.Go(func() { answers[n] = asserted(t, s.Service, "/oauth/revoke", one, "token", "x") })
		}
		all.Wait()
		good := 0
		for _, got := range answers {
			if got.Status == http.StatusOK {
				good++
				continue
			}
			refused(t, got, 401, "invalid_client")
		}
		if good != 1 {
			t.Errorf("%d of %d were good", good, len(answers))
		}
		refused(t, asserted(t, s.Service, "/oauth/token", one, "grant_type", "refresh_token", "refresh_token", "x"), 401,
			"invalid_client")
	}},
	{"3 a jti is the client's own", func(t *testing.T, s *service) {
		for range 2 {
			k := newClientKey(t)
			a := s.keyed(t, k)
			asserted(t, s.Service, "/oauth/revoke", k.assertion(a.id, s.URL, s.Clock.Now(), "jti", "1"), "token",
				"x").Must(t, 200)
		}
	}},
	{"3 another client's key is not good, and burns no jti", func(t *testing.T, s *service) {
		k, other := newClientKey(t), newClientKey(t)
		a := s.keyed(t, k)
		s.keyed(t, other)
		other.kid = k.kid
		now := s.Clock.Now()
		refused(t, asserted(t, s.Service, "/oauth/revoke", other.assertion(a.id, s.URL, now, "jti", "2"), "token", "x"), 401,
			"invalid_client")
		asserted(t, s.Service, "/oauth/revoke", k.assertion(a.id, s.URL, now, "jti", "2"), "token", "x").Must(t, 200)
	}},
	{"RFC 6749 2.3 one method a request, and the one that is registered", func(t *testing.T, s *service) {
		k := newClientKey(t)
		a := s.keyed(t, k)
		one := func(client string) string { return k.assertion(client, s.URL, s.Clock.Now()) }
		body := func(pairs ...string) string {
			return formOf(append([]string{"grant_type", "refresh_token", "refresh_token", "x"}, pairs...)...).Encode()
		}
		both := []string{"client_assertion_type", jwtBearer, "client_assertion", one(s.basic.id)}
		refused(t, s.send(t, "/oauth/token", body(both...), "Authorization", basicHeader(s.basic.id, s.basic.secret)), 400,
			"invalid_request")
		refused(t, s.send(t, "/oauth/token", body(append(both, "client_secret", "x")...)), 400, "invalid_request")
		refused(t, s.send(t, "/oauth/token", body(append(both, "client_id", a.id)...)), 400, "invalid_request")
		refused(t, s.send(t, "/oauth/token", body(both...)), 401, "invalid_client") // of a client with a secret
		refused(t, s.form(t, a, "/oauth/token", "grant_type", "refresh_token", "refresh_token", "x"), 401, "invalid_client")
		refused(t, s.send(t, "/oauth/token", body("client_id", a.id, "client_secret", "")), 401, "invalid_client")
		refused(t, s.send(t, "/oauth/token", body(), "Authorization", basicHeader(a.id, "")), 401, "invalid_client")
	}},
	{"RFC 7591 2 jwks or jwks_uri, with public keys", func(t *testing.T, s *service) {
		k := newClientKey(t)
		for name, changes := range map[string][]any{
			"no keys":              {},
			"both":                 {"jwks", k.set(), "jwks_uri", "https://app.example/keys"},
			"an empty set":         {"jwks", map[string]any{"keys": []any{}}},
			"plain http":           {"jwks_uri", "http://app.example/keys"},
			"an address":           {"jwks_uri", "https://127.0.0.1/keys"},
			"another port":         {"jwks_uri", "https://app.example:8443/keys"},
			"a name of one label":  {"jwks_uri", "https://localhost/keys"},
			"user information":     {"jwks_uri", "https://a@app.example/keys"},
			"a symmetric alg":      {"jwks", k.set(), "token_endpoint_auth_signing_alg", "HS256"},
			"alg none":             {"jwks", k.set(), "token_endpoint_auth_signing_alg", "none"},
			"too large":            {"jwks", map[string]any{"keys": []any{strings.Repeat("x", 5000)}}},
			"keys of another type": {"jwks", "x"},
		} {
			got := s.register(t, append([]any{"token_endpoint_auth_method", "private_key_jwt"}, changes...)...)
			if refused(t, got, 400, "invalid_client_metadata"); t.Failed() {
				t.Fatal(name)
			}
		}
		got := apptest.JSON[map[string]any](t, s.register(t, "token_endpoint_auth_method", "private_key_jwt", "jwks_uri",
			"https://app.example/keys?v=1", "token_endpoint_auth_signing_alg", "ES256").Must(t, 201))
		if got["jwks_uri"] != "https://app.example/keys?v=1" || got["token_endpoint_auth_signing_alg"] != "ES256" ||
			got["client_secret"] != nil {
			t.Errorf("%v", got)
		}
	}},
	{"RFC 7591 2 the registered algorithm alone", func(t *testing.T, s *service) {
		k := newClientKey(t)
		a := s.keyed(t, k, "token_endpoint_auth_signing_alg", "RS256")
		refused(t, s.prove(t, k, a, "/oauth/revoke", "token", "x"), 401, "invalid_client")
	}},
	{"RFC 8414 2 discovery says it", func(t *testing.T, s *service) {
		doc := s.document(t, "/.well-known/oauth-authorization-server")
		for _, endpoint := range []string{"token", "revocation", "introspection"} {
			if algs := list(doc, endpoint+"_endpoint_auth_signing_alg_values_supported"); algs != "ES256 RS256 PS256 EdDSA" ||
				!strings.Contains(list(doc, endpoint+"_endpoint_auth_methods_supported"), "private_key_jwt") {
				t.Errorf("%s: %s", endpoint, algs)
			}
		}
		if doc["client_id_metadata_document_supported"] != true {
			t.Errorf("%v", doc)
		}
	}},
}
