package oauth_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/pkg/oauth/tokens"
)

var rules7591 = []rule{
	{"2 unknown members are ignored", func(t *testing.T, s *service) {
		body := apptest.JSON[map[string]any](t, s.register(t, "x_unknown", 1, "jwks_uri", "https://planner.example/jwks",
			"client_name#fr", "Plan", "software_statement", "x").Must(t, 201))
		if body["x_unknown"] != nil || body["jwks_uri"] != nil || body["software_statement"] != nil {
			t.Errorf("%v", body)
		}
	}},
	{"2 what is left out has its default", func(t *testing.T, s *service) {
		body := apptest.JSON[map[string]any](t, s.register(t).Must(t, 201))
		grants, _ := json.Marshal(body["grant_types"])
		if body["token_endpoint_auth_method"] != "client_secret_basic" ||
			string(grants) != `["authorization_code","refresh_token"]` || body["response_types"].([]any)[0] != "code" {
			t.Errorf("%v", body)
		}
	}},
	{"2.1 grant types and response types fit together", func(t *testing.T, s *service) {
		refused(t, s.register(t, "grant_types", []string{"implicit"}, "response_types", []string{"token"}), 400,
			"invalid_client_metadata")
		refused(t, s.register(t, "grant_types", []string{"authorization_code"}, "response_types", []string{"token"}), 400,
			"invalid_client_metadata")
		s.register(t, "grant_types", []string{"authorization_code"}, "response_types", []string{"code"}).Must(t, 201)
	}},
	{"3 POST of JSON only", func(t *testing.T, s *service) {
		s.Get(t, "", "/oauth/register").Must(t, http.StatusMethodNotAllowed)
		s.send(t, "/oauth/register", "client_name=x").Must(t, http.StatusUnsupportedMediaType)
	}},
	{"3.2.1 the answer: 201, all that is registered, a secret's expiry, not to be kept", func(t *testing.T, s *service) {
		a := s.register(t, "client_name", "Plan B", "client_uri", "https://planner.example/", "scope",
			"openid rider.trips:read", "contacts", []string{"ops@planner.example"}).Must(t, 201)
		body := apptest.JSON[map[string]any](t, a)
		if a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Pragma") != "no-cache" ||
			a.Header.Get("Content-Type") != "application/json" {
			t.Errorf("headers %v", a.Header)
		}
		if body["client_id"] == "" || body["client_secret"] == "" || body["client_secret_expires_at"] != 0.0 ||
			body["client_name"] != "Plan B" ||
			body["client_uri"] != "https://planner.example/" || body["scope"] != "openid rider.trips:read" ||
			body["contacts"].([]any)[0] != "ops@planner.example" {
			t.Errorf("%v", body)
		}
		public := apptest.JSON[map[string]any](t, s.register(t, "token_endpoint_auth_method", "none").Must(t, 201))
		if public["client_secret"] != nil || public["client_secret_expires_at"] != nil {
			t.Errorf("a secret for a public client: %v", public)
		}
	}},
	{"3.2.1 a client_id is of one client only", func(t *testing.T, s *service) {
		one, two := s.client(t), s.client(t)
		if one.id == two.id || one.secret == two.secret || one.management == two.management {
			t.Error("two registrations share something")
		}
	}},
	{"3.2.2 errors: 400 with the error's code", func(t *testing.T, s *service) {
		for name, tc := range map[string]struct {
			member string
			value  any
			want   string
		}{
			"a fragment":        {"redirect_uris", []string{callback + "#x"}, "invalid_redirect_uri"},
			"not absolute":      {"redirect_uris", []string{"/cb"}, "invalid_redirect_uri"},
			"none":              {"redirect_uris", []string{}, "invalid_redirect_uri"},
			"a script":          {"redirect_uris", []string{"javascript:alert(1)"}, "invalid_redirect_uri"},
			"plain http":        {"redirect_uris", []string{"http://planner.example/cb"}, "invalid_redirect_uri"},
			"a method":          {"token_endpoint_auth_method", "private_key_jwt", "invalid_client_metadata"},
			"a grant":           {"grant_types", []string{"password", "refresh_token"}, "invalid_client_metadata"},
			"a wrong type":      {"redirect_uris", "https://planner.example/cb", "invalid_client_metadata"},
			"a name of control": {"client_name", "a\u202eb", "invalid_client_metadata"},
		} {
			a := s.register(t, tc.member, tc.value)
			if a.Status != 400 || a.Code() != tc.want {
				t.Errorf("%s: %d %s", name, a.Status, a.Body)
			}
			saysError(t, a)
		}
	}},
	{"5 the platform's own name is nobody else's", func(t *testing.T, s *service) {
		for _, name := range []string{"SVC", "s v c", "ＳＶＣ", "Svc Support", "ѕvс", "Official Login"} {
			refused(t, s.register(t, "client_name", name), 400, "invalid_client_metadata")
		}
	}},
}

