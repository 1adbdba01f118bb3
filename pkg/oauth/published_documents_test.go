package oauth_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/oauth/flow"
)

// published are the metadata documents of well-known clients, and addresses
// with which these clients ask for authorization.
var published = []struct {
	at, document string
	redirects    []string
}{
	{"https://vscode.dev/oauth/client-metadata.json", `{"client_name":"Visual Studio Code",
		"logo_uri":"https://code.visualstudio.com/assets/branding/code-stable.png",
		"grant_types":["authorization_code","refresh_token","urn:ietf:params:oauth:grant-type:device_code"],
		"response_types":["code"],"token_endpoint_auth_method":"none","application_type":"native",
		"client_id":"https://vscode.dev/oauth/client-metadata.json","client_uri":"https://vscode.dev/product",
		"redirect_uris":["http://127.0.0.1:33418/","https://vscode.dev/redirect"]}`,
		[]string{"http://127.0.0.1:33418/", "http://127.0.0.1:50112/", "https://vscode.dev/redirect"}},
	{"https://claude.ai/oauth/mcp-oauth-client-metadata", `{
		"client_id":"https://claude.ai/oauth/mcp-oauth-client-metadata",
		"client_name":"Claude","client_uri":"https://claude.ai",
		"redirect_uris":["https://claude.ai/api/mcp/auth_callback"],
		"grant_types":["authorization_code","refresh_token","urn:ietf:params:oauth:grant-type:jwt-bearer"],
		"response_types":["code"],"token_endpoint_auth_method":"none"}`,
		[]string{"https://claude.ai/api/mcp/auth_callback"}},
	{"https://claude.ai/oauth/claude-code-client-metadata", `{
		"client_id":"https://claude.ai/oauth/claude-code-client-metadata",
		"client_name":"Claude Code","client_uri":"https://claude.ai",
		"redirect_uris":["http://localhost/callback","http://127.0.0.1/callback"],
		"grant_types":["authorization_code","refresh_token"],"response_types":["code"],
		"token_endpoint_auth_method":"none"}`,
		[]string{"http://localhost:3118/callback", "http://127.0.0.1:49152/callback", "http://localhost/callback"}},
	{"https://chatgpt.com/oauth/client.json", `{"client_id":"https://chatgpt.com/oauth/client.json",
		"client_uri":"https://chatgpt.com/","redirect_uris":["https://chatgpt.com/connector_platform_oauth_redirect"],
		"token_endpoint_auth_method":"private_key_jwt","token_endpoint_auth_methods_supported":["none","private_key_jwt"],
		"grant_types":["authorization_code","refresh_token"],"response_types":["code"],"client_name":"ChatGPT",
		"logo_uri":"https://persistent.oaistatic.com/sonic/misc/openai-logo.png","token_endpoint_auth_signing_alg":"RS256",
		"jwks_uri":"https://chatgpt.com/oauth/jwks.json"}`,
		[]string{"https://chatgpt.com/connector_platform_oauth_redirect"}},
	{"https://static.example/oauth/client.json", `{"client_id":"https://static.example/oauth/client.json",
		"client_name":"Static","redirect_uris":["http://static.example/cb","com.example.static://cb","static://cb",
			"javascript:alert(1)","https://static.example/cb#x","https://static.example/cb"],
		"post_logout_redirect_uris":["http://static.example/bye","https://static.example/bye"],
		"grant_types":["implicit","client_credentials","authorization_code"],"response_types":["code token","code"],
		"scope":"offline_access openid mcp:tools tenant.trips:read rider.trips:read","audiences":["admin","rider"],
		"id_token_signed_response_alg":"PS512","client_uri":"http://static.example","logo_uri":"data:image/png;base64,AA",
		"application_type":"browser","contacts":"ops@static.example","software_version":"` + strings.Repeat("1.", 80) + `",
		"tos_uri":7,"software_id":["x"]}`,
		[]string{"https://static.example/cb", "com.example.static://cb"}},
}

