package oauth_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apptest"
)

func base64Of(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

var rules7636 = []rule{
	{"4.1 a verifier has 43 to 128 unreserved characters", func(t *testing.T, s *service) {
		for name, tc := range map[string]struct {
			verifier string
			good     bool
		}{
			"42": {strings.Repeat("a", 42), false}, "43": {strings.Repeat("a", 43), true},
			"128": {strings.Repeat("~", 128), true}, "129": {strings.Repeat("a", 129), false},
			"all unreserved": {"-._~" + strings.Repeat("Z9", 20), true}, "a space": {strings.Repeat("a", 42) + " ", false},
			"a plus":                {strings.Repeat("a", 42) + "+", false},
			"a letter beyond ASCII": {strings.Repeat("a", 43) + "é", false},
		} {
			a := s.redeem(t, s.public, s.code(t, s.public, "code_challenge", challengeOf(tc.verifier)), "code_verifier",
				tc.verifier)
			if (a.Status == http.StatusOK) != tc.good {
				t.Errorf("%s: %d %s", name, a.Status, a.Body)
			}
		}
	}},
	{"4.4.1 a request without a challenge is invalid_request", func(t *testing.T, s *service) {
		for _, a := range []registration{s.public, s.basic, s.post} {
			if got := s.answer(t, a, "code_challenge", "", "code_challenge_method", ""); got.page() != "invalid_request" ||
				!strings.Contains(got.answer.Get("error_description"), "code_challenge") {
				t.Errorf("%s", got.location)
			}
		}
	}},
	{"4.4.1 a transformation that is not supported is invalid_request", func(t *testing.T, s *service) {
		for _, method := range []string{"", "plain", "s256", "S512"} {
			if got := s.answer(t, s.public, "code_challenge_method", method).page(); got != "invalid_request" {
				t.Errorf("%q: %s", method, got)
			}
		}
	}},
	{"4.5 the verifier is needed", func(t *testing.T, s *service) {
		code := s.code(t, s.public)
		refused(t, s.redeem(t, s.public, code, "code_verifier", ""), 400, "invalid_request")
		s.redeem(t, s.public, code).Must(t, 200)
	}},
	{"4.6 another verifier is invalid_grant", func(t *testing.T, s *service) {
		for _, other := range []string{verifier + "x", strings.ToLower(verifier), challengeOf(verifier)} {
			refused(t, s.redeem(t, s.public, s.code(t, s.public), "code_verifier", other), 400, "invalid_grant")
		}
	}},
	{"4.6 of confidential clients too", func(t *testing.T, s *service) {
		refused(t, s.redeem(t, s.basic, s.code(t, s.basic), "code_verifier", strings.Repeat("b", 43)), 400, "invalid_grant")
	}},
}

var rules7009 = []rule{
	{"2 only POST, and a form", func(t *testing.T, s *service) {
		s.Get(t, "", "/oauth/revoke?token=x&client_id="+s.public.id).Must(t, http.StatusMethodNotAllowed)
		refused(t, s.Post(t, "", "/oauth/revoke", `{"token":"x"}`), 400, "invalid_request")
	}},
	{"2.1 the token is needed", func(t *testing.T, s *service) {
		refused(t, s.form(t, s.public, "/oauth/revoke"), 400, "invalid_request")
	}},
	{"2.1 the client authenticates first", func(t *testing.T, s *service) {
		got := s.signIn(t, s.post)
		refused(t, s.send(t, "/oauth/revoke", formOf("token", got.Access, "client_id", s.post.id, "client_secret",
			"wrong").Encode()), 401, "invalid_client")
		refused(t, s.send(t, "/oauth/revoke", formOf("token", got.Access, "client_id", s.post.id).Encode()), 401,
			"invalid_client")
		if !s.lives(t, got.Access) {
			t.Error("the token died all the same")
		}
	}},
	{"2.1 another client's token is refused and lives on", func(t *testing.T, s *service) {
		got := s.signIn(t, s.public)
		for _, token := range []string{got.Access, got.Refresh} {
			if a := s.form(t, s.post, "/oauth/revoke", "token", token); a.Status != 400 {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		}
		if !s.lives(t, got.Access) {
			t.Error("the access token died")
		}
		s.refresh(t, s.public, got.Refresh).Must(t, 200)
	}},
	{"2.1 a wrong or unknown hint changes nothing", func(t *testing.T, s *service) {
		for _, hint := range []string{"access_token", "refresh_token", "nothing_such"} {
			got := s.signIn(t, s.public)
			s.form(t, s.public, "/oauth/revoke", "token", got.Access, "token_type_hint", hint).Must(t, 200)
			if s.lives(t, got.Access) {
				t.Errorf("%s: the access token lives", hint)
			}
			got = s.signIn(t, s.public)
			s.form(t, s.public, "/oauth/revoke", "token", got.Refresh, "token_type_hint", hint).Must(t, 200)
			refused(t, s.refresh(t, s.public, got.Refresh), 400, "invalid_grant")
		}
	}},
	{"2.1 the end of a refresh token ends the access tokens of its grant", func(t *testing.T, s *service) {
		first := s.signIn(t, s.basic)
		second := apptest.JSON[granted](t, s.refresh(t, s.basic, first.Refresh).Must(t, 200))
		s.form(t, s.basic, "/oauth/revoke", "token", second.Refresh).Must(t, 200)
		if s.lives(t, first.Access) || s.lives(t, second.Access) {
			t.Error("an access token lives")
		}
	}},
	{"2.1 the end of an access token ends its refresh token too", func(t *testing.T, s *service) {
		got := s.signIn(t, s.public)
		s.form(t, s.public, "/oauth/revoke", "token", got.Access).Must(t, 200)
		refused(t, s.refresh(t, s.public, got.Refresh), 400, "invalid_grant")
	}},
	{"2.2 an unknown token is a 200, a second time too", func(t *testing.T, s *service) {
		s.form(t, s.public, "/oauth/revoke", "token", unknown()).Must(t, 200)
		got := s.signIn(t, s.public)
		for range 2 {
			s.form(t, s.public, "/oauth/revoke", "token", got.Refresh).Must(t, 200)
		}
	}},
	{"2.2.1 errors have the form", func(t *testing.T, s *service) {
		saysError(t, s.form(t, s.public, "/oauth/revoke"))
		saysError(t, s.send(t, "/oauth/revoke", "token=x"))
	}},
}

var rules7662 = []rule{
	{"2.1 only POST, and a form", func(t *testing.T, s *service) {
		s.Get(t, "", "/oauth/introspect?token=x").Must(t, http.StatusMethodNotAllowed)
		refused(t, s.Post(t, "", "/oauth/introspect", `{"token":"x"}`), 400, "invalid_request")
	}},
	{"2.1 the token is needed", func(t *testing.T, s *service) {
		refused(t, s.form(t, s.post, "/oauth/introspect"), 400, "invalid_request")
	}},
	{"2.1 who asks is authorized", func(t *testing.T, s *service) {
		got := s.signIn(t, s.public)
		refused(t, s.form(t, s.public, "/oauth/introspect", "token", got.Access), 401, "invalid_client")
		refused(t, s.send(t, "/oauth/introspect", formOf("token", got.Access, "client_id", s.post.id, "client_secret",
			"x").Encode()), 401, "invalid_client")
		refused(t, s.send(t, "/oauth/introspect", formOf("token", got.Access).Encode(), "Authorization",
			"Bearer "+got.Access), 401, "invalid_client")
	}},
	{"2.3 no client authentication is invalid_client with a challenge", func(t *testing.T, s *service) {
		for _, path := range []string{"/oauth/introspect", "/oauth/revoke"} {
			for _, body := range []string{"token=x", "", "client_id=&token=x", "client_id=" + s.public.id + "&token=x"} {
				if path == "/oauth/revoke" && strings.Contains(body, s.public.id) {
					continue // a public client may revoke its tokens
				}
				a := s.send(t, path, body)
				refused(t, a, 401, "invalid_client")
				if !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Basic ") {
					t.Errorf("%s %s: WWW-Authenticate %q", path, body, a.Header.Get("WWW-Authenticate"))
				}
			}
		}
		refused(t, s.send(t, "/oauth/introspect", formOf("token", "x", "client_id", s.post.id).Encode()), 401,
			"invalid_client")
	}},
	{"2.2 a live token", func(t *testing.T, s *service) {
		got := s.signIn(t, s.post)
		_, c := claims(t, got.Access)
		for token, kind := range map[string]string{got.Access: "Bearer", got.Refresh: ""} {
			a := s.form(t, s.post, "/oauth/introspect", "token", token, "token_type_hint", "nothing_such").Must(t, 200)
			body := apptest.JSON[map[string]any](t, a)
			about, _ := body["token_type"].(string)
			if body["active"] != true || body["sub"] != s.rider.ID || body["client_id"] != s.post.id ||
				body["scope"] != got.Scope || about != kind {
				t.Errorf("%s", a.Body)
			}
			if kind != "" && (body["exp"] != c["exp"] || body["iat"] != c["iat"] || body["jti"] != c["jti"] ||
				body["aud"] != c["aud"] || body["iss"] != c["iss"]) {
				t.Errorf("%s for %v", a.Body, c)
			}
			if a.Header.Get("Content-Type") != "application/json" || a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("headers %v", a.Header)
			}
		}
	}},
	{"2.2 of what is not active nothing is said", func(t *testing.T, s *service) {
		another, ended, old := s.signIn(t, s.public), s.signIn(t, s.post), s.signIn(t, s.post)
		s.form(t, s.post, "/oauth/revoke", "token", ended.Access).Must(t, 200)
		rotated := old.Refresh
		next := apptest.JSON[granted](t, s.refresh(t, s.post, old.Refresh).Must(t, 200))
		s.Clock.Advance(time.Hour)
		for name, token := range map[string]string{"unknown": unknown(), "another client's": another.Access,
			"another client's refresh token": another.Refresh,
			"ended":                          ended.Access, "ended with it": ended.Refresh, "expired": next.Access,
			"rotated":     rotated,
			"an id_token": next.ID, "a tampered one": tampered(next.Access)} {
			a := s.form(t, s.post, "/oauth/introspect", "token", token).Must(t, 200)
			if strings.TrimSpace(string(a.Body)) != `{"active":false}` {
				t.Errorf("%s: %s", name, a.Body)
			}
		}
		body := apptest.JSON[map[string]any](t, s.form(t, s.post, "/oauth/introspect", "token", next.Refresh).Must(t, 200))
		if body["active"] != true {
			t.Error("asking about a rotated token ended its family")
		}
	}},
}

