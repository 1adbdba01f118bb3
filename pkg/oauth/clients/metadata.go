package clients

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/oauth/protocol"
)

// Limits of a registration, and the default name. longestURI and longestName
// count characters. largestRecord keeps a client's record within one read unit.
const (
	mostRedirects  = 20
	longestURI     = 2000
	longestName    = 100
	largestRecord  = 3600 // bytes of JSON
	otherwiseNamed = "Unnamed app"
)

// metadata is the metadata of a registration request or a metadata document
// (RFC 7591 section 2). Unknown members are ignored, as that section requires.
type metadata struct {
	Name            *string  `json:"client_name"`
	RedirectURIs    []string `json:"redirect_uris"`
	LogoutURIs      []string `json:"post_logout_redirect_uris"`
	AuthMethod      *string  `json:"token_endpoint_auth_method"`
	AuthMethods     []string `json:"token_endpoint_auth_methods_supported"` // only in documents
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

	// Only PUT (RFC 7592 section 2.2) and documents read these.
	ClientID     *string `json:"client_id"`
	ClientSecret *string `json:"client_secret"`
}

func badMetadata(format string, args ...any) *protocol.Error {
	return protocol.Refuse("invalid_client_metadata", format, args...)
}

// parseMetadata parses the body of a registration request, or a metadata
// document.
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
		if typed := new(json.UnmarshalTypeError); errors.As(err, &typed) && typed.Field != "" {
			return m, badMetadata("%s has the wrong type.", typed.Field)
		}
		return m, badMetadata("A member has the wrong type.")
	}
	return m, nil
}

// mostFaults is the maximum number of faults that one error names. All faults
// of the member scope count as one, and it names at most mostFaults scopes.
const mostFaults = 20

// faults are the faults of one request.
type faults []*protocol.Error

func (f *faults) add(err error) {
	if err != nil {
		*f = append(*f, protocol.AsError(err))
	}
}

// err returns the faults, at most mostFaults, as one error, or nil. An error
// has one code and one description (RFC 7591 section 3.2.2). The code is
// invalid_redirect_uri if the named faults are of redirect_uris only.
func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	joined := *f[0]
	texts := []string{}
	for _, one := range f[:min(len(f), mostFaults)] {
		if one.Code != joined.Code {
			joined.Code = "invalid_client_metadata"
		}
		texts = append(texts, strings.TrimSuffix(one.Description, "."))
	}
	if len(f) > 1 {
		joined.Description = strings.Join(texts, "; ") + "."
	}
	return &joined
}

// client returns the metadata as a validated client, with the defaults of RFC
// 7591 section 2 and OpenID Connect Registration section 2. Its error names the
// faults, at most mostFaults.
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
	var wrong faults
	wrong.add(checkName(c.Name))
	c.checkChoices(&wrong)
	if slices.Contains(protocol.AuthMethods, c.AuthMethod) {
		wrong.add(c.setKeys(m)) // the method decides which keys are needed
	}
	wrong.add(m.checkGrants())
	c.checkURIs(&wrong)
	wrong.add(c.setScopes(m))
	plain := func(text string) bool {
		return utf8.RuneCountInString(text) <= longestName && !strings.ContainsFunc(text, unicode.IsControl)
	}
	if !plain(c.SoftwareID) || !plain(c.SoftwareVersion) || !all(c.Contacts, plain) {
		wrong.add(badMetadata("contacts, software_id and software_version are plain texts of at most %d characters.",
			longestName))
	}
	if err := wrong.err(); err != nil {
		return Client{}, err
	}
	if stored, err := json.Marshal(c); err != nil || len(stored) > largestRecord {
		return Client{}, badMetadata("The metadata is too large: it may need at most %d bytes as JSON.", largestRecord)
	}
	return c, nil
}

func all(texts []string, holds func(string) bool) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return !holds(text) })
}

// checkChoices checks the members that have one of a few values.
func (c Client) checkChoices(wrong *faults) {
	if !slices.Contains(protocol.AuthMethods, c.AuthMethod) {
		wrong.add(badMetadata("token_endpoint_auth_method must be one of %s.", strings.Join(protocol.AuthMethods, ", ")))
	}
	if c.ApplicationType != "web" && c.ApplicationType != "native" {
		wrong.add(badMetadata("application_type must be web or native."))
	}
	if c.IDTokenAlg != signing.RS256 && c.IDTokenAlg != signing.ES256 {
		wrong.add(badMetadata("id_token_signed_response_alg must be RS256 or ES256."))
	}
}

