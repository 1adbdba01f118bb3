package oauth_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc/pkg/authz"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/oauth"
)

func TestRegistration(t *testing.T) {
	w := newWorld(t)
	many := make([]string, 21)
	for i := range many {
		many[i] = callback
	}
	const redirect, meta = "invalid_redirect_uri", "invalid_client_metadata"
	uris := func(list ...string) map[string]any { return map[string]any{"redirect_uris": list} }
	native := func(uri string) map[string]any {
		return map[string]any{"redirect_uris": []string{uri}, "application_type": "native"}
	}
	with := func(name string, value any) map[string]any { return map[string]any{name: value} }
	for name, tc := range map[string]struct {
		change map[string]any
		want   string // "" is 201
	}{
		"https":                                {uris(callback), ""},
		"https with port and query":            {uris("https://app.example:8443/cb?x=1"), ""},
		"loopback http of a native client":     {native("http://127.0.0.1/cb"), ""},
		"loopback http, IPv6":                  {native("http://[::1]:1234/cb"), ""},
		"loopback http, type not given":        {uris("http://localhost:3000/cb"), ""},
		"private scheme of a native client":    {native("com.example.app:/cb"), ""},
		"RFC 6749 3.1.2 fragment":              {uris(callback + "#x"), redirect},
		"empty fragment":                       {uris(callback + "#"), redirect},
		"relative":                             {uris("/callback"), redirect},
		"wildcard host":                        {uris("https://*.app.example/cb"), redirect},
		"wildcard path":                        {uris("https://app.example/*"), redirect},
		"user information":                     {uris("https://app.example@evil.example/"), redirect},
		"dot segments":                         {uris("https://app.example/a/../b"), redirect},
		"encoded dot segments":                 {uris("https://app.example/a/%2e%2e/b"), redirect},
		"backslash":                            {uris(`https://app.example\@evil.example/`), redirect},
		"control character":                    {uris("https://app.example/\r\nSet-Cookie:a=b"), redirect},
		"http that is not loopback":            {native("http://app.example/cb"), redirect},
		"http that only begins like loopback":  {native("http://127.0.0.1.evil.example/cb"), redirect},
		"OIDC Registration 2 loopback, web":    {map[string]any{"redirect_uris": []string{"http://127.0.0.1/cb"}, "application_type": "web"}, redirect},
		"private scheme, web":                  {map[string]any{"redirect_uris": []string{"com.example.app:/cb"}, "application_type": "web"}, redirect},
		"RFC 8252 7.1 scheme without a dot":    {native("myapp://cb"), redirect},
		"javascript":                           {native("javascript:alert(1)"), redirect},
		"data":                                 {native("data:text/html,x"), redirect},
		"no host":                              {uris("https:///cb"), redirect},
		"none":                                 {uris(), redirect},
		"too many":                             {uris(many...), redirect},
		"too long":                             {uris("https://app.example/" + strings.Repeat("a", 2000)), redirect},
		"record too large":                     {uris("https://a.example/"+strings.Repeat("a", 1900), "https://b.example/"+strings.Repeat("a", 1900)), meta},
		"RFC 7591 2 unknown members":           {with("x_unknown", map[string]any{"a": 1}), ""},
		"unknown method":                       {with("token_endpoint_auth_method", "private_key_jwt"), meta},
		"grant types of ours":                  {with("grant_types", []string{"authorization_code", "refresh_token"}), ""},
		"implicit":                             {with("grant_types", []string{"implicit"}), meta},
		"refresh alone":                        {with("grant_types", []string{"refresh_token"}), meta},
		"response type token":                  {with("response_types", []string{"token"}), meta},
		"unknown audience":                     {with("audiences", []string{"admin"}), meta},
		"no audience":                          {with("audiences", []string{}), meta},
		"scope of the audiences":               {map[string]any{"audiences": []string{"rider"}, "scope": "openid rider.trips:read"}, ""},
		"audiences from the scope":             {map[string]any{"audiences": nil, "scope": "rider.trips:read"}, ""},
		"scope of another audience":            {map[string]any{"audiences": []string{"rider"}, "scope": "tenant.trips:read"}, meta},
		"unknown scope":                        {with("scope", "everything"), meta},
		"ES256":                                {with("id_token_signed_response_alg", "ES256"), ""},
		"alg none":                             {with("id_token_signed_response_alg", "none"), meta},
		"HS256":                                {with("id_token_signed_response_alg", "HS256"), meta},
		"http logo":                            {with("logo_uri", "http://app.example/logo.png"), meta},
		"javascript policy":                    {with("policy_uri", "javascript:alert(1)"), meta},
		"logo":                                 {with("logo_uri", "https://app.example/logo.png"), ""},
		"application type":                     {with("application_type", "mobile"), meta},
		"name of another type":                 {with("client_name", 7), meta},
		"name in any script":                   {with("client_name", "配車アプリ"), ""},
		"name without letters":                 {with("client_name", "🚕"), ""},
		"blank name":                           {with("client_name", "   "), meta},
		"name of 100":                          {with("client_name", strings.Repeat("é", 100)), ""},
		"name of 101":                          {with("client_name", strings.Repeat("é", 101)), meta},
		"control character in the name":        {with("client_name", "a\nb"), meta},
		"direction override in the name":       {with("client_name", "a\u202eb"), meta},
		"zero width in the name":               {with("client_name", "s\u200bvc"), meta},
		"the platform's name":                  {with("client_name", "SVC"), meta},
		"the platform's name in a phrase":      {with("client_name", "Official SVC app"), meta},
		"the platform's name, spelled":         {with("client_name", "S.V.C."), meta},
		"the platform's name, Cyrillic":        {with("client_name", "ѕvс"), meta},
		"the platform's name, full width":      {with("client_name", "ＳＶＣ"), meta},
		"the platform's name, digit":           {with("client_name", "5vc Support"), meta},
		"the platform's name, accent":          {with("client_name", "śvć"), meta},
		"a name that says it is the system":    {with("client_name", "Official Support"), meta},
		"a name that contains the letters":     {with("client_name", "Travcast"), ""},
		"post logout redirect with a fragment": {with("post_logout_redirect_uris", []string{callback + "#x"}), meta},
	} {
		t.Run(name, func(t *testing.T) {
			body := map[string]any{"client_name": "Test client", "redirect_uris": []string{callback}, "token_endpoint_auth_method": "none", "audiences": []string{"rider"}}
			for member, value := range tc.change {
				if body[member] = value; value == nil {
					delete(body, member)
				}
			}
			r := w.json(http.MethodPost, "/oauth/register", "", body)
			status := http.StatusCreated
			if tc.want != "" {
				status = http.StatusBadRequest
			}
			w.expect(r, status, tc.want)
		})
	}
}