// tampered changes a character of a token's signature.
func tampered(token string) string {
	at := strings.LastIndex(token, ".") + 5
	changed := byte('A')
	if token[at] == 'A' {
		changed = 'B'
	}
	return token[:at] + string(changed) + token[at+1:]
}

var rules8707 = []rule{
	{"2 a resource that is not ours is invalid_target", func(t *testing.T, s *service) {
		for _, resource := range []string{"https://other.example/api", s.URL, s.URL + "/api/v1/", s.URL + "/api/v1#x",
			"/api/v1", "api"} {
			if got := s.answer(t, s.public, "resource", resource).page(); got != "invalid_target" {
				t.Errorf("authorize, %s: %s", resource, got)
			}
			code := s.code(t, s.public)
			refused(t, s.redeem(t, s.public, code, "resource", resource), 400, "invalid_target")
			s.redeem(t, s.public, code).Must(t, 200)
		}
	}},
	{"2.1 our resource is accepted, also more than once", func(t *testing.T, s *service) {
		q := s.authorization(s.public)
		q["resource"] = []string{s.URL + "/api/v1", s.URL + "/api/v1"}
		if got := s.browser.finish(q, s.rider.Email).page(); got != "code" {
			t.Error(got)
		}
	}},
	{"2.2 at the token endpoint for code and refresh token", func(t *testing.T, s *service) {
		got := apptest.JSON[granted](t, s.redeem(t, s.public, s.code(t, s.public, "resource", s.URL+"/api/v1"), "resource",
			s.URL+"/api/v1").Must(t, 200))
		refused(t, s.refresh(t, s.public, got.Refresh, "resource", "https://other.example"), 400, "invalid_target")
		s.refresh(t, s.public, got.Refresh, "resource", s.URL+"/api/v1").Must(t, 200)
	}},
}

