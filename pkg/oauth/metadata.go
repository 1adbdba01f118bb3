package oauth

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"svc/pkg/authz"
	"svc/pkg/signing"
)

// Bounds of a registration. A client's record stays within one read unit.
const (
	mostRedirects  = 20
	longestURI     = 2000
	longestName    = 100
	largestRecord  = 3600 // bytes of JSON
	otherwiseNamed = "Unnamed app"
)

// metadata is what a registration may say (RFC 7591 section 2); members that
// it does not name are ignored, as that section asks.
type metadata struct {
	Name            *string  `json:"client_name"`
	RedirectURIs    []string `json:"redirect_uris"`
	LogoutURIs      []string `json:"post_logout_redirect_uris"`
	AuthMethod      *string  `json:"token_endpoint_auth_method"`
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

	// Read by PUT alone (RFC 7592 section 2.2).
	ClientID     *string `json:"client_id"`
	ClientSecret *string `json:"client_secret"`
}

func badMetadata(format string, args ...any) *Error {
	return refuse("invalid_client_metadata", format, args...)
}

// parseMetadata reads a registration's body.
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

// client gives the metadata as a client, checked, with the defaults of RFC
// 7591 section 2 and OpenID Connect Registration section 2.
func (m metadata) client() (Client, error) {
	c := Client{
		Name: otherwiseNamed, RedirectURIs: m.RedirectURIs, LogoutURIs: m.LogoutURIs, AuthMethod: or(m.AuthMethod, authBasic),
		ApplicationType: or(m.ApplicationType, "web"), IDTokenAlg: or(m.IDTokenAlg, signing.RS256),
		LogoURI: m.LogoURI, ClientURI: m.ClientURI, PolicyURI: m.PolicyURI, TermsURI: m.TermsURI,
		Contacts: m.Contacts, SoftwareID: m.SoftwareID, SoftwareVersion: m.SoftwareVersion,
	}
	if m.ApplicationType == nil && anyNative(m.RedirectURIs) {
		c.ApplicationType = "native" // a client that says nothing of it and has what only native ones may
	}
	if m.Name != nil {
		c.Name = *m.Name
	}
	if err := checkName(c.Name); err != nil {
		return Client{}, err
	}
	if !slices.Contains([]string{authNone, authBasic, authPost}, c.AuthMethod) {
		return Client{}, badMetadata("token_endpoint_auth_method must be none, client_secret_basic or client_secret_post.")
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
			return Client{}, badMetadata("contacts, software_id and software_version are plain texts of at most %d characters.", longestName)
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

// setScopes fills in audiences and scopes. Audiences that are not named are
// those of the scopes; without a scope it is all that the audiences may have.
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
			if rule, ok := authz.RuleOf(scope); ok && rule.Audience != "" && !slices.Contains(c.Audiences, rule.Audience) {
				c.Audiences = append(c.Audiences, rule.Audience)
			}
		}
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
		rule, ok := authz.RuleOf(scope)
		if !ok || (rule.Audience != "" && !slices.Contains(c.Audiences, rule.Audience)) {
			return badMetadata("scope holds %s, which the catalog does not have for these audiences.", printable(scope))
		}
		if !slices.Contains(c.Scopes, scope) {
			c.Scopes = append(c.Scopes, scope)
		}
	}
	return nil
}

func (c Client) checkURIs() error {
	if len(c.RedirectURIs) == 0 || len(c.RedirectURIs) > mostRedirects {
		return refuse("invalid_redirect_uri", "redirect_uris must hold 1 to %d addresses.", mostRedirects)
	}
	for _, uri := range c.RedirectURIs {
		if reason := redirectFault(uri, c.ApplicationType); reason != "" {
			return refuse("invalid_redirect_uri", "%s: %s", printable(uri), reason)
		}
	}
	if len(c.LogoutURIs) > mostRedirects {
		return badMetadata("post_logout_redirect_uris holds more than %d addresses.", mostRedirects)
	}
	for _, uri := range c.LogoutURIs {
		if reason := redirectFault(uri, c.ApplicationType); reason != "" {
			return badMetadata("post_logout_redirect_uris: %s: %s", printable(uri), reason)
		}
	}
	for name, uri := range map[string]string{"logo_uri": c.LogoURI, "client_uri": c.ClientURI, "policy_uri": c.PolicyURI, "tos_uri": c.TermsURI} {
		if uri == "" {
			continue
		}
		if u, err := parseURI(uri); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.ContainsRune(uri, '#') {
			return badMetadata("%s must be an https address.", name)
		}
	}
	return nil
}

