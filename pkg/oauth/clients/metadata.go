package clients

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/oauth/protocol"
)

// Limits of a registration. They keep a client's record within one read unit.
const (
	mostRedirects  = 20
	longestURI     = 2000
	longestName    = 100
	largestRecord  = 3600 // bytes of JSON
	otherwiseNamed = "Unnamed app"
)

// metadata is the metadata of a registration request (RFC 7591 section 2).
// Unknown members are ignored, as that section requires.
type metadata struct {
	Name            *string  `json:"client_name"`
	RedirectURIs    []string `json:"redirect_uris"`
	LogoutURIs      []string `json:"post_logout_redirect_uris"`
	AuthMethod      *string  `json:"token_endpoint_auth_method"`
	AuthMethods     []string `json:"token_endpoint_auth_methods_supported"` // of documents
	AuthAlg         *string  `json:"token_endpoint_auth_signing_alg"`
	KeysURI         string   `json:"jwks_uri"`
	GrantTypes      []string `json:"grant_types"`
	ResponseTypes   []string `json:"response_types"`
	Audiences       []string `json:"audiences"`
	Scope           *string  `json:"scope"`
	ApplicationType *string  `json:"application_type"`
	IDTokenAlg      *string  `json:"id_token_signed_response_alg"`
	LogoURI         string   `json:"logo_uri"`
	ClientURI       string   `json:"client_uri"`
	PolicyURI       string   `json:"policy_uri"`
	TermsURI        string   `json:"tos_uri"`
	Contacts        []string `json:"contacts"`
	SoftwareID      string   `json:"software_id"`
	SoftwareVersion string   `json:"software_version"`

	Keys json.RawMessage `json:"jwks"`

	// Only PUT reads these (RFC 7592 section 2.2).
	ClientID     *string `json:"client_id"`
	ClientSecret *string `json:"client_secret"`
}

func badMetadata(format string, args ...any) *protocol.Error {
	return protocol.Refuse("invalid_client_metadata", format, args...)
}