func TestRegistrationBodies(t *testing.T) {
	w := newWorld(t)
	for name, body := range map[string]string{
		"not JSON": "{", "array": "[]", "null": "null", "text": `"x"`, "two values": "{} {}", "not UTF-8": "{\"client_name\":\"\xff\"}",
	} {
		t.Run(name, func(t *testing.T) {
			w.expect(w.json(http.MethodPost, "/oauth/register", "", body), http.StatusBadRequest, "invalid_client_metadata")
		})
	}
	large := `{"client_name":"` + strings.Repeat("a", 70_000) + `"}`
	w.expect(w.json(http.MethodPost, "/oauth/register", "", large), http.StatusRequestEntityTooLarge, "payload_too_large")
	r := httptest.NewRequest(http.MethodPost, "/oauth/register", strings.NewReader("{}"))
	w.expect(w.do(r), http.StatusUnsupportedMediaType, "unsupported_media_type")
}

func TestRegistrationAnswer(t *testing.T) {
	w := newWorld(t)
	r := w.json(http.MethodPost, "/oauth/register", "", map[string]any{"client_name": "Shop", "redirect_uris": []string{callback}, "audiences": []string{"rider"},
		"scope": "openid rider.trips:read"})
	if r.status != http.StatusCreated || r.text("token_endpoint_auth_method") != "client_secret_basic" || r.text("client_secret") == "" ||
		r.body["client_secret_expires_at"] != 0.0 || r.text("scope") != "openid rider.trips:read" ||
		r.text("registration_client_uri") != baseURL+"/oauth/register/"+r.text("client_id") || r.text("registration_access_token") == "" {
		t.Errorf("RFC 7591 3.2.1: %s", r.raw)
	}
	c, err := w.server.ClientOf(t.Context(), r.text("client_id"))
	if err != nil || c.SecretHash != ids.Hash(r.text("client_secret")) || strings.Contains(c.SecretHash+c.ManagementHash, r.text("client_secret")) {
		t.Errorf("what is stored: %+v, %v", c, err)
	}
	public := w.json(http.MethodPost, "/oauth/register", "", map[string]any{"redirect_uris": []string{callback}, "audiences": []string{"rider"}, "token_endpoint_auth_method": "none"})
	if _, has := public.body["client_secret"]; has {
		t.Error("a public client gets a secret")
	}
}

