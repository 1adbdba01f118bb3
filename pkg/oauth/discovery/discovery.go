// Package discovery publishes what clients must know of the server: the discovery
// documents, the key set, and the metadata of the protected resources.
package discovery

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/domain/page"
	"svc/pkg/oauth/protocol"
	"svc/pkg/oauth/tokens"
)

// How long clients may cache a discovery document and the key set. A rotation
// publishes a key at least 15 minutes before its first signature, so a client
// that caches the key set for keySetLife at most has the key by then. After a
// revocation, another key may sign at once.
const (
	documentLife = time.Hour
	keySetLife   = time.Minute
)

// Documents publishes what clients must know of the server.
type Documents struct {
	BaseURL string
	Keys    *signing.Keys
}

// publish writes a public JSON document that any origin may read.
func publish(w http.ResponseWriter, life time.Duration, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "public, max-age="+protocol.Seconds(life))
	h.Del("Pragma")
	h.Set("Access-Control-Allow-Origin", "*")
	_, err := w.Write(body)
	return err
}

// KeySet serves GET /.well-known/jwks.json.
func (d Documents) KeySet(w http.ResponseWriter, r *http.Request) error {
	set, err := d.Keys.KeySet(r.Context())
	if err != nil {
		return err
	}
	return publish(w, keySetLife, set)
}

// Metadata serves both discovery documents, which have the same content: OpenID
// Connect Discovery section 3 and RFC 8414 section 2.
func (d Documents) Metadata(w http.ResponseWriter, r *http.Request) error {
	base := d.BaseURL
	grants := []string{"authorization_code", "refresh_token", "client_credentials", tokens.DeviceGrant}
	clients, confidential, algs := protocol.AuthMethods, protocol.AuthMethods[1:], signing.AssertionAlgorithms
	body, err := json.Marshal(map[string]any{
		"issuer":                                        base,
		"authorization_endpoint":                        base + "/oauth/authorize",
		"token_endpoint":                                base + "/oauth/token",
		"device_authorization_endpoint":                 base + "/oauth/device_authorization",
		"registration_endpoint":                         base + "/oauth/register",
		"revocation_endpoint":                           base + "/oauth/revoke",
		"introspection_endpoint":                        base + "/oauth/introspect",
		"userinfo_endpoint":                             base + "/oauth/userinfo",
		"end_session_endpoint":                          base + "/oauth/logout",
		"jwks_uri":                                      base + "/.well-known/jwks.json",
		"service_documentation":                         base + "/docs",
		"scopes_supported":                              slices.Concat(openIDScopes, scopesOf(authz.Audiences...)),
		"response_types_supported":                      []string{"code"},
		"response_modes_supported":                      []string{"query", "form_post"},
		"grant_types_supported":                         grants,
		"subject_types_supported":                       []string{"public"},
		"id_token_signing_alg_values_supported":         []string{signing.RS256, signing.ES256},
		"token_endpoint_auth_methods_supported":         clients,
		"revocation_endpoint_auth_methods_supported":    clients,
		"introspection_endpoint_auth_methods_supported": confidential,

		"token_endpoint_auth_signing_alg_values_supported":         algs,
		"revocation_endpoint_auth_signing_alg_values_supported":    algs,
		"introspection_endpoint_auth_signing_alg_values_supported": algs,

		"code_challenge_methods_supported": []string{"S256"},
		"claims_supported": []string{"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce",
			"at_hash", "name", "given_name", "family_name", "picture", "email", "email_verified"},
		"claim_types_supported":                          []string{"normal"},
		"prompt_values_supported":                        []string{"none", "login", "consent", "select_account", "create"},
		"ui_locales_supported":                           page.Languages(),
		"claims_parameter_supported":                     false,
		"request_parameter_supported":                    false,
		"request_uri_parameter_supported":                false,
		"authorization_response_iss_parameter_supported": true,
		"client_id_metadata_document_supported":          true,
		"protected_resources":                            []string{base + authz.API, base + "/mcp"},
	})
	if err != nil {
		return err
	}
	return publish(w, documentLife, body)
}

// ResourcePath is the path of the metadata of protected resources. A
// resource's own document is below it.
const ResourcePath = "/.well-known/oauth-protected-resource"

// ResourceMetadata serves the metadata of the API and of the addresses of the
// MCP server (RFC 9728 sections 2 and 3.1).
func (d Documents) ResourceMetadata(w http.ResponseWriter, r *http.Request) error {
	base := d.BaseURL
	path := cmp.Or(strings.TrimPrefix(r.URL.Path, ResourcePath), authz.API)
	resource, known := authz.ParseResource(path)
	if !known {
		return &protocol.Error{Status: http.StatusNotFound, Code: "not_found", Description: "There is no such resource."}
	}
	name, scopes := "Mobility and delivery API", slices.Concat(openIDScopes, scopesOf(authz.Audiences...))
	if resource.MCP() {
		name, scopes = "Mobility and delivery for agents", scopesOf(resource.Audience)
	}
	body, err := json.Marshal(map[string]any{
		"resource":                 base + resource.Path + resource.Slash,
		"authorization_servers":    []string{base},
		"jwks_uri":                 base + "/.well-known/jwks.json",
		"scopes_supported":         scopes,
		"bearer_methods_supported": []string{"header"},
		"resource_name":            name,
		"resource_documentation":   base + "/docs",
	})
	if err != nil {
		return err
	}
	return publish(w, documentLife, body)
}

var openIDScopes = []string{"openid", "profile", "email"}

// scopesOf returns the scopes of the audiences that some operation needs,
// without those of OpenID Connect.
func scopesOf(audiences ...authz.Audience) (out []string) {
	for _, audience := range audiences {
		now, _ := protocol.SplitOffered(authz.Scopes(audience))
		for _, scope := range now {
			if !slices.Contains(openIDScopes, scope) {
				out = append(out, scope)
			}
		}
	}
	return out
}