func or(value *string, otherwise string) string {
	if value == nil {
		return otherwise
	}
	return *value
}

func (m metadata) checkGrants() error {
	var wrong faults
	if !all(m.GrantTypes, func(grant string) bool { return grant == "authorization_code" || grant == "refresh_token" }) {
		wrong.add(badMetadata("grant_types may contain authorization_code and refresh_token only."))
	}
	if m.GrantTypes != nil && !slices.Contains(m.GrantTypes, "authorization_code") {
		wrong.add(badMetadata("grant_types must contain authorization_code."))
	}
	if !all(m.ResponseTypes, func(kind string) bool { return kind == "code" }) {
		wrong.add(badMetadata("response_types may contain code only."))
	}
	return wrong.err()
}

// setScopes sets audiences and scopes. If the metadata names no audiences, they
// follow from the scopes. If it names no scope either, the client gets all
// audiences. Without scopes, the client gets all scopes of its audiences.
func (c *Client) setScopes(m metadata) error {
	asked := authz.Split(or(m.Scope, ""))
	for _, name := range m.Audiences {
		audience := authz.Audience(name)
		if !slices.Contains(authz.Audiences, audience) {
			return badMetadata("audiences may contain dashboard, rider and driver only.")
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
		c.Audiences = authz.Audiences // MCP clients name neither; the resource that they ask for selects the audience
	}
	if len(c.Audiences) == 0 {
		return badMetadata("audiences must contain at least one of dashboard, rider and driver.")
	}
	if len(asked) == 0 {
		for _, audience := range c.Audiences {
			asked = append(asked, authz.Scopes(audience)...)
		}
	}
	var wrong faults
	for _, scope := range asked {
		rule, ok := authz.FindRule(scope)
		switch {
		case !ok || (rule.Audience != "" && !slices.Contains(c.Audiences, rule.Audience)):
			if len(wrong) < mostFaults {
				wrong.add(badMetadata("scope contains %s, which the catalog does not have for these audiences.",
					protocol.Printable(scope)))
			}
		case !slices.Contains(c.Scopes, scope):
			c.Scopes = append(c.Scopes, scope)
		}
	}
	return wrong.err()
}

func (c Client) checkURIs(wrong *faults) {
	kind := c.ApplicationType
	if kind != "web" {
		kind = "native" // for an unknown type, report only what is wrong for both types
	}
	if len(c.RedirectURIs) == 0 || len(c.RedirectURIs) > mostRedirects {
		wrong.add(protocol.Refuse("invalid_redirect_uri", "redirect_uris must contain 1 to %d addresses.", mostRedirects))
	}
	for _, uri := range c.RedirectURIs[:min(len(c.RedirectURIs), mostRedirects)] {
		if reason := redirectFault(uri, kind); reason != "" {
			wrong.add(protocol.Refuse("invalid_redirect_uri", "%s: %s", protocol.Printable(uri), reason))
		}
	}
	if len(c.LogoutURIs) > mostRedirects {
		wrong.add(badMetadata("post_logout_redirect_uris contains more than %d addresses.", mostRedirects))
	}
	for _, uri := range c.LogoutURIs[:min(len(c.LogoutURIs), mostRedirects)] {
		if reason := redirectFault(uri, kind); reason != "" {
			wrong.add(badMetadata("post_logout_redirect_uris: %s: %s", protocol.Printable(uri), reason))
		}
	}
	for _, one := range [][2]string{{"logo_uri", c.LogoURI}, {"client_uri", c.ClientURI}, {"policy_uri", c.PolicyURI},
		{"tos_uri", c.TermsURI}} {
		if name, uri := one[0], one[1]; uri != "" && !isHTTPS(uri) {
			wrong.add(badMetadata("%s must be an https address.", name))
		}
	}
}

func isHTTPS(uri string) bool {
	u, err := parseURI(uri)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && !strings.ContainsRune(uri, '#')
}