// manage sends a management request.
func (s *service) manage(t testing.TB, method string, a registration, token, body string) apptest.Answer {
	t.Helper()
	return s.Do(t, apptest.Request{Method: method, Path: "/oauth/register/" + a.id, Token: token, Body: body})
}

func replacing(a registration, changes ...any) string {
	body := map[string]any{"client_id": a.id, "client_name": "Planner 2", "redirect_uris": []string{callback},
		"audiences":                  []string{"rider"},
		"token_endpoint_auth_method": "client_secret_post"}
	for i := 0; i+1 < len(changes); i += 2 {
		body[changes[i].(string)] = changes[i+1]
	}
	text, _ := json.Marshal(body)
	return string(text)
}

var rules7592 = []rule{
	{"2 without its token nothing is revealed", func(t *testing.T, s *service) {
		a, other := s.client(t), s.client(t)
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			for name, token := range map[string]string{"none": "", "another client's": other.management, "the secret": a.secret,
				"an access token": s.signIn(t, s.public).Access} {
				got := s.manage(t, method, a, token, "")
				if got.Status != http.StatusUnauthorized || !strings.HasPrefix(got.Header.Get("WWW-Authenticate"), "Bearer") {
					t.Errorf("%s, %s: %d %s", method, name, got.Status, got.Body)
				}
			}
		}
		s.manage(t, http.MethodGet, a, a.management, "").Must(t, 200)
	}},
	{"2 an unknown client gets the response of a wrong token; the token stays valid", func(t *testing.T, s *service) {
		a := s.client(t)
		gone := s.manage(t, http.MethodGet, registration{id: "cli_01J00000000000000000000000"}, a.management, "")
		wrong := s.manage(t, http.MethodGet, a, unknown(), "")
		if gone.Status != 401 || string(gone.Body) != string(wrong.Body) {
			t.Errorf("%s and %s", gone.Body, wrong.Body)
		}
	}},
	{"2.1 reading gives what is registered and no secret", func(t *testing.T, s *service) {
		a := s.client(t)
		got := s.manage(t, http.MethodGet, a, a.management, "").Must(t, 200)
		body := apptest.JSON[map[string]any](t, got)
		if body["client_id"] != a.id || body["client_secret"] != nil ||
			body["registration_client_uri"] != s.URL+"/oauth/register/"+a.id ||
			body["registration_access_token"] != a.management {
			t.Errorf("%s", got.Body)
		}
		if got.Header.Get("Cache-Control") != "no-store" || got.Header.Get("Pragma") != "no-cache" {
			t.Errorf("headers %v", got.Header)
		}
	}},
	{"2.2 replacing names the client and, if any, its secret", func(t *testing.T, s *service) {
		a := s.client(t)
		for name, body := range map[string]string{"another client": replacing(registration{id: s.public.id}),
			"another secret": replacing(a, "client_secret", "x"), "no client": `{}`, "no JSON": `x`} {
			if got := s.manage(t, http.MethodPut, a, a.management, body); got.Status != 400 {
				t.Errorf("%s: %d %s", name, got.Status, got.Body)
			}
		}
		s.manage(t, http.MethodPut, a, a.management, replacing(a, "client_secret", a.secret)).Must(t, 200)
	}},
	{"2.2 what is left out is gone, what is wrong changes nothing", func(t *testing.T, s *service) {
		a := s.client(t, "client_uri", "https://planner.example/", "redirect_uris",
			[]string{callback, "https://planner.example/two"})
		refused(t, s.manage(t, http.MethodPut, a, a.management,
			replacing(a, "redirect_uris", []string{"http://planner.example/"})), 400, "invalid_redirect_uri")
		if body := apptest.JSON[map[string]any](t,
			s.manage(t, http.MethodGet, a, a.management, "")); len(body["redirect_uris"].([]any)) != 2 {
			t.Errorf("%v", body)
		}
		body := apptest.JSON[map[string]any](t, s.manage(t, http.MethodPut, a, a.management, replacing(a)).Must(t, 200))
		if body["client_uri"] != nil || body["client_name"] != "Planner 2" {
			t.Errorf("%v", body)
		}
		if got := s.answer(t, a, "redirect_uri", "https://planner.example/two"); got.status != 400 || got.location != "" {
			t.Errorf("an address that was removed: %d to %q", got.status, got.location)
		}
	}},
	{"2.3 a deleted client is gone with all that it had", func(t *testing.T, s *service) {
		a := s.client(t, "token_endpoint_auth_method", "none")
		got := s.signIn(t, a)
		code := s.code(t, a)
		if done := s.manage(t, http.MethodDelete, a, a.management, ""); done.Status != http.StatusNoContent ||
			len(done.Body) != 0 || done.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%d %s", done.Status, done.Body)
		}
		s.manage(t, http.MethodGet, a, a.management, "").Must(t, 401)
		s.manage(t, http.MethodDelete, a, a.management, "").Must(t, 401)
		if s.lives(t, got.Access) {
			t.Error("its access token lives")
		}
		refused(t, s.refresh(t, a, got.Refresh), 401, "invalid_client")
		refused(t, s.redeem(t, a, code), 401, "invalid_client")
		if got := s.answer(t, a); got.status != 400 || got.location != "" {
			t.Errorf("it may ask: %d to %q", got.status, got.location)
		}
	}},
	{"3 a change gives a new registration token, whose first use ends the old one", func(t *testing.T, s *service) {
		a := s.client(t)
		body := apptest.JSON[map[string]any](t, s.manage(t, http.MethodPut, a, a.management, replacing(a)).Must(t, 200))
		next, _ := body["registration_access_token"].(string)
		if next == "" || next == a.management {
			t.Errorf("%q", next)
		}
		s.manage(t, http.MethodGet, a, a.management, "").Must(t, 200) // the answer to the change may be lost
		s.manage(t, http.MethodGet, a, next, "").Must(t, 200)
		s.manage(t, http.MethodGet, a, a.management, "").Must(t, 401)
	}},
}

