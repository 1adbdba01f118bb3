package oauth_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"svc/internal/test/apptest"
)

var attacksBySize = []rule{
	{"bodies over 64 KiB", func(t *testing.T, s *service) {
		large := strings.Repeat("a", 66<<10)
		for _, path := range []string{"/oauth/token", "/oauth/revoke", "/oauth/introspect", "/oauth/authorize",
			"/oauth/signin?" + s.authorization(s.public).Encode(), "/oauth/logout", "/oauth/userinfo"} {
			if a := s.send(t, path, "x="+large); a.Status != http.StatusRequestEntityTooLarge {
				t.Errorf("%s: %d", path, a.Status)
			}
		}
		if a := s.register(t, "x", large); a.Status != http.StatusRequestEntityTooLarge {
			t.Errorf("registration: %d", a.Status)
		}
	}},
	{"long parameters are refused and never a 500", func(t *testing.T, s *service) {
		long := strings.Repeat("a", 5000)
		for _, name := range []string{"client_id", "redirect_uri", "state", "nonce", "scope", "tenant_hint", "code_challenge",
			"login_hint", "id_token_hint", "resource", "prompt", "max_age", "ui_locales", "x"} {
			if a := newServiceBrowser(t, s.Service).get("/oauth/authorize?" + s.authorization(s.public, name,
				long).Encode()); a.status >= 500 {
				t.Errorf("%s: %d", name, a.status)
			}
		}
		for _, name := range []string{"grant_type", "code", "redirect_uri", "code_verifier", "client_id", "client_secret",
			"refresh_token", "scope", "resource", "token", "token_type_hint"} {
			for _, path := range []string{"/oauth/token", "/oauth/revoke", "/oauth/introspect"} {
				pairs := map[string]string{"grant_type": "authorization_code", "code": "x", "redirect_uri": callback,
					"code_verifier": verifier, "client_id": s.public.id, "token": "x"}
				pairs[name] = strings.Repeat("b", 50_000)
				var all []string
				for k, v := range pairs {
					all = append(all, k, v)
				}
				if a := s.send(t, path, formOf(all...).Encode()); a.Status >= 500 {
					t.Errorf("%s at %s: %d", name, path, a.Status)
				}
			}
		}
	}},
	{"a request that grows too long on its way is refused at its beginning", func(t *testing.T, s *service) {
		// three bytes each when it is written anew
		raw := s.authorization(s.public).Encode() + "&x=" + strings.Repeat("!", 2500)
		if a := newServiceBrowser(t, s.Service).get("/oauth/authorize?" + raw); a.status != 400 {
			t.Errorf("%d", a.status)
		}
		if a := newServiceBrowser(t, s.Service).get("/oauth/authorize?" + strings.ReplaceAll(raw, "!",
			"a")); a.status != 200 {
			t.Errorf("as long, but it does not grow: %d", a.status)
		}
	}},
	{"no answer has headers that a gateway could not carry", func(t *testing.T, s *service) {
		long := "&state=" + strings.Repeat("a", 50_000)
		for _, path := range []string{"/oauth/authorize", "/oauth/logout"} {
			if a := s.send(t, path, s.authorization(s.public).Encode()+long); a.Status != 400 ||
				len(a.Header.Get("Location")) > 0 {
				t.Errorf("%s: %d", path, a.Status)
			}
		}
		for _, path := range []string{"/oauth/signin", "/oauth/tenant", "/oauth/consent"} {
			if a := newServiceBrowser(t, s.Service).get(path + "?" + s.authorization(s.public).Encode() +
				long[:9000]); a.status != 400 {
				t.Errorf("%s: %d", path, a.status)
			}
		}
	}},
	{"many parameters, deep JSON, long headers", func(t *testing.T, s *service) {
		if a := s.send(t, "/oauth/token", strings.Repeat("a&", 30_000)); a.Status >= 500 {
			t.Errorf("many parameters: %d", a.Status)
		}
		deep := `{"client_name":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`
		if a := s.Post(t, "", "/oauth/register", deep); a.Status != 400 {
			t.Errorf("deep JSON: %d", a.Status)
		}
		many := make([]string, 2000)
		for i := range many {
			many[i] = fmt.Sprintf("https://app.example/%d", i)
		}
		for _, a := range []apptest.Answer{s.register(t, "redirect_uris", many), s.register(t, "redirect_uris", many[:20],
			"client_uri", "https://app.example/"+strings.Repeat("x", 1900), "tos_uri",
			"https://app.example/"+strings.Repeat("x", 1900))} {
			if got := apptest.JSON[map[string]any](t, a.Must(t, 201)); len(got["redirect_uris"].([]any)) != 20 ||
				got["client_uri"] != nil && got["tos_uri"] != nil {
				t.Errorf("%v", got)
			}
		}
		for name, value := range map[string]string{"Authorization": "Basic " + strings.Repeat("a", 5000),
			"Cookie":          "svc-session=" + strings.Repeat("a", 5000),
			"Accept-Language": strings.Repeat("en,", 1500)} {
			if a := s.send(t, "/oauth/token", "grant_type=refresh_token&refresh_token=x", name, value); a.Status >= 500 {
				t.Errorf("%s: %d", name, a.Status)
			}
			if a := newServiceBrowser(t, s.Service).get("/oauth/authorize?"+s.authorization(s.public).Encode(), name,
				value); a.status != 200 {
				t.Errorf("%s at authorize: %d", name, a.status)
			}
		}
	}},
	{"bytes that are not text", func(t *testing.T, s *service) {
		for _, raw := range []string{"\x00", "\xff\xfe", "%00", "%ff%fe", "%", "%zz", ";", "a=%E0%80%80", "\u202e"} {
			for _, path := range []string{"/oauth/token", "/oauth/revoke", "/oauth/introspect"} {
				if a := s.send(t, path, "client_id="+raw+"&token="+raw+"&grant_type="+raw); a.Status >= 500 {
					t.Errorf("%q at %s: %d", raw, path, a.Status)
				}
			}
			if a := s.Do(t, apptest.Request{Method: http.MethodPost, Path: "/oauth/register",
				Body: `{"client_name":"` + raw +
					`","redirect_uris":["https://a.example/"],"audiences":["rider"]}`}); a.Status >= 500 {
				t.Errorf("%q at registration: %d", raw, a.Status)
			}
		}
	}},
}