// People can sign in to well-known clients, with the metadata documents that these
// publish. A published document is the same for every server, so it has members
// that this server cannot use.
func TestPublishedDocuments(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	d := newDocumented(t, apptest.Unthrottled)
	for _, p := range published {
		d.pages[p.at] = p.document
		for _, redirect := range p.redirects {
			o := d.options(p.at)
			o.RedirectURI, o.Resource = redirect, d.URL+"/mcp/rider/metro"
			o.Scope = "openid offline_access rider.trips:read"
			if p.at == "https://static.example/oauth/client.json" {
				o.Resource = ""
			}
			tokens, err := flow.Token(t.Context(), o)
			if err != nil || tokens.Scope != "openid rider.trips:read" {
				t.Errorf("%s to %s: %q %v", p.at, redirect, tokens.Scope, err)
				continue
			}
			next, err := flow.Refresh(t.Context(), o, tokens.RefreshToken)
			if err != nil || next.Scope != tokens.Scope {
				t.Errorf("%s refreshes: %q %v", p.at, next.Scope, err)
			}
		}
	}
}

// What another server's grants, methods and addresses would permit, a document
// does not get here.
func TestPublishedDocumentsAreNotWidened(t *testing.T) {
	t.Parallel()
	d := newDocumented(t, apptest.Unthrottled)
	claude, vscode := published[2].at, published[0].at
	for _, p := range published {
		d.pages[p.at] = p.document
	}
	for client, redirects := range map[string][]string{
		claude: {"http://localhost.evil:3118/callback", "http://localhost:3118/callback/", "http://localhost:3118/Callback",
			"https://localhost:3118/callback", "http://user@localhost:3118/callback",
			"http://localhost:3118@evil.example/callback", "http://[::1]:3118/callback", "http://localhost:99999/callback",
			"http://localhost.:3118/callback"},
		vscode: {"http://localhost:33418/", "http://127.0.0.1:33418", "https://vscode.dev:8080/redirect",
			"http://127.0.0.1:33418/redirect", "vscode://redirect"},
		published[4].at: {"http://static.example/cb", "javascript:alert(1)", "https://static.example/cb#x",
			"com.example.static://cb/x", "COM.EXAMPLE.STATIC://cb", "static://cb"},
	} {
		for _, redirect := range redirects {
			q := d.query(client)
			q.Set("redirect_uri", redirect)
			res, _, err := flow.NewBrowser(d.options(client)).Get(t.Context(), d.URL+"/oauth/authorize?"+q.Encode())
			if err != nil || res.StatusCode != 400 || res.Header.Get("Location") != "" ||
				strings.Contains(res.Body, "href=\"http") {
				t.Errorf("%s to %s: %d to %q %v", client, redirect, res.StatusCode, res.Header.Get("Location"), err)
			}
		}
	}
	for name, changes := range map[string][]any{
		"only a key": {"token_endpoint_auth_method", "private_key_jwt", "jwks_uri", "http://planner.example/keys"},
		"a key of an algorithm that we have not": {"token_endpoint_auth_method", "private_key_jwt", "jwks_uri",
			"https://planner.example/keys", "token_endpoint_auth_signing_alg", "HS256"},
		"a secret or a certificate": {"token_endpoint_auth_method", "tls_client_auth",
			"token_endpoint_auth_methods_supported", []string{"tls_client_auth", "client_secret_jwt"}},
		"a key or a secret": {"token_endpoint_auth_method", nil, "token_endpoint_auth_methods_supported",
			[]string{"private_key_jwt", "client_secret_basic"}},
	} {
		at := "https://planner.example/" + strings.ReplaceAll(name, " ", "-")
		d.publish(at, changes...)
		if res := d.ask(t, at); res.StatusCode != 400 || strings.Contains(res.Body, `name="password"`) {
			t.Errorf("%s: a client that nobody can impersonate becomes public: %d", name, res.StatusCode)
		}
	}
	q := d.query(claude) // PKCE
	q.Set("redirect_uri", "http://localhost:3118/callback")
	q.Del("code_challenge")
	res, _, err := flow.NewBrowser(d.options(claude)).Get(t.Context(), d.URL+"/oauth/authorize?"+q.Encode())
	if err != nil || res.StatusCode != 400 || !strings.Contains(res.Body, "code_challenge") {
		t.Errorf("without PKCE: %d %v", res.StatusCode, err)
	}
}

