package oauth

import (
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"svc/pkg/ids"
)

// parseForm reads a form-encoded body. A repeated parameter is refused and an
// empty one is as if it were absent (RFC 6749 section 3.2); only resource may
// come more than once (RFC 8707 section 2).
func parseForm(r *http.Request) (url.Values, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/x-www-form-urlencoded" {
		return nil, refuse("invalid_request", "The body must be application/x-www-form-urlencoded.")
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, readFault(err)
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, refuse("invalid_request", "The body is not well-formed.")
	}
	for name, values := range form {
		if len(values) > 1 && name != "resource" {
			return nil, refuse("invalid_request", "The parameter %s is repeated.", printable(name))
		}
		if len(values) == 1 && values[0] == "" {
			delete(form, name)
		}
	}
	return form, nil
}

// credentials are what a request says of its client.
type credentials struct {
	id, secret string
	method     string // the client authentication method used
}

// credentialsOf reads the one way in which the client says who it is (RFC 6749
// section 2.3.1): more than one is refused.
func credentialsOf(r *http.Request, form url.Values) (credentials, error) {
	if form.Has("client_assertion") || form.Has("client_assertion_type") {
		return credentials{}, refuse("invalid_request", "Client assertions are not taken.")
	}
	headers := r.Header.Values("Authorization")
	if len(headers) == 0 {
		c := credentials{id: form.Get("client_id"), method: authNone}
		if form.Has("client_secret") {
			c.secret, c.method = form.Get("client_secret"), authPost
		}
		if c.id == "" {
			return credentials{}, refuse("invalid_request", "client_id is missing.")
		}
		return c, nil
	}
	if len(headers) > 1 || form.Has("client_secret") {
		return credentials{}, refuse("invalid_request", "The client must authenticate in one way only.")
	}
	id, secret, err := basic(headers[0])
	if err != nil {
		return credentials{}, unknownClient(authBasic)
	}
	if given := form.Get("client_id"); given != "" && given != id {
		return credentials{}, refuse("invalid_request", "client_id is not the client that authenticates.")
	}
	return credentials{id: id, secret: secret, method: authBasic}, nil
}

// basic reads the header of RFC 7617, whose two parts are form-encoded first
// (RFC 6749 section 2.3.1).
func basic(header string) (id, secret string, err error) {
	scheme, text, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Basic") {
		return "", "", fmt.Errorf("not Basic")
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimLeft(text, " "))
	if err != nil {
		return "", "", fmt.Errorf("not base64: %w", err)
	}
	user, password, ok := strings.Cut(string(raw), ":")
	if !ok {
		return "", "", fmt.Errorf("no colon")
	}
	if id, err = url.QueryUnescape(user); err != nil {
		return "", "", fmt.Errorf("id: %w", err)
	}
	if secret, err = url.QueryUnescape(password); err != nil {
		return "", "", fmt.Errorf("secret: %w", err)
	}
	return id, secret, nil
}

// authenticates says whether the credentials are the client's, by the method
// that it registered.
func (c Client) authenticates(by credentials) bool {
	if c.Disabled || c.ID != by.id || c.AuthMethod != by.method {
		return false
	}
	return c.Public() || same(ids.Hash(by.secret), c.SecretHash)
}

// unknownClient is RFC 6749 section 5.2's invalid_client: the same for a client
// that is unknown, disabled, or gave a wrong secret.
func unknownClient(method string) *Error {
	e := &Error{Status: http.StatusUnauthorized, Code: "invalid_client", Description: "The client is unknown or did not authenticate as it registered."}
	if method == authBasic {
		e.Authenticate = `Basic realm="oauth"`
	}
	return e
}

// same compares two hashes or secrets in a time that tells nothing of them.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// bearer gives the request's bearer token (RFC 6750 section 2.1).
func bearer(r *http.Request) (token string, given bool) {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimLeft(token, " ")
	return token, ok && strings.EqualFold(scheme, "Bearer") && token != ""
}