func TestManagement(t *testing.T) {
	w := newWorld(t)
	a := w.register(map[string]any{"token_endpoint_auth_method": "client_secret_post"})
	other := w.register(nil)
	path := "/oauth/register/" + a.id
	for name, token := range map[string]string{"no token": "", "wrong token": ids.Secret(), "another client's": other.management, "the secret": a.secret} {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			t.Run(method+" "+name, func(*testing.T) {
				w.expect(w.json(method, path, token, "{}"), http.StatusUnauthorized, "invalid_token")
			})
		}
	}
	w.expect(w.json(http.MethodGet, "/oauth/register/cli_01HZZZZZZZZZZZZZZZZZZZZZZZ", a.management, ""), http.StatusUnauthorized, "invalid_token")
	r := w.json(http.MethodGet, path, a.management, "")
	if r.status != http.StatusOK || r.text("client_name") != "Test client" || r.text("client_secret") != "" {
		t.Errorf("RFC 7592 2.1: %d %s", r.status, r.raw)
	}
	body := map[string]any{"client_id": a.id, "client_secret": a.secret, "client_name": "Renamed", "redirect_uris": []string{"https://app.example/new"},
		"token_endpoint_auth_method": "client_secret_post", "audiences": []string{"rider"}}
	for name, change := range map[string]map[string]any{
		"another client_id": {"client_id": other.id}, "no client_id": {"client_id": nil}, "another secret": {"client_secret": "x"},
	} {
		t.Run(name, func(*testing.T) {
			bad := map[string]any{}
			for member, value := range body {
				bad[member] = value
			}
			for member, value := range change {
				bad[member] = value
			}
			w.expect(w.json(http.MethodPut, path, a.management, bad), http.StatusBadRequest, "invalid_request")
		})
	}
	r = w.json(http.MethodPut, path, a.management, body)
	next := r.text("registration_access_token")
	if r.status != http.StatusOK || r.text("client_name") != "Renamed" || next == "" || next == a.management || r.text("client_secret") != "" {
		t.Errorf("RFC 7592 2.2: %d %s", r.status, r.raw)
	}
	w.expect(w.json(http.MethodGet, path, a.management, ""), http.StatusUnauthorized, "invalid_token")
	tokens := w.signIn(app{other.id, "", ""}, authz.Rider, "rider.trips:read")
	if r := w.json(http.MethodDelete, "/oauth/register/"+other.id, other.management, ""); r.status != http.StatusNoContent {
		t.Errorf("RFC 7592 2.3: %d %s", r.status, r.raw)
	}
	if w.alive(tokens.text("access_token")) {
		t.Error("a deleted client's token lives")
	}
	w.expect(w.refresh(other, tokens.text("refresh_token")), http.StatusUnauthorized, "invalid_client")
	w.expect(w.json(http.MethodGet, "/oauth/register/"+other.id, other.management, ""), http.StatusUnauthorized, "invalid_token")
}

func TestUnusedClientsExpire(t *testing.T) {
	w := newWorld(t)
	unused, used := w.register(nil), w.register(nil)
	w.signIn(used, authz.Rider, "rider.trips:read")
	w.clock.add(oauth.UnusedLife + time.Second)
	if _, err := w.server.ClientOf(t.Context(), unused.id); err == nil {
		t.Error("an unused client did not expire")
	}
	if r := w.signIn(used, authz.Rider, "rider.trips:read"); !w.alive(r.text("access_token")) {
		t.Error("a used client expired")
	}
}

func TestDisableClient(t *testing.T) {
	w := newWorld(t)
	a := w.register(nil)
	tokens := w.signIn(a, authz.Rider, "rider.trips:read")
	if err := w.server.DisableClient(t.Context(), a.id, true); err != nil {
		t.Fatal(err)
	}
	if w.alive(tokens.text("access_token")) {
		t.Error("a disabled client's token lives")
	}
	w.expect(w.refresh(a, tokens.text("refresh_token")), http.StatusUnauthorized, "invalid_client")
	if err := w.server.DisableClient(t.Context(), a.id, false); err != nil {
		t.Fatal(err)
	}
	if r := w.refresh(a, tokens.text("refresh_token")); r.status != http.StatusOK {
		t.Errorf("enabled again: %d %s", r.status, r.raw)
	}
	if err := w.server.DisableClient(t.Context(), ids.New(ids.Client, w.clock.now()), true); !errors.Is(err, fault.NotFound()) {
		t.Errorf("unknown client: %v", err)
	}
}

func FuzzRegistration(f *testing.F) {
	f.Add([]byte(`{"client_name":"A","redirect_uris":["https://app.example/"],"audiences":["rider"],"scope":"openid"}`))
	f.Add([]byte(`{"redirect_uris":["com.example.app:/x","http://[::1]:9/"],"audiences":["driver"],"application_type":"native"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := oauth.ReadRegistration(body)
		if err != nil {
			var e *oauth.Error
			if !errors.As(err, &e) || e.Status != http.StatusBadRequest {
				t.Errorf("%q: %v", body, err)
			}
			return
		}
		if len(c.RedirectURIs) == 0 || len(c.Audiences) == 0 || len(c.Scopes) == 0 || c.Name == "" {
			t.Errorf("%q is taken as %+v", body, c)
		}
		for _, uri := range c.RedirectURIs {
			if strings.ContainsAny(uri, "#* \r\n\t\\\"<>") {
				t.Errorf("%q may be redirected to", uri)
			}
		}
	})
}