// The answer to a registration says what was registered (RFC 7591 section
// 3.2.1). Cursor registers three addresses at once, one with a scheme of its own,
// as application_type web.
func TestRegistrationIsNegotiated(t *testing.T) {
	t.Parallel()
	s := newService(t)
	three := []string{"cursor://anysphere.cursor-mcp/oauth/callback", "https://www.cursor.com/agents/mcp/oauth/callback",
		"http://localhost:8787/callback"}
	members := []any{"redirect_uris", three, "application_type", "web", "audiences", nil, "scope",
		"openid offline_access rider.trips:read mcp", "grant_types", []string{"authorization_code", "refresh_token",
			"urn:ietf:params:oauth:grant-type:device_code"}, "response_types", []string{"code", "token"},
		"id_token_signed_response_alg", "ES512", "client_uri", "http://cursor.example", "logo_uri", "data:image/png,x",
		"contacts", []string{"ok@cursor.example", "a\u0007"}, "software_version", strings.Repeat("9", 101)}
	answered := apptest.JSON[map[string]any](t, s.register(t,
		append(members, "token_endpoint_auth_method", "none")...).Must(t, 201))
	if list(answered, "redirect_uris") != strings.Join(three, " ") || answered["application_type"] != "web" ||
		answered["scope"] != "openid rider.trips:read" || list(answered, "audiences") != "rider" ||
		list(answered, "grant_types") != "authorization_code refresh_token" || list(answered, "response_types") != "code" ||
		answered["id_token_signed_response_alg"] != "RS256" || list(answered, "contacts") != "ok@cursor.example" {
		t.Errorf("%v", answered)
	}
	for _, absent := range []string{"client_uri", "logo_uri", "software_version", "client_secret"} {
		if answered[absent] != nil {
			t.Errorf("%s is %v", absent, answered[absent])
		}
	}
	id, _ := answered["client_id"].(string)
	a := registration{id: id}
	for _, uri := range append(three, "http://localhost:9000/callback") {
		s.redeem(t, a, s.code(t, a, "redirect_uri", uri), "redirect_uri", uri).Must(t, 200)
	}
	for _, uri := range []string{three[0], "http://localhost:8787/callback"} { // any program may take these
		for prompt, want := range map[string]string{"": "consent", "none": "consent_required"} {
			got := s.browser.get("/oauth/authorize?" + s.authorization(a, "redirect_uri", uri, "prompt", prompt).Encode())
			if got.page() != want {
				t.Errorf("again to %s, prompt %q: %s", uri, prompt, got.page())
			}
		}
	}
	if got := s.answer(t, a, "redirect_uri", three[0], "code_challenge", ""); got.page() != "invalid_request" {
		t.Errorf("without PKCE: %s", got.page())
	}
	confidential := apptest.JSON[map[string]any](t, s.register(t, members...).Must(t, 201))
	if list(confidential, "redirect_uris") != strings.Join(three[1:], " ") {
		t.Errorf("a confidential client: %v", confidential["redirect_uris"])
	}
	refused(t, s.register(t, "token_endpoint_auth_method", "client_secret_jwt"), http.StatusBadRequest,
		"invalid_client_metadata")
}

// A registration whose scopes are those of OpenID alone wants no audiences: the
// resource that it asks for selects one. It never gets more scopes than it named.
func TestOpenIDScopesAlone(t *testing.T) {
	t.Parallel()
	s := newService(t)
	body := apptest.JSON[map[string]any](t, s.register(t, "audiences", nil, "scope", "openid profile offline_access",
		"token_endpoint_auth_method", "none").Must(t, 201))
	if body["scope"] != "openid profile" || list(body, "audiences") != "dashboard rider driver" {
		t.Errorf("%v", body)
	}
	a := registration{id: body["client_id"].(string)}
	got := s.answer(t, a, "scope", "openid profile rider.wallet:read offline_access")
	if scope := apptest.JSON[granted](t, s.redeem(t, a, got.answer.Get("code"))).Scope; scope != "openid profile" {
		t.Errorf("granted %q", scope)
	}
	alone := s.answer(t, a, "scope", "openid")
	if alone.page() != "As what do you sign in?" {
		t.Errorf("%s", alone.text())
	}
	resource := url.Values{"resource": {s.URL + "/mcp/rider/metro"}}
	q := s.authorization(a, "scope", "openid offline_access")
	q.Set("resource", resource.Get("resource"))
	if got := s.browser.finish(q, s.rider.Email); got.page() != "code" {
		t.Errorf("with a resource: %s", got.text())
	}
	if slices.Contains(strings.Fields(body["scope"].(string)), "offline_access") {
		t.Error("a scope that the catalog does not have")
	}
}
