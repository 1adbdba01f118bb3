// Package request parses the parameters of an authorization request. It reads no
// table.
package request

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/oauth/clients"
	"svc/pkg/oauth/protocol"
)

// Limits of an authorization request, in bytes. LongestQuery also limits a
// request for a sign-out.
const (
	LongestQuery = 7000 // the gateway accepts 10,240 bytes of request line and headers
	longestState = 4096
	longestNonce = 512
)

// Request is an authorization request (RFC 6749 section 4.1.1, RFC 7636
// section 4.3, RFC 8707 section 2, OpenID Connect Core section 3.1.2.1) and
// tenant_hint (specification, "Authorize").
type Request struct {
	Query       url.Values // the query without empty parameters; forms and redirects repeat the query
	ClientID    string
	RedirectURI string
	State       string
	FormPost    bool // the response is a form that the browser posts to the redirect URI
	Scopes      []string
	Challenge   string
	Nonce       string
	LoginHint   string
	TenantHint  string
	Locales     string
	IDTokenHint string
	Resource    string         // protected resources, in the form that authz.Resources returns
	ActsAs      authz.Audience // audience that the resource determines, or ""
	Silent      bool           // prompt is none: the server must not show a page
	Prompt      []string
	MaxAge      time.Duration
	HasMaxAge   bool

	broken *protocol.Error // what is wrong with the query as a whole
}

// single lists the parameters that may occur only once (RFC 6749 section 3.1).
// resource may be repeated (RFC 8707 section 2). The server ignores all other
// parameters except CompanyTyped.
var single = []string{"response_type", "response_mode", "client_id", "redirect_uri", "scope", "state", "code_challenge",
	"code_challenge_method",
	"nonce", "display", "prompt", "max_age", "ui_locales", "id_token_hint", "login_hint", "acr_values", "tenant_hint",
	"request", "request_uri", "registration", "claims"}

// CompanyTyped is a query parameter. It marks a request whose tenant_hint the person
// typed on the page that asks for the company.
const CompanyTyped = "company"

// AudienceChosen is a query parameter. It names the audience of a request whose scopes
// select none of the client's audiences. The person chooses it on a page, or the client
// names it.
const AudienceChosen = "audience"

// Parse parses the query, and reads what every response needs: the client, the redirect
// URI, the response mode, the state and whether a page may be shown. It also reads
// ui_locales. The error is a *protocol.PageError. For a query that is malformed or too
// long, Parse returns no error and Read returns one, so that the client gets the error.
func Parse(raw string) (Request, error) {
	var broken *protocol.Error
	query, err := url.ParseQuery(raw) // with an error, query has only the well-formed parts
	if err != nil {
		broken = protocol.Refuse("invalid_request", "The query is malformed.")
	}
	for name, values := range query { // RFC 6749 section 3.1: an empty parameter counts as omitted
		if query[name] = slices.DeleteFunc(values, func(v string) bool { return v == "" }); len(query[name]) == 0 {
			delete(query, name)
		}
	}
	if max(len(raw), len(query.Encode())) > LongestQuery { // the forms repeat the query in this encoding
		broken = protocol.Refuse("invalid_request", "The query is longer than 7,000 bytes.")
	}
	for _, name := range []string{"client_id", "redirect_uri"} {
		switch len(query[name]) {
		case 0:
			return Request{}, protocol.RefuseOnPage("request", name+" is missing")
		case 1:
		default:
			return Request{}, protocol.RefuseOnPage("request", name+" is repeated")
		}
	}
	a := Request{Query: query, ClientID: query.Get("client_id"), RedirectURI: query.Get("redirect_uri"),
		Locales: query.Get("ui_locales"), broken: broken}
	web := strings.HasPrefix(a.RedirectURI, "https://") || strings.HasPrefix(a.RedirectURI, "http://")
	a.FormPost = web && slices.Equal(query["response_mode"], []string{"form_post"})
	prompt := slices.Compact(strings.Fields(strings.Join(query["prompt"], " ")))
	a.Silent = slices.Equal(prompt, []string{"none"})
	if states := query["state"]; len(states) == 1 && len(states[0]) <= longestState {
		a.State = states[0]
	}
	return a, nil
}

