package reference

import (
	"encoding/json"
	"maps"

	"github.com/danielgtaylor/huma/v2"
)

// clientMetadata returns the members of a registration, and more.
func clientMetadata(more map[string]*huma.Schema) map[string]*huma.Schema {
	members := map[string]*huma.Schema{
		"client_name":   text("Name that people read on the consent page, at most 100 characters."),
		"redirect_uris": described(list(text("")), "Where codes may be sent: https, loopback, or an app's own scheme."),
		"token_endpoint_auth_method": {Type: huma.TypeString,
			Description: "`none` for a public client. The default is client_secret_basic.",
			Enum:        []any{"none", "client_secret_basic", "client_secret_post", "private_key_jwt"}},
		"token_endpoint_auth_signing_alg": {Type: huma.TypeString, Enum: []any{"ES256", "RS256", "PS256", "EdDSA"},
			Description: "With private_key_jwt: the only algorithm of the client's assertions. If absent, all of these are " +
				"accepted."},
		"jwks": {Type: huma.TypeObject,
			Description: "With private_key_jwt: the public keys (RFC 7517). Send either jwks or jwks_uri."},
		"jwks_uri": text("With private_key_jwt: the https address that publishes the keys."),
		"audiences": described(list(&huma.Schema{Type: huma.TypeString, Enum: []any{"dashboard", "rider", "driver"}}),
			"Whose accounts may sign in."),
		"scope": text("The scopes that the client may ask for, space-separated."),
		"id_token_signed_response_alg": {Type: huma.TypeString, Enum: []any{"RS256", "ES256"},
			Description: "Algorithm of the signature of id_tokens."},
	}
	maps.Copy(members, more)
	return members
}

// oauthSchemas are the named schemas of the OAuth endpoints.
var oauthSchemas = map[string]*huma.Schema{
	"ClientMetadata": object([]string{"redirect_uris"}, clientMetadata(nil)),
	"ClientReplacement": object([]string{"client_id", "redirect_uris"}, clientMetadata(map[string]*huma.Schema{
		"client_id":     text("Identifier of the client, as in the path."),
		"client_secret": text("If sent: the current secret.")})),
	"ClientRegistration": object([]string{"client_id", "redirect_uris"}, map[string]*huma.Schema{
		"client_id":                  text("Identifier of the client."),
		"client_secret":              text("Shown once; only clients that authenticate with a secret."),
		"registration_access_token":  text("Reads, replaces and deletes the registration (RFC 7592)."),
		"registration_client_uri":    text("Address of the registration."),
		"client_name":                text("Name that people read on the consent page."),
		"redirect_uris":              described(list(text("")), "Where codes may be sent."),
		"audiences":                  described(list(text("")), "Whose accounts may sign in."),
		"scope":                      text("The scopes that the client may ask for, space-separated."),
		"token_endpoint_auth_method": text("How the client authenticates."),
		"jwks_uri":                   text("Where the client publishes its keys."),
	}),
	"TokenRequest": object([]string{"grant_type"}, map[string]*huma.Schema{
		"grant_type": {Type: huma.TypeString, Enum: []any{"authorization_code", "refresh_token"},
			Description: "What the client exchanges."},
		"code":          text("With authorization_code."),
		"redirect_uri":  text("With authorization_code: the address that the code was sent to."),
		"code_verifier": text("With authorization_code: PKCE, S256 (RFC 7636)."),
		"client_id":     text("Identifier of the client."), "client_secret": text("With client_secret_post."),
		"client_assertion_type": text(assertionTypeText), "client_assertion": text(assertionText),
		"resource":      text("Narrows the access token to resources that were granted (RFC 8707)."),
		"refresh_token": text("With refresh_token."),
		"scope":         text("With refresh_token: some of the granted scopes, for this access token."),
	}),
	"TokenResponse": object([]string{"access_token", "token_type", "expires_in", "scope"}, map[string]*huma.Schema{
		"access_token": text("A JWT (RFC 9068)."), "refresh_token": text("Valid once, for 90 days."),
		"token_type": text("Bearer"),
		"expires_in": {Type: huma.TypeInteger, Description: "Seconds until the access token expires, at most 3600."},
		"scope":      text("The scopes of the access token, space-separated."),
		"id_token":   text("Sent if the access token has the scope openid."),
	}),
	"GatewayError": object(nil, map[string]*huma.Schema{"message": text("What is wrong.")}),
	"OAuthError": object([]string{"error"}, map[string]*huma.Schema{
		"error":             {Type: huma.TypeString, Description: "What kind of error it is.", Enum: words(OAuthErrors)},
		"error_description": text("A sentence for the developer."),
	}),
	"TokenReference": object([]string{"token"}, map[string]*huma.Schema{
		"token":           text("An access token or a refresh token."),
		"token_type_hint": text("`access_token` or `refresh_token`."),
		"client_id":       text("Identifier of the client."), "client_secret": text("With client_secret_post."),
		"client_assertion_type": text(assertionTypeText), "client_assertion": text(assertionText),
	}),
	"LogoutRequest": formOf(logoutParameters),
}