var rules9068 = []rule{
	{"2.1 the header says at+jwt, an algorithm of ours and a key that is published", func(t *testing.T, s *service) {
		header, _ := claims(t, s.signIn(t, s.public).Access)
		if header["typ"] != "at+jwt" || header["alg"] != "ES256" || len(header) != 3 {
			t.Errorf("header %v", header)
		}
		var kids []any
		for _, key := range s.document(t, "/.well-known/jwks.json")["keys"].([]any) {
			kids = append(kids, key.(map[string]any)["kid"])
		}
		if !slices.Contains(kids, header["kid"]) {
			t.Errorf("kid %v is not among %v", header["kid"], kids)
		}
	}},
	{"2.2 the claims", func(t *testing.T, s *service) {
		before := float64(s.Clock.Now().Unix())
		got := s.signIn(t, s.public)
		_, c := claims(t, got.Access)
		now := float64(s.Clock.Now().Unix())
		iat, _ := c["iat"].(float64)
		exp, _ := c["exp"].(float64)
		if c["iss"] != s.URL || c["sub"] != s.rider.ID || c["aud"] != "rider" || c["client_id"] != s.public.id ||
			c["tenant_id"] != s.Metro.ID || exp != iat+3600 || iat > now || iat < before {
			t.Errorf("claims %v", c)
		}
		if c["scope"] != got.Scope {
			t.Errorf("scope %v", c["scope"])
		}
	}},
	{"2.2 jti is of one token only", func(t *testing.T, s *service) {
		got := s.signIn(t, s.public)
		_, one := claims(t, got.Access)
		_, two := claims(t, apptest.JSON[granted](t, s.refresh(t, s.public, got.Refresh).Must(t, 200)).Access)
		if one["jti"] == two["jti"] || one["jti"] == "" {
			t.Errorf("%v and %v", one["jti"], two["jti"])
		}
	}},
	{"4 an id_token, an expired or a changed token is refused", func(t *testing.T, s *service) {
		got := s.signIn(t, s.public)
		for name, token := range map[string]string{"id_token": got.ID, "refresh token": got.Refresh,
			"tampered": tampered(got.Access), "doubled": got.Access + "." + got.Access} {
			if s.lives(t, token) {
				t.Errorf("%s is accepted", name)
			}
		}
		s.Clock.Advance(time.Hour)
		if s.lives(t, got.Access) {
			t.Error("an expired token is accepted")
		}
	}},
	{"4 an audience that the endpoint is not for is refused", func(t *testing.T, s *service) {
		refused(t, s.Get(t, s.signIn(t, s.public).Access, "/api/v1/trips"), 403, "insufficient_scope")
	}},
}

