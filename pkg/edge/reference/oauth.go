package reference

import (
	"maps"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/edge/api"
)

var errorType = reflect.TypeFor[api.ErrorBody]()

// plain is an OAuth endpoint. These endpoints are not rows.
type plain struct {
	method, path, id, summary string
	about                     string       // description
	form                      *huma.Schema // application/x-www-form-urlencoded
	body                      *huma.Schema // application/json
	example                   any          // example of the form or body
	query                     []string
	status                    int
	answer                    *huma.Schema
	kind                      string // media type of the response
	bearer                    bool
	client                    bool // a client authenticates
}

// shown is the schema of a response that is a page for a person.
var shown = text("A page.")

var anything = &huma.Schema{Type: huma.TypeObject}

func text(description string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Description: description}
}

func object(required []string, properties map[string]*huma.Schema) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, Required: required, Properties: properties}
}

func list(of *huma.Schema) *huma.Schema { return &huma.Schema{Type: huma.TypeArray, Items: of} }

var plains = []plain{
	{method: "POST", path: "/oauth/register", id: "oauth_register", summary: "Register a client (RFC 7591)",
		about: "It needs no sign-in. Store client_secret: no later response repeats it. The response has what was " +
			"registered: what the service does not have or allow is left out.",
		body: named("ClientMetadata"), example: exampleRegistration, status: 201, answer: named("ClientRegistration")},
	{method: "GET", path: "/oauth/register/{client_id}", id: "oauth_read_client",
		summary: "Read a registration (RFC 7592)", about: "With the registration access token.",
		status: 200, answer: named("ClientRegistration"), bearer: true},
	{method: "PUT", path: "/oauth/register/{client_id}", id: "oauth_replace_client",
		summary: "Replace a registration (RFC 7592)",
		about: "With the registration access token. A member that you leave out " +
			"is reset to its default. The response has a new registration access token. Its first use ends the old one.",
		body: named("ClientReplacement"), example: exampleReplacement, status: 200,
		answer: named("ClientRegistration"), bearer: true},
	{method: "DELETE", path: "/oauth/register/{client_id}", id: "oauth_delete_client",
		summary: "Delete a registration (RFC 7592)",
		about:   "With the registration access token. Every token of the client ends.",
		status:  204, bearer: true},
	{method: "GET", path: "/oauth/authorize", id: "oauth_authorize",
		summary: "Ask a person for an authorization code (RFC 6749, 7636, 9207)",
		about: "Open it in a browser. The person signs in and consents. The redirect URI then receives the code. A form " +
			"may send the same parameters by POST (OpenID Connect Core 3.1.2.1), which redirects to this GET.",
		status: 200, kind: "text/html", query: authorizeParameters, answer: shown},
	{method: "POST", path: "/oauth/token", id: "oauth_token", summary: "Exchange a code or a refresh token (RFC 6749)",
		about: "A code is valid once, for one minute. `code_verifier` must fit the `code_challenge` of the " +
			"authorization request.",
		form: named("TokenRequest"), example: exampleExchange, status: 200, answer: named("TokenResponse"),
		client: true},
	{method: "POST", path: "/oauth/revoke", id: "oauth_revoke", summary: "Revoke a token (RFC 7009)",
		about: "Ends every token of the same sign-in. An unknown token gets the same response.",
		form:  named("TokenReference"), example: exampleToken, status: 200, client: true},
	{method: "POST", path: "/oauth/introspect", id: "oauth_introspect", summary: "Ask about a token (RFC 7662)",
		about: "Only for confidential clients, about their own tokens.",
		form:  named("TokenReference"), example: exampleToken, status: 200, answer: anything, client: true},
	{method: "GET", path: "/oauth/userinfo", id: "oauth_userinfo",
		summary: "Read the claims about a token's person (OpenID Connect Core 5.3)",
		about:   "The claims that the token's scopes allow.",
		status:  200, answer: anything, bearer: true},
	{method: "POST", path: "/oauth/userinfo", id: "oauth_userinfo_by_form",
		summary: "Read the claims about a token's person, by POST (OpenID Connect Core 5.3.1)",
		about:   "The claims that the token's scopes allow.",
		status:  200, answer: anything, bearer: true},
	{method: "GET", path: "/oauth/logout", id: "oauth_logout",
		summary: "Sign a person out (OpenID Connect RP-Initiated Logout)", about: "Open it in a browser.",
		status: 200, kind: "text/html", query: logoutParameters, answer: shown},
	{method: "POST", path: "/oauth/logout", id: "oauth_logout_by_form",
		summary: "Sign a person out, by a form (OpenID Connect RP-Initiated Logout)",
		about:   "The parameters are in the body.", status: 200, kind: "text/html", answer: shown,
		form: named("LogoutRequest"), example: map[string]any{"client_id": exampleClient}},
	{method: "GET", path: "/oauth/apps", id: "oauth_apps",
		summary: "Show a person the clients that may act for the person, and end their access",
		about:   "Open it in a browser.",
		status:  200, kind: "text/html", query: []string{"audience", "tenant_hint", "ui_locales"}, answer: shown},
	{method: "GET", path: "/.well-known/jwks.json", id: "oauth_keys", summary: "The key set (RFC 7517)",
		about: "The public keys that verify tokens.", status: 200, answer: anything},
	{method: "GET", path: "/.well-known/openid-configuration", id: "oauth_openid_configuration",
		summary: "OpenID Connect discovery", about: "What OpenID Connect clients need to know.", status: 200,
		answer: anything},
	{method: "GET", path: "/.well-known/oauth-authorization-server", id: "oauth_server_metadata",
		summary: "Server metadata (RFC 8414)", about: "What OAuth clients need to know.", status: 200, answer: anything},
	{method: "GET", path: "/.well-known/oauth-protected-resource", id: "oauth_resource_metadata",
		summary: "Resource metadata (RFC 9728)", about: "Which authorization server the API trusts.", status: 200,
		answer: anything},
	{method: "GET", path: "/.well-known/oauth-protected-resource/api/v1", id: "oauth_api_metadata",
		summary: "Resource metadata of the API (RFC 9728, 3.1)", about: "Which authorization server the API trusts.",
		status: 200, answer: anything},
}

