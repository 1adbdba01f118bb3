package protocol

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"svc/pkg/access/signing"
)

// The client authentication methods (RFC 7591 section 2).
const (
	AuthNone  = "none"
	AuthBasic = "client_secret_basic"
	AuthPost  = "client_secret_post"
	AuthKey   = "private_key_jwt" // OpenID Connect Core section 9
)

// AuthMethods lists the client authentication methods.
var AuthMethods = []string{AuthNone, AuthBasic, AuthPost, AuthKey}

// Credentials are the client credentials of one request.
type Credentials struct {
	ClientID  string
	Secret    string
	Method    string            // one of AuthMethods
	Header    bool              // the credentials came in the header Authorization
	Assertion signing.Assertion // with AuthKey; its signature and earlier uses are not checked yet
}

// assertionType is the client_assertion_type of a JWT (RFC 7523 section 2.2).
const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

// ErrNoClient means that a request names no client.
var ErrNoClient = Refuse("invalid_request", "client_id is missing.")

// ParseCredentials returns the client credentials of a request. RFC 6749
// section 2.3 allows one authentication method per request. An empty secret counts as
// absent, because some libraries send one for a public client. parse decodes a
// client assertion and checks its claims. The client sees the text of an error
// that parse returns.
func ParseCredentials(r *http.Request, form url.Values, parse func(string) (signing.Assertion, error)) (Credentials,
	error) {
	headers := r.Header.Values("Authorization")
	asserted := form.Has("client_assertion") || form.Has("client_assertion_type")
	switch {
	case len(headers) > 1, len(headers) > 0 && form.Has("client_secret"), asserted && form.Has("client_secret"),
		asserted && len(headers) > 0:
		return Credentials{}, Refuse("invalid_request", "Send the credentials of one authentication method only.")
	case asserted:
		return parseAssertion(form, parse)
	case len(headers) == 0:
		c := Credentials{ClientID: form.Get("client_id"), Method: AuthNone}
		if form.Has("client_secret") {
			c.Secret, c.Method = form.Get("client_secret"), AuthPost
		}
		if c.ClientID == "" {
			return Credentials{}, ErrNoClient
		}
		return c, nil
	}
	id, secret, err := ParseBasic(headers[0])
	if err != nil {
		return Credentials{}, InvalidClient(true)
	}
	if given := form.Get("client_id"); given != "" && given != id {
		return Credentials{}, errOtherClient
	}
	c := Credentials{ClientID: id, Secret: secret, Method: AuthBasic, Header: true}
	if secret == "" {
		c.Method = AuthNone
	}
	return c, nil
}

// errOtherClient is the error for a client_id other than the client of the credentials.
var errOtherClient = Refuse("invalid_request", "client_id differs from the client of the credentials.")

// parseAssertion returns the credentials of a request with a client assertion.
// client_id may be absent (RFC 7521 section 4.2).
func parseAssertion(form url.Values, parse func(string) (signing.Assertion, error)) (Credentials, error) {
	raw, kind := form.Get("client_assertion"), form.Get("client_assertion_type")
	if raw == "" || kind == "" {
		return Credentials{}, Refuse("invalid_request", "Send client_assertion and client_assertion_type together.")
	}
	refused := InvalidClient(false)
	if kind != assertionType {
		refused.Description = "client_assertion_type must be " + assertionType + "."
		return Credentials{}, refused
	}
	a, err := parse(raw)
	if err != nil {
		refused.Description = "The client assertion is not valid: " + err.Error() + "."
		return Credentials{}, refused
	}
	if given := form.Get("client_id"); given != "" && given != a.Client {
		return Credentials{}, errOtherClient
	}
	return Credentials{ClientID: a.Client, Method: AuthKey, Assertion: a}, nil
}

// ParseBasic parses the Authorization header of RFC 7617. A client form-encodes
// both parts first (RFC 6749 section 2.3.1).
func ParseBasic(header string) (id, secret string, err error) {
	scheme, text, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Basic") {
		return "", "", errors.New("not Basic")
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimLeft(text, " "))
	if err != nil {
		return "", "", fmt.Errorf("not base64: %w", err)
	}
	user, password, ok := strings.Cut(string(raw), ":")
	if !ok {
		return "", "", errors.New("no colon")
	}
	if id, err = url.QueryUnescape(user); err != nil {
		return "", "", fmt.Errorf("id: %w", err)
	}
	if secret, err = url.QueryUnescape(password); err != nil {
		return "", "", fmt.Errorf("secret: %w", err)
	}
	return id, secret, nil
}

// InvalidClient returns the error invalid_client (RFC 6749 section 5.2), with a
// challenge if the credentials came in the header Authorization. An unknown
// client, a disabled client and a wrong secret get the same response.
func InvalidClient(challenge bool) *Error {
	e := &Error{Status: http.StatusUnauthorized, Code: "invalid_client",
		Description: "The client is unknown or did not authenticate as it registered."}
	if challenge {
		e.Authenticate = `Basic realm="oauth"`
	}
	return e
}

// Bearer returns the request's bearer token (RFC 6750 section 2.1). given
// reports whether the request has one.
func Bearer(r *http.Request) (token string, given bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimLeft(token, " ")
	return token, ok && strings.EqualFold(scheme, "Bearer") && token != ""
}
