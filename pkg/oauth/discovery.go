package oauth

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"svc/pkg/authz"
	"svc/pkg/signing"
)

// How long a discovery document and the key set may be kept. A key is
// published 15 minutes before it signs, so nobody misses one.
const (
	documentLife = time.Hour
	keySetLife   = 5 * time.Minute
)

// publish answers with a public JSON document that any page may read.
func publish(w http.ResponseWriter, life time.Duration, body []byte) error {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "public, max-age="+seconds(life))
	h.Del("Pragma")
	h.Set("Access-Control-Allow-Origin", "*")
	_, err := w.Write(body)
	return err
}

// keySet answers GET /.well-known/jwks.json.
func (s *Server) keySet(w http.ResponseWriter, r *http.Request) error {
	set, err := s.keys.KeySet(r.Context())
	if err != nil {
		return err
	}
	return publish(w, keySetLife, set)
}

// metadata answers the two discovery documents, which are one: OpenID Connect
// Discovery section 3 and RFC 8414 section 2.
func (s *Server) metadata(w http.ResponseWriter, r *http.Request) error {
	base := s.base(r.Context())
	clients, methods := []string{authNone, authBasic, authPost}, []string{authBasic, authPost}
	body, err := json.Marshal(map[string]any{
		"issuer":                                         base,
		"authorization_endpoint":                         base + "/oauth/authorize",
		"token_endpoint":                                 base + "/oauth/token",
		"registration_endpoint":                          base + "/oauth/register",
		"revocation_endpoint":                            base + "/oauth/revoke",
		"introspection_endpoint":                         base + "/oauth/introspect",
		"userinfo_endpoint":                              base + "/oauth/userinfo",
		"end_session_endpoint":                           base + "/oauth/logout",
		"jwks_uri":                                       base + "/.well-known/jwks.json",
		"service_documentation":                          base + "/docs",
		"scopes_supported":                               everyScope(),
		"response_types_supported":                       []string{"code"},
		"response_modes_supported":                       []string{"query"},
		"grant_types_supported":                          []string{"authorization_code", "refresh_token"},
		"subject_types_supported":                        []string{"public"},
		"id_token_signing_alg_values_supported":          []string{signing.RS256, signing.ES256},
		"token_endpoint_auth_methods_supported":          clients,
		"revocation_endpoint_auth_methods_supported":     clients,
		"introspection_endpoint_auth_methods_supported":  methods,
		"code_challenge_methods_supported":               []string{"S256"},
		"claims_supported":                               []string{"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "name", "given_name", "family_name", "picture", "email", "email_verified"},
		"claim_types_supported":                          []string{"normal"},
		"prompt_values_supported":                        []string{"none", "login", "consent", "select_account"},
		"ui_locales_supported":                           []string{"en", "es"},
		"claims_parameter_supported":                     false,
		"request_parameter_supported":                    false,
		"request_uri_parameter_supported":                false,
		"authorization_response_iss_parameter_supported": true,
		"client_id_metadata_document_supported":          true,
		"protected_resources":                            []string{base + "/api/v1"},
	})
	if err != nil {
		return err
	}
	return publish(w, documentLife, body)
}

// resourceMetadata answers GET /.well-known/oauth-protected-resource (RFC 9728
// section 2).
func (s *Server) resourceMetadata(w http.ResponseWriter, r *http.Request) error {
	base := s.base(r.Context())
	body, err := json.Marshal(map[string]any{
		"resource":                 base + "/api/v1",
		"authorization_servers":    []string{base},
		"jwks_uri":                 base + "/.well-known/jwks.json",
		"scopes_supported":         everyScope(),
		"bearer_methods_supported": []string{"header"},
		"resource_name":            "Mobility and delivery API",
		"resource_documentation":   base + "/docs",
	})
	if err != nil {
		return err
	}
	return publish(w, documentLife, body)
}

// everyScope lists the catalog, the OIDC scopes first.
func everyScope() []string {
	out := []string{"openid", "profile", "email"}
	for _, audience := range authz.Audiences {
		for _, scope := range authz.Scopes(audience) {
			if strings.ContainsAny(scope, ".:") {
				out = append(out, scope)
			}
		}
	}
	return out
}