var rules8252 = []rule{
	{"7.1 a private-use scheme is a reversed domain name, or a known public client's", func(t *testing.T, s *service) {
		for uri, good := range map[string]bool{"com.example.app:/cb": true, "com.example.app:/": true, "app:/cb": false,
			"cursor://cb": false, "data:/cb": false} {
			a := s.register(t, "application_type", "native", "redirect_uris", []string{uri})
			public := s.register(t, "redirect_uris", []string{uri}, "token_endpoint_auth_method", "none")
			if (a.Status == 201) != good || (public.Status == 201) != (good || uri == "cursor://cb") {
				t.Errorf("%s: %d %s, public %d %s", uri, a.Status, a.Body, public.Status, public.Body)
			}
		}
	}},
	{"7.3 a loopback address has any port, of either version", func(t *testing.T, s *service) {
		a := s.client(t, "application_type", "native", "redirect_uris", []string{"http://127.0.0.1/cb", "http://[::1]/cb"},
			"token_endpoint_auth_method", "none")
		for _, uri := range []string{"http://127.0.0.1/cb", "http://127.0.0.1:51004/cb", "http://[::1]:61023/cb"} {
			got := s.answer(t, a, "redirect_uri", uri)
			if got.page() != "code" || !strings.HasPrefix(got.location, uri+"?") {
				t.Fatalf("%s: %d %s", uri, got.status, got.location)
			}
			s.redeem(t, a, got.answer.Get("code"), "redirect_uri", uri).Must(t, 200)
		}
		code := s.code(t, a, "redirect_uri", "http://127.0.0.1:5000/cb")
		refused(t, s.redeem(t, a, code, "redirect_uri", "http://127.0.0.1:5001/cb"), 400, "invalid_grant")
	}},
	{"8.1 native clients use PKCE", func(t *testing.T, s *service) {
		a := s.client(t, "application_type", "native", "redirect_uris", []string{"com.example.app:/cb"},
			"token_endpoint_auth_method", "none")
		if got := s.answer(t, a, "redirect_uri", "com.example.app:/cb", "code_challenge",
			""); got.page() != "invalid_request" {
			t.Errorf("%s", got.page())
		}
	}},
	{"8.4 besides the port nothing of the address may differ", func(t *testing.T, s *service) {
		a := s.client(t, "application_type", "native", "redirect_uris", []string{"http://127.0.0.1/cb",
			"com.example.app:/cb"}, "token_endpoint_auth_method", "none")
		for _, uri := range []string{"http://127.0.0.1:80/cb/", "http://127.0.0.1:80/", "http://127.0.0.2/cb",
			"http://localhost/cb", "https://127.0.0.1/cb", "com.example.app:/cb/x", "com.example.app.evil:/cb"} {
			if got := s.answer(t, a, "redirect_uri", uri); got.status != 400 || got.location != "" {
				t.Errorf("%s: %d to %q", uri, got.status, got.location)
			}
		}
	}},
	{"8.6 each request needs consent if any application could have the address", func(t *testing.T, s *service) {
		a := s.client(t, "application_type", "native", "redirect_uris", []string{"com.example.app:/cb"},
			"token_endpoint_auth_method", "none")
		s.code(t, a, "redirect_uri", "com.example.app:/cb")
		got := s.browser.get("/oauth/authorize?" + s.authorization(a, "redirect_uri", "com.example.app:/cb").Encode())
		if got.page() != "consent" {
			t.Errorf("the second time: %s", got.page())
		}
		if got := s.answer(t, a, "redirect_uri", "com.example.app:/cb", "prompt", "none"); got.page() != "consent_required" {
			t.Errorf("without a page: %s", got.page())
		}
	}},
}

