package oauth

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/domain/page"
	"svc/pkg/oauth/clients"
	"svc/pkg/oauth/protocol"
)

// Limits of an authorization request, in bytes.
const (
	longestQuery = 7000 // the gateway accepts 10,240 bytes of request line and headers
	longestState = 4096
	longestNonce = 512
)

// authRequest is an authorization request (RFC 6749 section 4.1.1, RFC 7636
// section 4.3, RFC 8707 section 2, OpenID Connect Core section 3.1.2.1) and
// tenant_hint (specification, "Authorize").
type authRequest struct {
	query       url.Values // without empty parameters; forms and redirects repeat it
	clientID    string
	redirectURI string
	state       string
	formPost    bool // the response is a form that the browser posts to the redirect URI
	scopes      []string
	challenge   string
	nonce       string
	loginHint   string
	tenantHint  string
	locales     string
	idTokenHint string
	resource    string         // as authz.Resources returns it
	actsAs      authz.Audience // audience that the resource determines, or ""
	prompt      []string
	maxAge      time.Duration
	hasMaxAge   bool
}

// single lists the parameters that may occur only once (RFC 6749 section 3.1).
// resource may be repeated (RFC 8707 section 2). The server ignores all other
// parameters except chosen.
var single = []string{"response_type", "response_mode", "client_id", "redirect_uri", "scope", "state", "code_challenge",
	"code_challenge_method",
	"nonce", "display", "prompt", "max_age", "ui_locales", "id_token_hint", "login_hint", "acr_values", "tenant_hint",
	"request", "request_uri", "registration", "claims"}

// pageError is an error that only the person sees, on a page. The client gets no
// response, for example because its redirect URI is not registered (RFC 6749
// section 4.1.2.1).
type pageError struct {
	status int
	kind   string // of page.Message
	detail string
	brand  page.Brand
	again  string // as in page.Message
	signIn string // as in page.Message
}

func (e *pageError) Error() string { return e.kind + ": " + e.detail }

func badRequest(kind, detail string) *pageError {
	return &pageError{status: 400, kind: kind, detail: detail}
}

var errLongQuery = badRequest("request", "the query is longer than 7,000 bytes")

// parseRequest parses the query, and reads what every response needs: the
// client, the redirect URI, the response mode and the state. It also reads
// ui_locales. The error is
// a *pageError.
func parseRequest(raw string) (authRequest, error) {
	if len(raw) > longestQuery {
		return authRequest{}, errLongQuery
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return authRequest{}, badRequest("request", "the query is malformed")
	}
	for name, values := range query { // RFC 6749 section 3.1: an empty parameter counts as omitted
		if query[name] = slices.DeleteFunc(values, func(v string) bool { return v == "" }); len(query[name]) == 0 {
			delete(query, name)
		}
	}
	if len(query.Encode()) > longestQuery { // the forms repeat the query in this encoding
		return authRequest{}, errLongQuery
	}
	for _, name := range []string{"client_id", "redirect_uri"} {
		switch len(query[name]) {
		case 0:
			return authRequest{}, badRequest("request", name+" is missing")
		case 1:
		default:
			return authRequest{}, badRequest("request", name+" is repeated")
		}
	}
	a := authRequest{query: query, clientID: query.Get("client_id"), redirectURI: query.Get("redirect_uri"),
		locales: query.Get("ui_locales")}
	web := strings.HasPrefix(a.redirectURI, "https://") || strings.HasPrefix(a.redirectURI, "http://")
	a.formPost = web && slices.Equal(query["response_mode"], []string{"form_post"})
	if states := query["state"]; len(states) == 1 && len(states[0]) <= longestState {
		a.state = states[0]
	}
	return a, nil
}

