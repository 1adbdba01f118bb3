package reference

import (
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/api"
)

var errorType = reflect.TypeFor[api.ErrorBody]()

// plain is an endpoint outside the rows: OAuth's own forms.
type plain struct {
	method, path, id, summary string
	form                      *huma.Schema // application/x-www-form-urlencoded
	body                      *huma.Schema // application/json
	query                     []string
	status                    int
	answer                    *huma.Schema
	kind                      string // media type of the answer
	bearer                    bool
	pages                     bool // answers people, also where status has no body
}

func text(description string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Description: description}
}

func object(required []string, properties map[string]*huma.Schema) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, Required: required, Properties: properties}
}

func list(of *huma.Schema) *huma.Schema { return &huma.Schema{Type: huma.TypeArray, Items: of} }

var clientBody = object([]string{"redirect_uris"}, map[string]*huma.Schema{
	"client_name":                  text("At most 100 characters."),
	"redirect_uris":                list(&huma.Schema{Type: huma.TypeString}),
	"token_endpoint_auth_method":   {Type: huma.TypeString, Enum: []any{"none", "client_secret_basic", "client_secret_post"}},
	"audiences":                    list(&huma.Schema{Type: huma.TypeString, Enum: []any{"dashboard", "rider", "driver"}}),
	"scope":                        text("Space-separated."),
	"id_token_signed_response_alg": {Type: huma.TypeString, Enum: []any{"RS256", "ES256"}},
})

var clientAnswer = object([]string{"client_id", "redirect_uris"}, map[string]*huma.Schema{
	"client_id": text(""), "client_secret": text("Shown once; confidential clients only."), "registration_access_token": text("RFC 7592."),
	"registration_client_uri": text(""), "client_name": text(""), "redirect_uris": list(text("")), "audiences": list(text("")),
	"scope": text(""), "token_endpoint_auth_method": text(""),
})

var tokenForm = object([]string{"grant_type"}, map[string]*huma.Schema{
	"grant_type": {Type: huma.TypeString, Enum: []any{"authorization_code", "refresh_token"}},
	"code":       text("With authorization_code."), "redirect_uri": text(""), "code_verifier": text("PKCE, S256 (RFC 7636)."),
	"client_id": text(""), "client_secret": text(""), "refresh_token": text("With refresh_token."), "scope": text("Narrower than granted; with refresh_token."),
})

var tokenAnswer = object([]string{"access_token", "token_type", "expires_in", "scope"}, map[string]*huma.Schema{
	"access_token": text("A JWT (RFC 9068)."), "refresh_token": text("Good once, for 90 days."), "token_type": text("Bearer"),
	"expires_in": {Type: huma.TypeInteger, Description: "Seconds, 3600."}, "scope": text("Space-separated."), "id_token": text("With openid."),
})

var (
	authorizeParameters = []string{"response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method", "tenant_hint", "nonce", "prompt",
		"max_age", "login_hint", "id_token_hint", "ui_locales", "resource"}
	logoutParameters = []string{"id_token_hint", "client_id", "post_logout_redirect_uri", "state", "ui_locales"}
)

// shown is an answer for a person.
var shown = text("")

// formOf is a form of the named parameters.
func formOf(names []string) *huma.Schema {
	properties := map[string]*huma.Schema{}
	for _, name := range names {
		properties[name] = text(asked[name])
	}
	return object(nil, properties)
}

var anything = &huma.Schema{Type: huma.TypeObject}