// Secret256 matches a code challenge: 32 bytes in base64url without padding (RFC
// 7636 section 4.2). The secret of a one-time link has the same form.
var Secret256 = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// Read parses the parameters that Parse has not read, except resource. The client gets the
// error.
func (a *Request) Read() *protocol.Error {
	q := a.Query
	if a.broken != nil {
		return a.broken
	}
	for _, name := range single {
		if len(q[name]) > 1 {
			return protocol.Refuse("invalid_request", "%s is repeated.", name)
		}
	}
	switch {
	case q.Has("request"):
		return protocol.Refuse("request_not_supported", "Request objects are not supported.")
	case q.Has("request_uri"):
		return protocol.Refuse("request_uri_not_supported", "Request objects are not supported.")
	case q.Has("registration"):
		return protocol.Refuse("registration_not_supported", "Register at the registration endpoint.")
	case !q.Has("response_type"):
		return protocol.Refuse("invalid_request", "response_type is missing.")
	case q.Get("response_type") != "code":
		return protocol.Refuse("unsupported_response_type", "response_type must be code.")
	case q.Has("response_mode") && q.Get("response_mode") != "query" && !a.FormPost:
		return protocol.Refuse("invalid_request",
			"response_mode must be query or, for a redirect_uri of http or https, form_post.")
	case len(q.Get("state")) > longestState:
		return protocol.Refuse("invalid_request", "state is longer than %d bytes.", longestState)
	case len(q.Get("nonce")) > longestNonce:
		return protocol.Refuse("invalid_request", "nonce is longer than %d bytes.", longestNonce)
	case !q.Has("code_challenge"): // CheckChallenge decides whether the request needs one
		if q.Has("code_challenge_method") {
			return errNoChallenge
		}
	case q.Get("code_challenge_method") != "S256":
		return protocol.Refuse("invalid_request", "code_challenge_method must be S256.")
	case !Secret256.MatchString(q.Get("code_challenge")):
		return protocol.Refuse("invalid_request", "code_challenge must be a SHA-256 in base64url: 43 characters.")
	}
	a.Scopes, a.Challenge, a.Nonce = authz.Split(q.Get("scope")), q.Get("code_challenge"), q.Get("nonce")
	a.LoginHint, a.TenantHint, a.IDTokenHint = q.Get("login_hint"), q.Get("tenant_hint"), q.Get("id_token_hint")
	if q.Has(CompanyTyped) {
		a.TenantHint = strings.TrimSpace(a.TenantHint)
	}
	return a.ReadPrompt()
}

// errNoChallenge is the error of a request whose code would have no protection. Its text
// names both ways to protect a code.
var errNoChallenge = protocol.Refuse("invalid_request", "code_challenge is missing. Send a PKCE challenge (S256). "+
	"A confidential client may instead ask for openid with a nonce, without a resource of the MCP server.")

// CheckChallenge checks that the code will be bound to this request: by a challenge, or
// by the nonce of a client that always authenticates (RFC 9700 section 2.1.1). granted
// are the scopes that the code can get. A client without PKCE sees by the nonce of the
// id_token that a code is not its own, so the code must bring an id_token. An agent's
// client must use PKCE.
func (a *Request) CheckChallenge(c clients.Client, granted []string) *protocol.Error {
	const openid = "openid"
	if a.Challenge != "" || c.AlwaysConfidential() && a.Nonce != "" && a.ActsAs == "" &&
		slices.Contains(a.Scopes, openid) && slices.Contains(granted, openid) {
		return nil
	}
	return errNoChallenge
}

// ReadPrompt parses prompt and max_age.
func (a *Request) ReadPrompt() *protocol.Error {
	a.Prompt = strings.Fields(a.Query.Get("prompt"))
	for _, value := range a.Prompt {
		if !slices.Contains([]string{"none", "login", "consent", "select_account", "create"}, value) {
			return protocol.Refuse("invalid_request", "prompt may contain none, login, consent, select_account and create only.")
		}
	}
	if a.Asks("none") && len(a.Prompt) > 1 {
		return protocol.Refuse("invalid_request", "prompt may not combine none with another value.")
	}
	if text := a.Query.Get("max_age"); text != "" {
		seconds, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return protocol.Refuse("invalid_request", "max_age must be a number of seconds.")
		}
		a.MaxAge, a.HasMaxAge = time.Duration(seconds)*time.Second, true
	}
	return nil
}