// s256 matches a code challenge: 32 bytes in base64url without padding (RFC
// 7636 section 4.2). The secret of a one-time link has the same form.
var s256 = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// read parses the other parameters, except resource. Its error is for the client
// (see redirectError).
func (a *authRequest) read() *protocol.Error {
	q := a.query
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
	case q.Has("response_mode") && q.Get("response_mode") != "query" && !a.formPost:
		return protocol.Refuse("invalid_request",
			"response_mode must be query or, for a redirect_uri of http or https, form_post.")
	case len(q.Get("state")) > longestState:
		return protocol.Refuse("invalid_request", "state is longer than %d bytes.", longestState)
	case len(q.Get("nonce")) > longestNonce:
		return protocol.Refuse("invalid_request", "nonce is longer than %d bytes.", longestNonce)
	case !q.Has("code_challenge"):
		return protocol.Refuse("invalid_request", "code_challenge is missing: PKCE is required of every client.")
	case q.Get("code_challenge_method") != "S256":
		return protocol.Refuse("invalid_request", "code_challenge_method must be S256.")
	case !s256.MatchString(q.Get("code_challenge")):
		return protocol.Refuse("invalid_request", "code_challenge must be a SHA-256 in base64url: 43 characters.")
	}
	a.scopes, a.challenge, a.nonce = authz.Split(q.Get("scope")), q.Get("code_challenge"), q.Get("nonce")
	a.loginHint, a.tenantHint, a.idTokenHint = q.Get("login_hint"), q.Get("tenant_hint"), q.Get("id_token_hint")
	if q.Has(chosen) {
		a.tenantHint = strings.TrimSpace(a.tenantHint)
	}
	return a.readPrompt()
}

func (a *authRequest) readPrompt() *protocol.Error {
	a.prompt = strings.Fields(a.query.Get("prompt"))
	for _, value := range a.prompt {
		if !slices.Contains([]string{"none", "login", "consent", "select_account", "create"}, value) {
			return protocol.Refuse("invalid_request", "prompt may contain none, login, consent, select_account and create only.")
		}
	}
	if a.asks("none") && len(a.prompt) > 1 {
		return protocol.Refuse("invalid_request", "prompt may not combine none with another value.")
	}
	if text := a.query.Get("max_age"); text != "" {
		seconds, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return protocol.Refuse("invalid_request", "max_age must be a number of seconds.")
		}
		a.maxAge, a.hasMaxAge = time.Duration(seconds)*time.Second, true
	}
	return nil
}

// asks reports whether prompt contains the value.
func (a *authRequest) asks(value string) bool { return slices.Contains(a.prompt, value) }

// readResource reads the resource indicators (RFC 8707 section 2). An address
// of the MCP server determines the audience. If the address names a tenant, it
// also determines the tenant.
func (a *authRequest) readResource(base string) *protocol.Error {
	resources, refused := protocol.ParseResources(base, a.query["resource"])
	if refused != nil {
		return refused
	}
	var paths []string
	for _, r := range resources {
		paths = append(paths, r.Path)
		if !r.MCP() {
			continue
		}
		a.actsAs = r.Audience
		if r.Tenant != "" {
			if a.tenantHint != "" && a.tenantHint != r.Tenant {
				return protocol.Refuse("invalid_target", "resource and tenant_hint must name the same tenant.")
			}
			a.tenantHint = r.Tenant
		}
	}
	a.resource = authz.Resources(paths)
	return nil
}

// audience determines the token's audience: by the resource, else by the
// requested scopes, else by the client's only audience (docs/decisions.md,
// "OAuth"). It returns the audience and those requested scopes that the client
// registered, without the scopes of other audiences than the resource's. A
// request without scope asks for all scopes of the client.
func (a *authRequest) audience(c clients.Client) (authz.Audience, []string, *protocol.Error) {
	asked := a.scopes
	if len(asked) == 0 {
		asked = c.Scopes
	}
	var known, granted []string
	for _, scope := range asked {
		rule, ok := authz.FindRule(scope)
		if !ok || a.actsAs != "" && rule.Audience != "" && rule.Audience != a.actsAs {
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
	audience = cmp.Or(a.actsAs, audience)
	if audience == "" { // the scopes that the client did not register may still say which is meant
		audience, _ = authz.CommonAudience(known)
	}
	if len(c.Audiences) == 1 && a.actsAs == "" {
		audience = c.Audiences[0]
	}
	if audience == "" || !slices.Contains(c.Audiences, audience) {
		return "", nil, protocol.Refuse("invalid_scope",
			"The scopes do not select one of the audiences that the client registered. Add a scope of one, or a resource.")
	}
	return audience, granted, nil
}