var plains = []plain{
	{method: "POST", path: "/oauth/register", id: "oauth_register", summary: "Register a client (RFC 7591)", body: clientBody, status: 201, answer: clientAnswer},
	{method: "GET", path: "/oauth/register/{client_id}", id: "oauth_read_client", summary: "Read a registration (RFC 7592)", status: 200, answer: clientAnswer, bearer: true},
	{method: "PUT", path: "/oauth/register/{client_id}", id: "oauth_replace_client", summary: "Replace a registration (RFC 7592)", body: clientBody, status: 200, answer: clientAnswer, bearer: true},
	{method: "DELETE", path: "/oauth/register/{client_id}", id: "oauth_delete_client", summary: "Delete a registration (RFC 7592)", status: 204, bearer: true},
	{method: "GET", path: "/oauth/authorize", id: "oauth_authorize", summary: "Ask a person for an authorization code (RFC 6749, 7636, 9207)", status: 200, kind: "text/html",
		query: authorizeParameters, answer: shown},
	{method: "POST", path: "/oauth/authorize", id: "oauth_authorize_by_form", summary: "The same by a form (OpenID Connect Core 3.1.2.1)", status: 303, form: formOf(authorizeParameters), pages: true},
	{method: "POST", path: "/oauth/token", id: "oauth_token", summary: "Exchange a code or a refresh token (RFC 6749)", form: tokenForm, status: 200, answer: tokenAnswer},
	{method: "POST", path: "/oauth/revoke", id: "oauth_revoke", summary: "Revoke a token (RFC 7009)", form: object([]string{"token"}, map[string]*huma.Schema{"token": text(""), "token_type_hint": text(""), "client_id": text("")}), status: 200},
	{method: "POST", path: "/oauth/introspect", id: "oauth_introspect", summary: "Ask about a token (RFC 7662)", form: object([]string{"token"}, map[string]*huma.Schema{"token": text("")}), status: 200, answer: anything},
	{method: "GET", path: "/oauth/userinfo", id: "oauth_userinfo", summary: "Who the token is about (OpenID Connect Core 5.3)", status: 200, answer: anything, bearer: true},
	{method: "POST", path: "/oauth/userinfo", id: "oauth_userinfo_by_form", summary: "The same by POST (OpenID Connect Core 5.3.1)", status: 200, answer: anything, bearer: true},
	{method: "GET", path: "/oauth/logout", id: "oauth_logout", summary: "Sign a person out (OpenID Connect RP-Initiated Logout)", status: 200, kind: "text/html", query: logoutParameters, answer: shown},
	{method: "POST", path: "/oauth/logout", id: "oauth_logout_by_form", summary: "The same by a form", status: 303, form: formOf(logoutParameters), pages: true},
	{method: "GET", path: "/oauth/apps", id: "oauth_apps", summary: "Show a person the clients that may act for her, and end their access", status: 200, kind: "text/html",
		query: []string{"audience", "tenant_hint", "ui_locales"}, answer: shown},
	{method: "GET", path: "/.well-known/jwks.json", id: "oauth_keys", summary: "The key set (RFC 7517)", status: 200, answer: anything},
	{method: "GET", path: "/.well-known/openid-configuration", id: "oauth_openid_configuration", summary: "OpenID Connect discovery", status: 200, answer: anything},
	{method: "GET", path: "/.well-known/oauth-authorization-server", id: "oauth_server_metadata", summary: "Server metadata (RFC 8414)", status: 200, answer: anything},
	{method: "GET", path: "/.well-known/oauth-protected-resource", id: "oauth_resource_metadata", summary: "Resource metadata (RFC 9728)", status: 200, answer: anything},
	{method: "GET", path: "/.well-known/oauth-protected-resource/api/v1", id: "oauth_api_metadata", summary: "Resource metadata of the API (RFC 9728, 3.1)", status: 200, answer: anything},
}

// asked says what the parameters of an authorization request mean.
var asked = map[string]string{ //nolint:gosec // words about parameters, none of which is a secret
	"response_type": "Always `code`.", "client_id": "From the registration, or the https address of a client's metadata document.",
	"redirect_uri": "One of the client's, to the letter; on loopback any port.", "scope": "Space-separated, of one audience; without it the registered ones.",
	"state": "Comes back as it is.", "code_challenge": "PKCE (RFC 7636).", "code_challenge_method": "Always `S256`.",
	"tenant_hint": "The tenant's slug; riders and drivers need it.", "nonce": "Comes back in the id_token.",
	"prompt": "`none`, `login` or `consent`.", "max_age": "Seconds since the person last signed in, at most.",
	"login_hint": "The mail address to begin with.", "resource": "The API's address (RFC 8707).",
	"id_token_hint": "An id_token of the person who is expected.", "ui_locales": "Languages, the first that the pages have: `en` or `es`.",
	"post_logout_redirect_uri": "One of the client's, to the letter.", "audience": "Whose account: `dashboard`, `rider` or `driver`.",
}

func describeOAuth(doc *huma.OpenAPI, errorSchema *huma.Schema) {
	doc.Components.SecuritySchemes["registration"] = &huma.SecurityScheme{Type: "http", Scheme: "bearer", Description: "The registration access token."}
	for _, p := range plains {
		op := &huma.Operation{Method: p.method, Path: p.path, OperationID: p.id, Summary: p.summary, Tags: []string{"OAuth"}, Responses: map[string]*huma.Response{}}
		if p.path == "/oauth/register/{client_id}" {
			op.Parameters = append(op.Parameters, &huma.Param{Name: "client_id", In: "path", Required: true, Schema: text("")})
		}
		for _, name := range p.query {
			op.Parameters = append(op.Parameters, &huma.Param{Name: name, In: "query", Description: asked[name], Schema: text(asked[name])})
		}
		if p.form != nil {
			op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/x-www-form-urlencoded": {Schema: p.form}}}
		}
		if p.body != nil {
			op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: p.body}}}
		}
		op.Security = []map[string][]string{{}} // none
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
		op.Responses["4XX"] = &huma.Response{Description: "An error of the protocol.", Content: map[string]*huma.MediaType{"application/json": {Schema: errorSchema}}}
		if p.pages || p.kind == "text/html" {
			op.Responses["303"] = &huma.Response{Description: "On to the client, or to another page."}
			op.Responses["4XX"] = &huma.Response{Description: "A page that says what is wrong.", Content: map[string]*huma.MediaType{"text/html": {Schema: shown}}}
		}
		doc.AddOperation(op)
	}
}