func describeOAuth(doc *huma.OpenAPI, errorSchema *huma.Schema) {
	doc.Components.SecuritySchemes["registration"] = &huma.SecurityScheme{Type: "http", Scheme: "bearer",
		Description: "The registration access token."}
	maps.Copy(doc.Components.Schemas.Map(), oauthSchemas)
	doc.Components.SecuritySchemes["client"] = &huma.SecurityScheme{Type: "http", Scheme: "basic",
		Description: "client_id and client_secret. A form may have both instead, or a client assertion. The form of a " +
			"public client has client_id only."}
	for _, p := range plains {
		op := &huma.Operation{Method: p.method, Path: p.path, OperationID: p.id, Summary: p.summary,
			Description: p.about, Tags: []string{"OAuth"}, Responses: map[string]*huma.Response{}}
		if p.path == "/oauth/register/{client_id}" {
			op.Parameters = append(op.Parameters, &huma.Param{Name: "client_id", In: "path", Required: true,
				Description: "Identifier of the client.",
				Schema:      &huma.Schema{Type: huma.TypeString, Examples: []any{exampleClient}}})
		}
		for _, name := range p.query {
			op.Parameters = append(op.Parameters, &huma.Param{Name: name, In: "query",
				Description: authorizationParameters[name], Schema: text(authorizationParameters[name])})
		}
		if p.form != nil {
			op.RequestBody = &huma.RequestBody{Required: true,
				Content: map[string]*huma.MediaType{"application/x-www-form-urlencoded": {Schema: p.form, Example: p.example}}}
		}
		if p.body != nil {
			op.RequestBody = &huma.RequestBody{Required: true,
				Content: map[string]*huma.MediaType{"application/json": {Schema: p.body, Example: p.example}}}
		}
		op.Security = []map[string][]string{{}} // no security
		if p.bearer {
			op.Security = []map[string][]string{{"registration": {}}}
			if p.path == "/oauth/userinfo" {
				op.Security = []map[string][]string{{"oauth": {"openid"}}}
			}
		}
		ok := &huma.Response{Description: http.StatusText(p.status)}
		if p.answer != nil {
			kind := p.kind
			if kind == "" {
				kind = "application/json"
			}
			ok.Content = map[string]*huma.MediaType{kind: {Schema: p.answer}}
		}
		op.Responses[strconv.Itoa(p.status)] = ok
		op.Responses["4XX"] = &huma.Response{Description: "An error of the protocol.",
			Content: map[string]*huma.MediaType{"application/json": {Schema: errorSchema}}}
		if p.kind == "text/html" {
			op.Responses["303"] = &huma.Response{Description: "Redirects to the client or to another page."}
			op.Responses["4XX"] = &huma.Response{Description: "A page that says what is wrong.",
				Content: map[string]*huma.MediaType{"text/html": {Schema: shown}}}
		}
		if p.client {
			op.Security = []map[string][]string{{"client": {}}, {}} // the empty entry: the form itself has the credentials
			op.Responses["401"] = &huma.Response{
				Description: "`invalid_client`: no client authenticated (RFC 6749 section 5.2).",
				Headers: map[string]*huma.Param{"WWW-Authenticate": {
					Schema: text("Sent if the client used Basic, or sent no credentials.")}},
				Content: map[string]*huma.MediaType{"application/json": {Schema: errorSchema}}}
		}
		doc.AddOperation(op)
	}
}