// parseMetadata parses the body of a registration request.
func parseMetadata(body []byte) (metadata, error) {
	var m metadata
	if !utf8.Valid(body) {
		return m, badMetadata("The body is not UTF-8.")
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil || object == nil {
		return m, badMetadata("The body is not a JSON object.")
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return m, badMetadata("A member has the wrong type.")
	}
	return m, nil
}

// client returns the metadata as a validated client, with the defaults of RFC
// 7591 section 2 and OpenID Connect Registration section 2.
func (m metadata) client() (Client, error) {
	c := Client{
		Name: otherwiseNamed, RedirectURIs: m.RedirectURIs, LogoutURIs: m.LogoutURIs,
		AuthMethod:      or(m.AuthMethod, protocol.AuthBasic),
		ApplicationType: or(m.ApplicationType, "web"), IDTokenAlg: or(m.IDTokenAlg, signing.RS256),
		LogoURI: m.LogoURI, ClientURI: m.ClientURI, PolicyURI: m.PolicyURI, TermsURI: m.TermsURI,
		Contacts: m.Contacts, SoftwareID: m.SoftwareID, SoftwareVersion: m.SoftwareVersion,
	}
	if m.ApplicationType == nil && anyNative(m.RedirectURIs) {
		c.ApplicationType = "native" // the redirect URI is one that only native clients may have
	}
	if m.Name != nil {
		c.Name = *m.Name
	}
	if err := checkName(c.Name); err != nil {
		return Client{}, err
	}
	if !slices.Contains(protocol.AuthMethods, c.AuthMethod) {
		return Client{}, badMetadata("token_endpoint_auth_method must be one of %s.",
			strings.Join(protocol.AuthMethods, ", "))
	}
	if err := c.setKeys(m); err != nil {
		return Client{}, err
	}
	if c.ApplicationType != "web" && c.ApplicationType != "native" {
		return Client{}, badMetadata("application_type must be web or native.")
	}
	if c.IDTokenAlg != signing.RS256 && c.IDTokenAlg != signing.ES256 {
		return Client{}, badMetadata("id_token_signed_response_alg must be RS256 or ES256.")
	}
	if err := m.checkGrants(); err != nil {
		return Client{}, err
	}
	if err := c.checkURIs(); err != nil {
		return Client{}, err
	}
	if err := c.setScopes(m); err != nil {
		return Client{}, err
	}
	for _, text := range append([]string{c.SoftwareID, c.SoftwareVersion}, c.Contacts...) {
		if utf8.RuneCountInString(text) > longestName || strings.ContainsFunc(text, unicode.IsControl) {
			return Client{}, badMetadata("contacts, software_id and software_version are plain texts of at most %d characters.",
				longestName)
		}
	}
	if stored, err := json.Marshal(c); err != nil || len(stored) > largestRecord {
		return Client{}, badMetadata("The metadata is too large.")
	}
	return c, nil
}

func or(value *string, otherwise string) string {
	if value == nil {
		return otherwise
	}
	return *value
}

func (m metadata) checkGrants() error {
	for _, grant := range m.GrantTypes {
		if grant != "authorization_code" && grant != "refresh_token" {
			return badMetadata("grant_types may hold authorization_code and refresh_token only.")
		}
	}
	if m.GrantTypes != nil && !slices.Contains(m.GrantTypes, "authorization_code") {
		return badMetadata("grant_types must hold authorization_code.")
	}
	for _, kind := range m.ResponseTypes {
		if kind != "code" {
			return badMetadata("response_types may hold code only.")
		}
	}
	return nil
}

// setScopes sets audiences and scopes. If the metadata names no audiences, they
// follow from the scopes. If it names no scope, the client gets all scopes of
// its audiences.
func (c *Client) setScopes(m metadata) error {
	asked := authz.Split(or(m.Scope, ""))
	for _, name := range m.Audiences {
		audience := authz.Audience(name)
		if !slices.Contains(authz.Audiences, audience) {
			return badMetadata("audiences may hold dashboard, rider and driver only.")
		}
		if !slices.Contains(c.Audiences, audience) {
			c.Audiences = append(c.Audiences, audience)
		}
	}
	if m.Audiences == nil {
		for _, scope := range asked {
			if rule, ok := authz.FindRule(scope); ok && rule.Audience != "" && !slices.Contains(c.Audiences, rule.Audience) {
				c.Audiences = append(c.Audiences, rule.Audience)
			}
		}
	}
	if m.Audiences == nil && len(asked) == 0 {
		c.Audiences = authz.Audiences // as a client of the MCP server registers; the resource picks one of them
	}
	if len(c.Audiences) == 0 {
		return badMetadata("audiences must hold at least one of dashboard, rider and driver.")
	}
	if len(asked) == 0 {
		for _, audience := range c.Audiences {
			asked = append(asked, authz.Scopes(audience)...)
		}
	}
	for _, scope := range asked {
		rule, ok := authz.FindRule(scope)
		if !ok || (rule.Audience != "" && !slices.Contains(c.Audiences, rule.Audience)) {
			return badMetadata("scope holds %s, which the catalog does not have for these audiences.", protocol.Printable(scope))
		}
		if !slices.Contains(c.Scopes, scope) {
			c.Scopes = append(c.Scopes, scope)
		}
	}
	return nil
}

func (c Client) checkURIs() error {
	if len(c.RedirectURIs) == 0 || len(c.RedirectURIs) > mostRedirects {
		return protocol.Refuse("invalid_redirect_uri", "redirect_uris must hold 1 to %d addresses.", mostRedirects)
	}
	for _, uri := range c.RedirectURIs {
		if reason := redirectFault(uri, c.ApplicationType); reason != "" {
			return protocol.Refuse("invalid_redirect_uri", "%s: %s", protocol.Printable(uri), reason)
		}
	}
	if len(c.LogoutURIs) > mostRedirects {
		return badMetadata("post_logout_redirect_uris holds more than %d addresses.", mostRedirects)
	}
	for _, uri := range c.LogoutURIs {
		if reason := redirectFault(uri, c.ApplicationType); reason != "" {
			return badMetadata("post_logout_redirect_uris: %s: %s", protocol.Printable(uri), reason)
		}
	}
	for name, uri := range map[string]string{"logo_uri": c.LogoURI, "client_uri": c.ClientURI, "policy_uri": c.PolicyURI,
		"tos_uri": c.TermsURI} {
		if uri == "" {
			continue
		}
		if u, err := parseURI(uri); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil ||
			strings.ContainsRune(uri, '#') {
			return badMetadata("%s must be an https address.", name)
		}
	}
	return nil
}
