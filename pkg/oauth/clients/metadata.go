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
	"svc/pkg/base/outbound"
	"svc/pkg/oauth/protocol"
)

// Limits of a registration, and the default name. longestURI and longestName
// count characters. largestRecord keeps a client's record within one read unit.
const (
	mostRedirects  = 20
	longestURI     = 2000
	longestName    = 100
	largestRecord  = 3600 // bytes of the client as JSON
	otherwiseNamed = "Unnamed app"
)

// metadata is the metadata of a registration request or a metadata document
// (RFC 7591 section 2). Unknown members are ignored, as that section requires.
type metadata struct {
	Name          *string  `json:"client_name"`
	RedirectURIs  []string `json:"redirect_uris"`
	LogoutURIs    []string `json:"post_logout_redirect_uris"`
	AuthMethod    *string  `json:"token_endpoint_auth_method"`
	AuthMethods   []string `json:"token_endpoint_auth_methods_supported"` // member of documents only
	AuthAlg       *string  `json:"token_endpoint_auth_signing_alg"`
	KeysURI       string   `json:"jwks_uri"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
	Audiences     []string `json:"audiences"`
	Scope         *string  `json:"scope"`
	IDTokenAlg    *string  `json:"id_token_signed_response_alg"`

	ApplicationType descriptive[string]   `json:"application_type"`
	LogoURI         descriptive[string]   `json:"logo_uri"`
	ClientURI       descriptive[string]   `json:"client_uri"`
	PolicyURI       descriptive[string]   `json:"policy_uri"`
	TermsURI        descriptive[string]   `json:"tos_uri"`
	Contacts        descriptive[[]string] `json:"contacts"`
	SoftwareID      descriptive[string]   `json:"software_id"`
	SoftwareVersion descriptive[string]   `json:"software_version"`

	Keys json.RawMessage `json:"jwks"`

	// The members that only PUT (RFC 7592 section 2.2) and metadata documents may have.
	ClientID     *string `json:"client_id"`
	ClientSecret *string `json:"client_secret"`

	alsoPublic bool   // see Client.AlsoPublic
	was        Client // the client before the change; zero for a new one
	localKeys  bool   // see Options.LocalKeys
}

// descriptive is a member that describes the client and decides nothing. A
// value of another type counts as absent.
type descriptive[T any] struct{ value T }

// UnmarshalJSON implements json.Unmarshaler.
func (d *descriptive[T]) UnmarshalJSON(raw []byte) error {
	var value T
	if json.Unmarshal(raw, &value) == nil {
		d.value = value
	}
	return nil
}

// badMetadata returns an error with the code invalid_client_metadata.
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

// add adds an error, unless it is nil.
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

// client returns the client to register. It has everything that the metadata asks
// for and the server supports (RFC 7591 sections 2 and 3.2.1), and the defaults of
// these sections and of OpenID Connect Registration section 2. Its error names the
// members that have no usable value, and at most mostFaults faults. If the client's record
// is too large, client leaves out the members that only describe the client.
func (m metadata) client() (Client, error) {
	c := Client{Name: or(m.Name, otherwiseNamed), AuthMethod: or(m.AuthMethod, protocol.AuthBasic),
		AlsoPublic: m.alsoPublic, IDTokenAlg: signing.RS256}
	if or(m.IDTokenAlg, "") == signing.ES256 {
		c.IDTokenAlg = signing.ES256
	}
	var wrong faults
	wrong.add(checkName(c.Name))
	if slices.Contains(protocol.AuthMethods, c.AuthMethod) {
		wrong.add(c.setKeys(m)) // the method decides which keys are needed
	} else {
		wrong.add(badMetadata("token_endpoint_auth_method must be one of %s.", strings.Join(protocol.AuthMethods, ", ")))
	}
	wrong.add(m.checkGrants())
	c.setURIs(m, &wrong)
	wrong.add(c.setScopes(m))
	if err := wrong.err(); err != nil {
		return Client{}, err
	}
	bare := c
	c.describe(m)
	for _, one := range []Client{c, bare} {
		if stored, err := json.Marshal(one); err == nil && len(stored) <= largestRecord {
			return one, nil
		}
	}
	return Client{}, badMetadata("The metadata is too large: it may need at most %d bytes as JSON.", largestRecord)
}

// describe sets the members that only describe the client and have a usable value.
func (c *Client) describe(m metadata) {
	page := func(d descriptive[string]) string {
		if isHTTPS(d.value) {
			return d.value
		}
		return ""
	}
	plain := func(text string) bool {
		return utf8.RuneCountInString(text) <= longestName && !strings.ContainsFunc(text, unicode.IsControl)
	}
	line := func(d descriptive[string]) string {
		if plain(d.value) {
			return d.value
		}
		return ""
	}
	c.LogoURI, c.ClientURI, c.PolicyURI, c.TermsURI = page(m.LogoURI), page(m.ClientURI), page(m.PolicyURI),
		page(m.TermsURI)
	c.SoftwareID, c.SoftwareVersion = line(m.SoftwareID), line(m.SoftwareVersion)
	for _, contact := range m.Contacts.value {
		if plain(contact) {
			c.Contacts = append(c.Contacts, contact)
		}
	}
}

// or returns the value, or the text otherwise if value is nil.
func or(value *string, otherwise string) string {
	if value == nil {
		return otherwise
	}
	return *value
}

// checkGrants returns an error if the client cannot use the authorization code grant. It
// ignores other grants, because a metadata document may list those for other servers.
func (m metadata) checkGrants() error {
	var wrong faults
	if len(m.GrantTypes) > 0 && !slices.Contains(m.GrantTypes, "authorization_code") {
		wrong.add(badMetadata("grant_types must contain authorization_code."))
	}
	if len(m.ResponseTypes) > 0 && !slices.Contains(m.ResponseTypes, "code") {
		wrong.add(badMetadata("response_types must contain code."))
	}
	return wrong.err()
}

// setScopes sets the audiences and scopes that the metadata asks for and the catalog
// (authz.Scopes) has. If the metadata names no audiences, they follow from the scopes. If
// no scope has an audience, the client gets all audiences. Without scopes, the client
// gets all scopes of its audiences.
func (c *Client) setScopes(m metadata) error {
	asked := authz.Split(or(m.Scope, ""))
	add := func(audience authz.Audience) {
		if slices.Contains(authz.Audiences, audience) && !slices.Contains(c.Audiences, audience) {
			c.Audiences = append(c.Audiences, audience)
		}
	}
	for _, name := range m.Audiences {
		add(authz.Audience(name))
	}
	if m.Audiences == nil {
		for _, scope := range asked {
			rule, _ := authz.FindRule(scope)
			add(rule.Audience)
		}
		if len(c.Audiences) == 0 {
			c.Audiences = authz.Audiences // an MCP client may name no audience: its resource selects one
		}
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
	if len(c.Scopes) > 0 {
		return nil
	}
	return wrong.err()
}

// setURIs sets the usable addresses, and the application type if the metadata
// has no valid one. The type does not limit the addresses: anybody may register as native,
// and some native applications register as web.
func (c *Client) setURIs(m metadata, wrong *faults) {
	var unusable faults
	c.RedirectURIs, unusable = usableURIs(m.RedirectURIs, c.Public(), m.was.RedirectURIs)
	c.LogoutURIs, _ = usableURIs(m.LogoutURIs, c.Public(), m.was.LogoutURIs)
	if c.ApplicationType = m.ApplicationType.value; c.ApplicationType != "web" && c.ApplicationType != "native" {
		c.ApplicationType = "web"
		if !slices.ContainsFunc(c.RedirectURIs, isHTTPS) {
			c.ApplicationType = "native"
		}
	}
	if len(c.RedirectURIs) > 0 {
		return
	}
	if len(unusable) == 0 {
		unusable.add(protocol.Refuse("invalid_redirect_uri", "redirect_uris must contain at least one address."))
	}
	*wrong = append(*wrong, unusable...)
}

// usableURIs splits redirect addresses into those that a client may register, each once and at
// most mostRedirects, and the faults of the invalid ones, at most mostFaults. public reports
// whether the client is a public one. An address in had, which the client has already, may
// keep a port that is refused for new ones.
func usableURIs(uris []string, public bool, had []string) (usable []string, unusable faults) {
	for _, uri := range uris {
		switch reason := redirectFault(uri, public, slices.Contains(had, uri)); {
		case len(usable) == mostRedirects:
			return usable, unusable
		case reason == "" && !slices.Contains(usable, uri):
			usable = append(usable, uri)
		case reason != "" && len(unusable) < mostFaults:
			unusable.add(protocol.Refuse("invalid_redirect_uri", "%s: %s", protocol.Printable(uri), reason))
		}
	}
	return usable, unusable
}

// isHTTPS reports whether an address is a valid https address without user information
// and fragment.
func isHTTPS(uri string) bool {
	u, err := parseURI(uri)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && !strings.ContainsRune(uri, '#')
}

// setKeys sets the keys and the algorithm with which the client authenticates by
// private_key_jwt (RFC 7591 section 2, OpenID Connect Registration section 2).
func (c *Client) setKeys(m metadata) error {
	if c.AuthMethod != protocol.AuthKey {
		return nil
	}
	c.AuthAlg = or(m.AuthAlg, "")
	switch {
	case c.AuthAlg != "" && !slices.Contains(signing.AssertionAlgorithms, c.AuthAlg):
		return badMetadata("token_endpoint_auth_signing_alg must be ES256, RS256, PS256 or EdDSA.")
	case m.hasKeys() == (m.KeysURI != ""):
		return badMetadata("private_key_jwt needs jwks or jwks_uri, and not both.")
	case m.KeysURI == "":
		if _, err := signing.ParseClientKeys(m.Keys); err != nil {
			return badMetadata("jwks: %s.", err.Error())
		}
		c.Keys = m.Keys
		return nil
	}
	u, err := parseURI(m.KeysURI)
	if err != nil || u.User != nil || u.Fragment != "" || (u.Scheme != "https" || !domainName(u.Host)) &&
		(!m.localKeys || u.Scheme != "https" && u.Scheme != "http" || !onLoopback(u) ||
			outbound.CheckPort(u) != "") {
		return badMetadata("jwks_uri must be an https address of a domain name, without a port.")
	}
	c.KeysURI = m.KeysURI
	return nil
}

// hasKeys reports whether the metadata has the member jwks.
func (m metadata) hasKeys() bool { return len(m.Keys) > 0 && string(m.Keys) != "null" }

// documentMethod returns how the client of a document authenticates. A document
// may list several methods, for several servers. The server takes
// private_key_jwt if the document lists it and its keys can be used. public then
// reports whether a request without credentials is valid too, because the document
// also lists the method "none". A document that lists only other methods never
// becomes public.
func (m metadata) documentMethod() (method string, public bool, err error) {
	methods := m.AuthMethods
	if m.AuthMethod != nil {
		methods = append(slices.Clip(methods), *m.AuthMethod)
	}
	public = len(methods) == 0 || slices.Contains(methods, protocol.AuthNone)
	err = badMetadata("token_endpoint_auth_method must be none, or private_key_jwt with jwks or jwks_uri.")
	if slices.Contains(methods, protocol.AuthKey) {
		keyed := Client{AuthMethod: protocol.AuthKey}
		if err = keyed.setKeys(m); err == nil {
			return protocol.AuthKey, public, nil
		}
	}
	if public {
		return protocol.AuthNone, false, nil
	}
	return "", false, err
}
