package oauth_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apptest"
)

// plainText reports whether a text is valid for error_description (RFC 6749
// section 5.2).
func plainText(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' || r > '~' || r == '"' ||
			r == '\\'
	})
}

// saysError checks that an error response has the specified form.
func saysError(t *testing.T, a apptest.Answer) {
	t.Helper()
	var body struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	if err := json.Unmarshal(a.Body, &body); err != nil || !plainText(body.Error) || !plainText(body.Description) {
		t.Errorf("not an error of the form: %s", a.Body)
	}
	if a.Header.Get("Content-Type") != "application/json" || a.Header.Get("Cache-Control") != "no-store" ||
		a.Header.Get("Pragma") != "no-cache" {
		t.Errorf("headers %v", a.Header)
	}
}

var rules6749 = []rule{
	{"2.3 one authentication method a request", func(t *testing.T, s *service) {
		a := s.send(t, "/oauth/token", formOf("grant_type", "refresh_token", "refresh_token", "x", "client_id", s.post.id,
			"client_secret", s.post.secret).Encode(),
			"Authorization", basicHeader(s.post.id, s.post.secret))
		refused(t, a, 400, "invalid_request")
	}},
	{"2.3.1 Basic is form-decoded", func(t *testing.T, s *service) {
		encoded := strings.ReplaceAll(s.basic.id, "_", "%5F")
		a := s.send(t, "/oauth/token", "grant_type=refresh_token&refresh_token=x", "Authorization",
			"Basic "+base64Of(encoded+":"+s.basic.secret))
		refused(t, a, 400, "invalid_grant") // and not invalid_client
	}},
	{"2.3.1 credentials in the URI are not accepted", func(t *testing.T, s *service) {
		q := url.Values{"client_id": {s.post.id}, "client_secret": {s.post.secret}}.Encode()
		refused(t, s.send(t, "/oauth/token?"+q, "grant_type=refresh_token&refresh_token=x"), 400, "invalid_request")
		refused(t, s.send(t, "/oauth/revoke?"+q, "token=x"), 401, "invalid_client")
		refused(t, s.send(t, "/oauth/introspect?"+q, "token=x"), 401, "invalid_client")
	}},
	{"2.3.1 a wrong secret gets the same response as an unknown client", func(t *testing.T, s *service) {
		wrong := s.send(t, "/oauth/token", "grant_type=refresh_token&refresh_token=x", "Authorization",
			basicHeader(s.basic.id, "wrong"))
		nobody := s.send(t, "/oauth/token", "grant_type=refresh_token&refresh_token=x", "Authorization",
			basicHeader("cli_x", "wrong"))
		refused(t, wrong, 401, "invalid_client")
		if string(wrong.Body) != string(nobody.Body) {
			t.Errorf("%s and %s", wrong.Body, nobody.Body)
		}
	}},
	{"3.1 authorize takes GET, and parameters that it does not know", func(t *testing.T, s *service) {
		if got := s.answer(t, s.public, "x_unknown", "1").page(); got != "code" {
			t.Error(got)
		}
	}},
	{"3.1.2.4 no redirect to an address that is not registered", func(t *testing.T, s *service) {
		got := newServiceBrowser(t, s.Service).get("/oauth/authorize?" + s.authorization(s.public, "redirect_uri",
			"https://evil.example/cb").Encode())
		if got.status != 400 || got.location != "" {
			t.Errorf("%d to %q", got.status, got.location)
		}
	}},
	{"3.1.2.5 the answer's page runs no script and sends no Referer", func(t *testing.T, s *service) {
		got := s.answer(t, s.public)
		if got.header.Get("Referrer-Policy") != "no-referrer" || got.body != "" {
			t.Errorf("%v %q", got.header, got.body)
		}
	}},
	{"3.2 the token endpoint takes POST only", func(t *testing.T, s *service) {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			a := s.Do(t, apptest.Request{Method: method, Path: "/oauth/token"})
			if a.Must(t, http.StatusMethodNotAllowed).Header.Get("Allow") != http.MethodPost {
				t.Errorf("Allow: %q", a.Header.Get("Allow"))
			}
		}
	}},
	{"3.2 an empty parameter is omitted", func(t *testing.T, s *service) {
		refused(t, s.send(t, "/oauth/token", "grant_type=&client_id="+s.public.id), 400, "invalid_request")
		a := s.redeem(t, s.public, s.code(t, s.public))
		refresh := apptest.JSON[granted](t, a.Must(t, 200)).Refresh
		s.send(t, "/oauth/token",
			"grant_type=refresh_token&scope=&client_secret=&client_id="+s.public.id+"&refresh_token="+refresh).Must(t, 200)
	}},
	{"3.2 an unknown parameter is ignored, a repeated one refused", func(t *testing.T, s *service) {
		refresh := s.signIn(t, s.public).Refresh
		body := "grant_type=refresh_token&client_id=" + s.public.id + "&refresh_token=" + refresh
		refused(t, s.send(t, "/oauth/token", body+"&client_id="+s.public.id), 400, "invalid_request")
		refused(t, s.send(t, "/oauth/token", body+"&scope=openid&scope=openid"), 400, "invalid_request")
		s.send(t, "/oauth/token", body+"&x_unknown=1").Must(t, 200)
	}},
	{"3.2.1 a confidential client must authenticate, and a failure burns no code", func(t *testing.T, s *service) {
		code := s.code(t, s.basic)
		body := formOf("grant_type", "authorization_code", "code", code, "redirect_uri", callback, "code_verifier", verifier,
			"client_id", s.basic.id).Encode()
		refused(t, s.send(t, "/oauth/token", body), 401, "invalid_client")
		refused(t, s.send(t, "/oauth/token", body, "Authorization", basicHeader(s.basic.id, "wrong")), 401, "invalid_client")
		s.redeem(t, s.basic, code).Must(t, 200)
	}},
	{"3.3 order of the scope has no meaning, and the answer says what was granted", func(t *testing.T, s *service) {
		one, two := s.signIn(t, s.public, "scope", "openid rider.trips:read nothing.such"),
			s.signIn(t, s.public, "scope", "rider.trips:read openid")
		if one.Scope != "openid rider.trips:read" || len(two.Scope) != len(one.Scope) {
			t.Errorf("%q and %q", one.Scope, two.Scope)
		}
	}},
	{"4.1.2 state comes back as it was", func(t *testing.T, s *service) {
		state := `a b+c%20d&e=f"<>~é`
		if got := s.answer(t, s.public, "state", state); got.answer.Get("state") != state {
			t.Errorf("%q", got.answer.Get("state"))
		}
		if got := s.answer(t, s.public, "state", ""); got.answer.Has("state") {
			t.Errorf("%q for none", got.answer.Get("state"))
		}
	}},
	{"4.1.2 a code is good once, and its second use ends its tokens", func(t *testing.T, s *service) {
		code := s.code(t, s.public)
		got := apptest.JSON[granted](t, s.redeem(t, s.public, code).Must(t, 200))
		refused(t, s.redeem(t, s.public, code), 400, "invalid_grant")
		if s.lives(t, got.Access) {
			t.Error("the access token lives")
		}
		refused(t, s.refresh(t, s.public, got.Refresh), 400, "invalid_grant")
	}},
	{"4.1.2 a code is bound to its client", func(t *testing.T, s *service) {
		code := s.code(t, s.public)
		refused(t, s.redeem(t, s.post, code), 400, "invalid_grant")
		s.redeem(t, s.public, code).Must(t, 200)
	}},
	{"4.1.2 a code lives ten minutes at most", func(t *testing.T, s *service) {
		code := s.code(t, s.public)
		s.Clock.Advance(10 * time.Minute)
		refused(t, s.redeem(t, s.public, code), 400, "invalid_grant")
	}},
	{"4.1.2.1 an error goes to the client with its state", func(t *testing.T, s *service) {
		for word, changes := range map[string][]string{"unsupported_response_type": {"response_type", "token"},
			"invalid_request": {"response_type", ""},
			"invalid_scope":   {"scope", "nothing.such"}} {
			got := s.answer(t, s.public, changes...)
			if got.page() != word || got.answer.Get("state") != "s-1" || !plainText(got.answer.Get("error_description")) ||
				!strings.HasPrefix(got.location, callback+"?") {
				t.Errorf("%s: %s", word, got.location)
			}
		}
	}},
	{"4.1.2.1 access_denied when the person says no", func(t *testing.T, s *service) {
		a := s.client(t, "token_endpoint_auth_method", "none")
		page := s.browser.follow(s.browser.get("/oauth/authorize?" + s.authorization(a, "prompt", "consent").Encode()))
		if page.page() == "sign-in" {
			page = s.browser.signIn(page, s.rider.Email)
		}
		if got := s.browser.post(page, "decision", "deny"); got.page() != "access_denied" ||
			got.answer.Get("state") != "s-1" || got.answer.Has("code") {
			t.Errorf("%d %s", got.status, got.location)
		}
	}},
	{"4.1.3 the redirect URI of the token request is the same", func(t *testing.T, s *service) {
		code := s.code(t, s.public)
		for _, other := range []string{"", callback + "/", callback + "?", "https://evil.example/"} {
			if a := s.redeem(t, s.public, code, "redirect_uri", other); a.Status != 400 {
				t.Errorf("%q: %d", other, a.Status)
			}
		}
		s.redeem(t, s.public, code).Must(t, 200)
	}},
	{"5.1 a token answer is JSON that nobody keeps", func(t *testing.T, s *service) {
		a := s.redeem(t, s.public, s.code(t, s.public)).Must(t, 200)
		got := apptest.JSON[granted](t, a)
		if a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Pragma") != "no-cache" ||
			a.Header.Get("Content-Type") != "application/json" {
			t.Errorf("headers %v", a.Header)
		}
		if got.Type != "Bearer" || got.Expires != 3600 || got.Access == "" || got.Refresh == "" || got.Scope == "" {
			t.Errorf("%+v", got)
		}
	}},
	{"5.2 errors have the form", func(t *testing.T, s *service) {
		for _, body := range []string{"", "grant_type=password&client_id=" + s.public.id,
			"grant_type=refresh_token&client_id=x", "client_id=" + s.public.id,
			"grant_type=refresh_token&refresh_token=x&client_id=" + s.public.id, "grant_type=refresh_token&\"\\é=1&\"\\é=2",
			"%zz"} {
			a := s.send(t, "/oauth/token", body)
			if a.Status != 400 && a.Status != 401 {
				t.Errorf("%q: %d", body, a.Status)
			}
			saysError(t, a)
		}
	}},
	{"5.2 invalid_client by Basic names the scheme", func(t *testing.T, s *service) {
		for _, header := range []string{basicHeader(s.basic.id, "x"), "Basic !", "Basic", "Bearer x", "Digest x"} {
			a := s.send(t, "/oauth/token", "grant_type=refresh_token&refresh_token=x", "Authorization", header)
			refused(t, a, 401, "invalid_client")
			if !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Basic ") {
				t.Errorf("%s: WWW-Authenticate %q", header, a.Header.Get("WWW-Authenticate"))
			}
		}
	}},
	{"5.2 unsupported_grant_type", func(t *testing.T, s *service) {
		for _, kind := range []string{"password", "implicit",
			"urn:ietf:params:oauth:grant-type:token-exchange", "Authorization_Code"} {
			refused(t, s.form(t, s.public, "/oauth/token", "grant_type", kind), 400, "unsupported_grant_type")
		}
	}},
	{"6 a refresh token is bound to its client", func(t *testing.T, s *service) {
		got := s.signIn(t, s.public)
		refused(t, s.refresh(t, s.post, got.Refresh), 400, "invalid_grant")
		refused(t, s.refresh(t, s.basic, got.Refresh), 400, "invalid_grant")
		s.refresh(t, s.public, got.Refresh).Must(t, 200)
	}},
	{"6 a confidential client authenticates to refresh", func(t *testing.T, s *service) {
		got := s.signIn(t, s.post)
		a := s.send(t, "/oauth/token", formOf("grant_type", "refresh_token", "refresh_token", got.Refresh, "client_id",
			s.post.id).Encode())
		refused(t, a, 401, "invalid_client")
		s.refresh(t, s.post, got.Refresh).Must(t, 200)
	}},
	{"6 the scope never grows, and a narrower one does not stay", func(t *testing.T, s *service) {
		got := s.signIn(t, s.public, "scope", "openid rider.trips:read")
		refused(t, s.refresh(t, s.public, got.Refresh, "scope", "rider.wallet:read"), 400, "invalid_scope")
		got = apptest.JSON[granted](t, s.refresh(t, s.public, got.Refresh, "scope",
			"openid rider.trips:read rider.wallet:read").Must(t, 200))
		if got.Scope != "openid rider.trips:read" {
			t.Errorf("it grew to %q", got.Scope)
		}
		narrow := apptest.JSON[granted](t, s.refresh(t, s.public, got.Refresh, "scope", "openid").Must(t, 200))
		wide := apptest.JSON[granted](t, s.refresh(t, s.public, narrow.Refresh).Must(t, 200))
		if narrow.Scope != "openid" || wide.Scope != "openid rider.trips:read" {
			t.Errorf("%q then %q", narrow.Scope, wide.Scope)
		}
	}},
	{"10.10 codes and tokens cannot be guessed", func(t *testing.T, s *service) {
		seen := map[string]bool{}
		for range 5 {
			code := s.code(t, s.public)
			got := apptest.JSON[granted](t, s.redeem(t, s.public, code).Must(t, 200))
			for _, secret := range []string{code, got.Refresh[strings.LastIndex(got.Refresh, ".")+1:]} {
				if len(secret) < 43 || seen[secret] { // 256 bits
					t.Errorf("%d characters, seen before: %v", len(secret), seen[secret])
				}
				seen[secret] = true
			}
		}
	}},
}