// redirectFault says what is wrong with a redirect URI, "" when it may be
// registered (RFC 6749 section 3.1.2, RFC 8252 section 7, OpenID Connect
// Registration section 2).
func redirectFault(uri, applicationType string) string {
	u, err := parseURI(uri)
	switch {
	case err != nil:
		return err.Error()
	case strings.ContainsRune(uri, '#'):
		return "a fragment is not allowed"
	case strings.ContainsRune(uri, '*'):
		return "a wildcard is not allowed"
	case u.User != nil:
		return "user information is not allowed"
	case dotted(u):
		return "dot segments are not allowed"
	}
	for _, name := range ownParameters { // the client would have two to choose from (RFC 9207 section 2.4)
		if u.Query().Has(name) {
			return "the parameter " + name + " is the answer's own"
		}
	}
	switch u.Scheme {
	case "https":
		if u.Hostname() == "" {
			return "it has no host"
		}
		return ""
	case "http":
		if !onLoopback(u) {
			return "http is for loopback addresses only"
		}
		if applicationType != "native" {
			return "http is for applications of type native only"
		}
		return ""
	}
	// A private-use scheme is a reversed domain name (RFC 8252 section 7.1).
	if applicationType != "native" || !strings.Contains(u.Scheme, ".") {
		return "it must be https, loopback http, or, of type native, a private scheme such as com.example.app"
	}
	return ""
}

// ownParameters are those that an authorization answer brings.
var ownParameters = []string{"code", "state", "iss", "error", "error_description", "error_uri"}

func parseURI(uri string) (*url.URL, error) {
	if uri == "" || len(uri) > longestURI {
		return nil, fmt.Errorf("it must have 1 to %d characters", longestURI)
	}
	for _, r := range uri {
		if r <= ' ' || r >= 0x7f || r == '\\' || r == '"' || r == '<' || r == '>' {
			return nil, fmt.Errorf("a character is not allowed in an address")
		}
	}
	u, err := url.Parse(uri)
	if err != nil || u.Scheme == "" {
		return nil, fmt.Errorf("it is not an absolute address")
	}
	return u, nil
}

// onLoopback is RFC 8252 section 7.3 with the name that section 8.3 warns of,
// which developers use all the same.
func onLoopback(u *url.URL) bool {
	host := u.Hostname()
	return host == "127.0.0.1" || host == "::1" || host == "localhost"
}

func dotted(u *url.URL) bool {
	for segment := range strings.SplitSeq(u.Path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

func anyNative(uris []string) bool {
	return slices.ContainsFunc(uris, func(uri string) bool {
		u, err := parseURI(uri)
		return err == nil && u.Scheme != "https" && redirectFault(uri, "native") == ""
	})
}

// checkName refuses names that a person could take for something else on the
// consent page: the platform itself, control and direction characters, blanks.
func checkName(name string) error {
	if strings.TrimSpace(name) == "" || utf8.RuneCountInString(name) > longestName || len(name) > 4*longestName {
		return badMetadata("client_name must have 1 to %d characters.", longestName)
	}
	for _, r := range name {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || unicode.Is(unicode.Co, r) {
			return badMetadata("client_name holds a character that cannot be shown.")
		}
	}
	if impersonates(name) {
		return badMetadata("client_name must not look like the platform's own.")
	}
	return nil
}

// platformWords are what only the platform calls itself, folded: a name that
// holds the platform's own, or consists of the others, is refused.
var platformName, platformWords = "svc", map[string]bool{
	"the": true, "app": true, "platform": true, "official": true, "support": true, "security": true, "account": true, "accounts": true,
	"administrator": true, "admin": true, "system": true, "signin": true, "sign": true, "in": true, "login": true, "team": true,
}

// lookalikes folds letters of other scripts and digits that pass for Latin ones.
var lookalikes = strings.NewReplacer("ѕ", "s", "ꜱ", "s", "ς", "s", "$", "s", "5", "s", "ν", "v", "ѵ", "v", "с", "c", "ϲ", "c", "ᴄ", "c",
	"а", "a", "α", "a", "е", "e", "ε", "e", "о", "o", "ο", "o", "0", "o", "р", "p", "ρ", "p", "і", "i", "ι", "i", "1", "l", "т", "t", "τ", "t",
	"м", "m", "г", "r", "у", "y", "υ", "u", "ⅼ", "l", "к", "k", "κ", "k", "н", "n", "η", "n", "|", "l")

func impersonates(name string) bool {
	folded := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, lookalikes.Replace(strings.ToLower(norm.NFKD.String(name))))
	apart := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	words := strings.FieldsFunc(folded, apart)
	whole := strings.Join(words, "")
	if slices.Contains(words, platformName) || whole == platformName {
		return true // also spelled s.v.c
	}
	if len(words) == 0 {
		return false
	}
	for _, word := range words {
		if !platformWords[word] && !platformWords[strings.TrimPrefix(word, platformName)] {
			return false
		}
	}
	return true
}

// printable cuts a caller's text to what may stand in an error description
// (RFC 6749 section 5.2 allows ASCII without quote and backslash).
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '?'
		}
		return r
	}, text)
	if len(text) > 100 {
		return text[:100] + "..."
	}
	return text
}