// Asks reports whether prompt contains the value.
func (a *Request) Asks(value string) bool { return slices.Contains(a.Prompt, value) }

// ReadResource reads the resource indicators (RFC 8707 section 2). An address
// of the MCP server determines the audience. If the address names a tenant, it
// also determines the tenant.
func (a *Request) ReadResource(base string) *protocol.Error {
	resources, refused := protocol.ParseResources(base, a.Query["resource"])
	if refused != nil {
		return refused
	}
	var paths []string
	for _, r := range resources {
		paths = append(paths, r.Path)
		if !r.MCP() {
			continue
		}
		a.ActsAs = r.Audience
		if r.Tenant != "" {
			if a.TenantHint != "" && a.TenantHint != r.Tenant {
				return protocol.Refuse("invalid_target", "resource and tenant_hint must name the same tenant.")
			}
			a.TenantHint = r.Tenant
		}
	}
	a.Resource = authz.Resources(paths)
	return nil
}

// ChooseAudience determines the token's audience: by the resource, else by the
// requested scopes, else by the client's only audience, else by the parameter audience,
// which the person's choice adds. The audience is "" if nothing selects one of several.
// In that case prompt=none fails even with a session, which may belong to another account.
// ChooseAudience also returns those requested scopes that the client registered, without
// the scopes of other audiences than the resource's. A request without scope asks for all
// scopes of the client.
func (a *Request) ChooseAudience(c clients.Client) (authz.Audience, []string, *protocol.Error) {
	asked := a.Scopes
	if len(asked) == 0 {
		asked = c.Scopes
	}
	var known, granted []string
	for _, scope := range asked {
		rule, ok := authz.FindRule(scope)
		if !ok || a.ActsAs != "" && rule.Audience != "" && rule.Audience != a.ActsAs {
			continue
		}
		known = append(known, scope)
		if slices.Contains(c.Scopes, scope) && !slices.Contains(granted, scope) {
			granted = append(granted, scope)
		}
	}
	switch {
	case len(known) == 0 && len(asked) > 0:
		return "", nil, protocol.Refuse("invalid_scope", "None of these scopes exists for this resource: %s.",
			protocol.Printable(strings.Join(asked, " ")))
	case len(granted) == 0:
		return "", nil, protocol.Refuse("invalid_scope", "The client registered none of the requested scopes.")
	}
	audience, ok := authz.CommonAudience(granted)
	if !ok {
		return "", nil, protocol.Refuse("invalid_scope", "The scopes belong to more than one audience. Ask for those of one.")
	}
	audience = cmp.Or(a.ActsAs, audience)
	if audience == "" { // the requested scopes that the client did not register may still select one
		audience, _ = authz.CommonAudience(known)
	}
	if len(c.Audiences) == 1 && a.ActsAs == "" {
		audience = c.Audiences[0]
	}
	if named := authz.Audience(a.Query.Get(AudienceChosen)); audience == "" && slices.Contains(c.Audiences, named) {
		audience = named
	}
	if audience != "" && !slices.Contains(c.Audiences, audience) {
		return "", nil, protocol.Refuse("invalid_scope",
			"The scopes do not select one of the audiences that the client registered. Add a scope of one, or a resource.")
	}
	return audience, granted, nil
}

// Name returns a hash of the request. Sessions and forms refer to the request
// by this name.
func (a *Request) Name() string { return ids.Hash(a.Query.Encode()) }

// Link returns the request's address at path, relative to the pages of the
// server.
func (a *Request) Link(path string) string { return path + "?" + a.Query.Encode() }

// SwitchAccount returns the address of the same request, changed so that the person
// must sign in again and may use another account.
func (a *Request) SwitchAccount() string {
	query := url.Values{}
	for name, values := range a.Query {
		query[name] = values
	}
	prompt := []string{"login"}
	if a.Asks("consent") {
		prompt = append(prompt, "consent")
	}
	query.Set("prompt", strings.Join(prompt, " "))
	query.Del("login_hint")
	query.Del("id_token_hint")
	return "authorize?" + query.Encode()
}