var rules8414 = []rule{
	{"2 issuer is an address without query and fragment, and prefix of every endpoint", func(t *testing.T, s *service) {
		doc := s.document(t, "/.well-known/oauth-authorization-server")
		issuer, _ := doc["issuer"].(string)
		if issuer != s.URL || strings.ContainsAny(issuer, "?#") {
			t.Errorf("issuer %q", issuer)
		}
		for _, name := range []string{"authorization_endpoint", "token_endpoint", "jwks_uri", "registration_endpoint",
			"revocation_endpoint", "introspection_endpoint"} {
			if at, _ := doc[name].(string); !strings.HasPrefix(at, issuer+"/") {
				t.Errorf("%s is %v", name, doc[name])
			}
		}
	}},
	{"2 response_types_supported is there, code_challenge_methods_supported says S256 alone",
		func(t *testing.T, s *service) {
			doc := s.document(t, "/.well-known/oauth-authorization-server")
			if list(doc, "response_types_supported") != "code" || list(doc, "code_challenge_methods_supported") != "S256" ||
				list(doc, "grant_types_supported") != "authorization_code refresh_token client_credentials "+tokens.DeviceGrant {
				t.Errorf("%v", doc)
			}
			if methods := list(doc, "introspection_endpoint_auth_methods_supported"); strings.Contains(methods, "none") {
				t.Errorf("introspection by %s", methods)
			}
		}},
	{"3.1 the path of the issuer's host", func(t *testing.T, s *service) {
		for _, path := range []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
			s.Get(t, "", path).Must(t, 200)
			s.Post(t, "", path, "{}").Must(t, http.StatusMethodNotAllowed)
		}
	}},
	{"3.2 JSON, without empty lists and nulls", func(t *testing.T, s *service) {
		if kind := s.Get(t, "",
			"/.well-known/oauth-authorization-server").Header.Get("Content-Type"); kind != "application/json" {
			t.Errorf("type %q", kind)
		}
		for name, value := range s.document(t, "/.well-known/oauth-authorization-server") {
			if many, is := value.([]any); value == nil || (is && len(many) == 0) {
				t.Errorf("%s is empty", name)
			}
		}
	}},
	{"3.3 another host's request gets the same issuer", func(t *testing.T, s *service) {
		got := newServiceBrowser(t, s.Service).get("/.well-known/oauth-authorization-server", "Host", "evil.example",
			"X-Forwarded-Host", "evil.example")
		if strings.Contains(got.body, "evil.example") || !strings.Contains(got.body, `"issuer":"`+s.URL+`"`) {
			t.Errorf("%s", got.body)
		}
	}},
	{"2 what is promised of methods holds", func(t *testing.T, s *service) {
		doc := s.document(t, "/.well-known/oauth-authorization-server")
		for _, name := range []string{"token_endpoint_auth_methods_supported", "revocation_endpoint_auth_methods_supported"} {
			if list(doc, name) != "none client_secret_basic client_secret_post private_key_jwt" {
				t.Errorf("%s: %v", name, doc[name])
			}
		}
		for _, a := range []registration{s.public, s.basic, s.post} {
			s.form(t, a, "/oauth/revoke", "token", "x").Must(t, 200)
			refused(t, s.refresh(t, a, "x"), 400, "invalid_grant")
		}
	}},
}