var rules9207 = []rule{
	{"2 iss on success and on error, the issuer of the metadata", func(t *testing.T, s *service) {
		issuer := s.document(t, "/.well-known/oauth-authorization-server")["issuer"]
		for name, changes := range map[string][]string{"success": nil, "error": {"scope", "nothing.such"},
			"none": {"prompt", "none", "max_age", "0"}} {
			if got := s.answer(t, s.public, changes...); got.answer.Get("iss") != issuer || len(got.answer["iss"]) != 1 {
				t.Errorf("%s: iss %v", name, got.answer["iss"])
			}
		}
		posted := s.answer(t, s.public, "scope", "nothing.such", "response_mode", "form_post")
		nobody := newServiceBrowser(t, s.Service).get("/oauth/authorize?" + s.authorization(s.public, "scope",
			"nothing.such").Encode())
		if !strings.Contains(posted.body, `name="iss" value="`+s.URL) ||
			!strings.Contains(nobody.body, "iss="+url.QueryEscape(s.URL)) {
			t.Errorf("a posted error, and the way back on a page: %s %s", posted.body, nobody.body)
		}
	}},
	{"2.4 a redirect URI that brings its own iss gets no second one to choose from", func(t *testing.T, s *service) {
		a := s.client(t, "redirect_uris", []string{callback + "?x=1"}, "token_endpoint_auth_method", "none")
		got := s.answer(t, a, "redirect_uri", callback+"?x=1")
		if len(got.answer["iss"]) != 1 || got.answer.Get("x") != "1" {
			t.Errorf("%s", got.location)
		}
		refused(t, s.register(t, "redirect_uris", []string{callback + "?iss=https://evil.example"}), 400,
			"invalid_redirect_uri")
		refused(t, s.register(t, "redirect_uris", []string{callback + "?a=1&code=x"}), 400, "invalid_redirect_uri")
	}},
	{"3 the metadata says so", func(t *testing.T, s *service) {
		if s.document(t, "/.well-known/openid-configuration")["authorization_response_iss_parameter_supported"] != true {
			t.Error("it does not")
		}
	}},
}