const (
	assertionTypeText = "With private_key_jwt: `urn:ietf:params:oauth:client-assertion-type:jwt-bearer`."
	assertionText     = "With private_key_jwt: a JWT that the client signed (RFC 7523). iss and sub are the " +
		"client_id, aud is the issuer or the token endpoint, exp is at most 10 minutes ahead, and jti is new."
)

func words(list []string) (out []any) {
	for _, word := range list {
		out = append(out, word)
	}
	return out
}

const schemaPrefix = "#/components/schemas/"

// named returns a reference to the schema of oauthSchemas with that name.
func named(name string) *huma.Schema { return &huma.Schema{Ref: schemaPrefix + name} }

func described(s *huma.Schema, description string) *huma.Schema {
	s.Description = description
	return s
}

var (
	authorizeParameters = []string{"response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge",
		"code_challenge_method", "tenant_hint", "response_mode", "nonce", "prompt",
		"max_age", "login_hint", "id_token_hint", "ui_locales", "resource"}
	logoutParameters = []string{"id_token_hint", "client_id", "post_logout_redirect_uri", "state", "ui_locales"}
)

// formOf returns the schema of a form with the named parameters.
func formOf(names []string) *huma.Schema {
	properties := map[string]*huma.Schema{}
	for _, name := range names {
		properties[name] = text(authorizationParameters[name])
	}
	return object(nil, properties)
}

// authorizationParameters describes the parameters of the requests to
// authorize, to log out and to list the connected clients.
var authorizationParameters = map[string]string{ //nolint:gosec // words about parameters, none of which is a secret
	"response_type":         "Always `code`.",
	"client_id":             "From the registration, or the https address of a client's metadata document.",
	"redirect_uri":          "Exactly one of the client's registered addresses. On loopback, any port is accepted.",
	"scope":                 "Scopes of one audience, space-separated. If absent, the scopes that the client registered.",
	"state":                 "At most 4,096 bytes. The response to the client has the same value.",
	"code_challenge":        "PKCE (RFC 7636), which every client needs, also one with a secret.",
	"code_challenge_method": "Always `S256`.",
	"response_mode":         "`query`, or `form_post` if the redirect_uri is http or https. If absent, `query`.",
	"tenant_hint": "The tenant's slug. If absent, riders, drivers and operators with several tenants " +
		"choose on a page. With the `prompt` `none`, that is an error.",
	"nonce":                    "The id_token has the same value as its claim `nonce`.",
	"prompt":                   "`none`, or any of `login`, `consent`, `select_account` and `create`, space-separated.",
	"max_age":                  "Maximum number of seconds since the person last signed in.",
	"login_hint":               "Mail address of the account that is meant. Another account has to sign in.",
	"resource":                 "Address of the API or of an MCP endpoint (RFC 8707).",
	"id_token_hint":            "An id_token of the person whom the request is about. It may have expired.",
	"ui_locales":               "Preferred languages, space-separated. `ui_locales_supported` of the metadata lists those of the pages.",
	"post_logout_redirect_uri": "Exactly one of the client's registered post_logout_redirect_uris.",
	"audience":                 "Whose account: `dashboard`, `rider` or `driver`.",
}

// Values of the examples. The verifier is that of RFC 7636, appendix B.
const (
	exampleClient   = "cli_01K00000000000000000000001"
	exampleRedirect = "https://app.example/cb"
	exampleVerifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
)

// The examples are JSON texts, because a map would sort their members.
var (
	exampleRegistration = json.RawMessage(`{"client_name": "Fleet Planner", "redirect_uris": ["` + exampleRedirect +
		`"], "audiences": ["rider"], "scope": "rider.trips:read rider.trips:create",
		"token_endpoint_auth_method": "none"}`)
	exampleReplacement = json.RawMessage(`{"client_id": "` + exampleClient + `", "client_name": "Fleet Planner",
		"redirect_uris": ["` + exampleRedirect + `"], "audiences": ["rider"], "scope": "rider.trips:read",
		"token_endpoint_auth_method": "none"}`)
	exampleExchange = json.RawMessage(`{"grant_type": "authorization_code", "code": "the code from the redirect",
		"redirect_uri": "` + exampleRedirect + `", "client_id": "` + exampleClient + `",
		"code_verifier": "` + exampleVerifier + `"}`)
	exampleToken = json.RawMessage(`{"token": "the token", "client_id": "` + exampleClient + `"}`)
)

// OAuthErrors are the error codes of the OAuth endpoints that respond with JSON
// (docs/errors.md), sorted.
var OAuthErrors = []string{"access_denied", "insufficient_scope", "invalid_client", "invalid_client_metadata",
	"invalid_grant", "invalid_redirect_uri", "invalid_request", "invalid_scope", "invalid_target", "invalid_token",
	"method_not_allowed", "not_found", "payload_too_large", "rate_limited", "server_error", "temporarily_unavailable",
	"unauthorized_client", "unsupported_grant_type", "unsupported_media_type"}