// list joins a list of texts.
func list(doc map[string]any, name string) string {
	var out []string
	all, _ := doc[name].([]any)
	for _, one := range all {
		text, _ := one.(string)
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

var rules9700 = []rule{
	{"2.1 redirect addresses are compared as texts", func(t *testing.T, s *service) {
		for _, uri := range []string{callback + "/", callback + "?x", strings.ToUpper(callback),
			"https://app.example:443/callback", "https://app.example/%63allback"} {
			if got := newServiceBrowser(t, s.Service).get("/oauth/authorize?" +
				s.authorization(s.public, "redirect_uri", uri).Encode()); got.status != 400 || got.location != "" {
				t.Errorf("%s: %d to %q", uri, got.status, got.location)
			}
		}
	}},
	{"2.1.1 PKCE of every client, and no code without a challenge", func(t *testing.T, s *service) {
		for _, a := range []registration{s.public, s.basic, s.post} {
			if got := s.answer(t, a, "code_challenge", "", "code_challenge_method", "").page(); got != "invalid_request" {
				t.Errorf("%s", got)
			}
		}
	}},
	{"2.1.2 no implicit grant", func(t *testing.T, s *service) {
		for _, kind := range []string{"token", "id_token", "id_token token", "code token", "code id_token", "none"} {
			got := s.answer(t, s.public, "response_type", kind)
			if got.page() != "unsupported_response_type" || strings.Contains(got.location, "#") {
				t.Errorf("%s: %s", kind, got.location)
			}
		}
	}},
	{"2.2.2 refresh tokens of public clients rotate", func(t *testing.T, s *service) {
		got := s.signIn(t, s.public)
		next := apptest.JSON[granted](t, s.refresh(t, s.public, got.Refresh).Must(t, 200))
		if next.Refresh == got.Refresh {
			t.Error("it is the same")
		}
	}},
	{"2.3 a token holds no more than was asked for", func(t *testing.T, s *service) {
		got := s.signIn(t, s.public, "scope", "rider.trips:read")
		refused(t, s.Get(t, got.Access, "/api/v1/me/wallet"), 403, "insufficient_scope")
		if got.ID != "" {
			t.Error("an id_token that nobody asked for")
		}
	}},
	{"2.4 no password grant", func(t *testing.T, s *service) {
		refused(t, s.form(t, s.public, "/oauth/token", "grant_type", "password", "username", s.rider.Email, "password",
			password), 400, "unsupported_grant_type")
	}},
	{"4.14.2 a refresh token that is not used ends", func(t *testing.T, s *service) {
		got := s.signIn(t, s.public)
		s.Clock.Advance(90 * 24 * time.Hour)
		refused(t, s.refresh(t, s.public, got.Refresh), 400, "invalid_grant")
	}},
}
