package oauth

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/pkg/authz"
)

// Bounds of an authorization request, in bytes.
const (
	longestQuery = 6000 // the gateway takes 8 KiB of request line and headers
	longestState = 2000
	longestNonce = 512
)

// authRequest is an authorization request (RFC 6749 section 4.1.1, RFC 7636
// section 4.3, RFC 8707 section 2, OpenID Connect Core section 3.1.2.1) and
// tenant_hint (specification, "Authorize").
type authRequest struct {
	query       url.Values // as it came: what forms and redirects carry on
	clientID    string
	redirectURI string
	state       string
	scopes      []string
	challenge   string
	nonce       string
	loginHint   string
	tenantHint  string
	locales     string
	idTokenHint string
	resource    string
	prompt      []string
	maxAge      time.Duration
	hasMaxAge   bool
}

// The parameters of which there may be one each (RFC 6749 section 3.1);
// resource may be repeated (RFC 8707 section 2), others are not looked at.
var single = []string{"response_type", "response_mode", "client_id", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method",
	"nonce", "display", "prompt", "max_age", "ui_locales", "id_token_hint", "login_hint", "acr_values", "tenant_hint", "request", "request_uri", "registration", "claims"}

// pageError is a fault of a request that is told to the person alone: who sent
// the request is not known well enough to be answered (RFC 6749 section 4.1.2.1).
type pageError struct {
	status int
	kind   string // of page.Message
	detail string
}

func (e *pageError) Error() string { return e.kind + ": " + e.detail }

func badRequest(kind, detail string) *pageError {
	return &pageError{status: 400, kind: kind, detail: detail}
}

// parseRequest reads what decides who is answered: the client and the redirect
// URI. Its error is a *pageError.
func parseRequest(raw string) (authRequest, error) {
	if len(raw) > longestQuery {
		return authRequest{}, badRequest("request", "the request is too long")
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return authRequest{}, badRequest("request", "the query is malformed")
	}
	for name, values := range query { // a parameter without a value is as if omitted (RFC 6749 section 3.1)
		if query[name] = slices.DeleteFunc(values, func(v string) bool { return v == "" }); len(query[name]) == 0 {
			delete(query, name)
		}
	}
	if len(query.Encode()) > longestQuery { // as the forms carry it on
		return authRequest{}, badRequest("request", "the request is too long")
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
	a := authRequest{query: query, clientID: query.Get("client_id"), redirectURI: query.Get("redirect_uri"), locales: query.Get("ui_locales")}
	if states := query["state"]; len(states) == 1 && len(states[0]) <= longestState {
		a.state = states[0]
	}
	return a, nil
}

// s256 is a challenge: 32 bytes in base64url without padding (RFC 7636 section 4.2).
var s256 = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// read reads the rest. Its error is one to redirect with.
func (a *authRequest) read() *Error {
	q := a.query
	for _, name := range single {
		if len(q[name]) > 1 {
			return refuse("invalid_request", "%s is repeated.", name)
		}
	}
	switch {
	case q.Has("request"):
		return refuse("request_not_supported", "Request objects are not supported.")
	case q.Has("request_uri"):
		return refuse("request_uri_not_supported", "Request objects are not supported.")
	case q.Has("registration"):
		return refuse("registration_not_supported", "Register at the registration endpoint.")
	case !q.Has("response_type"):
		return refuse("invalid_request", "response_type is missing.")
	case q.Get("response_type") != "code":
		return refuse("unsupported_response_type", "response_type must be code.")
	case q.Has("response_mode") && q.Get("response_mode") != "query":
		return refuse("invalid_request", "response_mode must be query.")
	case len(q.Get("state")) > longestState:
		return refuse("invalid_request", "state is too long.")
	case len(q.Get("nonce")) > longestNonce:
		return refuse("invalid_request", "nonce is too long.")
	case !q.Has("code_challenge"):
		return refuse("invalid_request", "code_challenge is missing: PKCE is required of every client.")
	case q.Get("code_challenge_method") != "S256":
		return refuse("invalid_request", "code_challenge_method must be S256.")
	case !s256.MatchString(q.Get("code_challenge")):
		return refuse("invalid_request", "code_challenge is not a SHA-256 in base64url.")
	}
	a.scopes, a.challenge, a.nonce = authz.Split(q.Get("scope")), q.Get("code_challenge"), q.Get("nonce")
	a.loginHint, a.tenantHint, a.idTokenHint = q.Get("login_hint"), q.Get("tenant_hint"), q.Get("id_token_hint")
	return a.readPrompt()
}

func (a *authRequest) readPrompt() *Error {
	a.prompt = strings.Fields(a.query.Get("prompt"))
	for _, value := range a.prompt {
		if !slices.Contains([]string{"none", "login", "consent", "select_account"}, value) {
			return refuse("invalid_request", "prompt has a value that is not known.")
		}
	}
	if a.asks("none") && len(a.prompt) > 1 {
		return refuse("invalid_request", "prompt none stands alone.")
	}
	if text := a.query.Get("max_age"); text != "" {
		seconds, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return refuse("invalid_request", "max_age must be a number of seconds.")
		}
		a.maxAge, a.hasMaxAge = time.Duration(seconds)*time.Second, true
	}
	return nil
}

// asks says whether prompt holds the value.
func (a *authRequest) asks(value string) bool { return slices.Contains(a.prompt, value) }

// readResource checks the resource indicators: the API is the only resource
// (RFC 8707 section 2).
func (a *authRequest) readResource(base string) *Error {
	for _, resource := range a.query["resource"] {
		if resource != base+"/api/v1" {
			return refuse("invalid_target", "resource must be %s/api/v1.", base)
		}
		a.resource = resource
	}
	return nil
}

// audience decides whom the token is for, by the scopes asked for (decisions,
// "OAuth"), and gives the scopes that the client registered among them.
func (a *authRequest) audience(c Client) (authz.Audience, []string, *Error) {
	asked := a.scopes
	if len(asked) == 0 {
		asked = c.Scopes
	}
	known := slices.DeleteFunc(slices.Clone(asked), func(scope string) bool {
		_, ok := authz.RuleOf(scope)
		return !ok
	})
	audience, ok := authz.AudienceOf(known)
	if !ok {
		return "", nil, refuse("invalid_scope", "The scopes are of more than one audience.")
	}
	if audience == "" && len(c.Audiences) == 1 {
		audience = c.Audiences[0]
	}
	if audience == "" || !slices.Contains(c.Audiences, audience) {
		return "", nil, refuse("invalid_scope", "The scopes do not say for which one of the client's audiences they are.")
	}
	var out []string
	for _, scope := range known {
		if slices.Contains(c.Scopes, scope) && !slices.Contains(out, scope) {
			out = append(out, scope)
		}
	}
	if len(out) == 0 {
		return "", nil, refuse("invalid_scope", "The client is registered for none of the scopes.")
	}
	return audience, out, nil
}
