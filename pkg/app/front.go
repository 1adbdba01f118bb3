package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"svc/pkg/access/signing"
	"svc/pkg/base/config"
	"svc/pkg/base/fault"
	"svc/pkg/edge/api"
	"svc/pkg/edge/gateway"
)

// The words of SWITCHED_OFF that are not operation ids.
const (
	offRegistration = "registration" // POST /oauth/register
	offSignIn       = "sign-in"      // the sign-in pages
	offAgents       = "agents"       // /mcp, and clients that have only a metadata document
)

// The headers that CloudFront sets on every request to the origin.
const (
	originSecretHeader  = "X-Origin-Secret" // #nosec G101 -- a header's name
	viewerAddressHeader = "Cloudfront-Viewer-Address"
)

// maxForm is how many bytes of a token or authorization request are read to find
// the client.
const maxForm = 64 << 10

// front checks each request of a deployed function before the handler runs. The
// request must have come through CloudFront, unless there is no origin secret
// or the request is a direct call (gateway.Direct). Its route must be switched
// on.
type front struct {
	secrets [][]byte        // SHA-256 of each origin secret; if empty, calls that bypass CloudFront are accepted
	off     map[string]bool // of SWITCHED_OFF
}

// operations lists the operation ids of all rows, one per line. `make golden`
// writes the file. It is text because a function must not link the rows of
// other functions.
//
//go:embed operations.txt
var operations string

// unknownSwitches returns the words of SWITCHED_OFF that switch nothing off.
func unknownSwitches(c config.Config) (unknown []string) {
	known := append(strings.Fields(operations), offRegistration, offSignIn, offAgents)
	for _, word := range c.SwitchedOff {
		if !slices.Contains(known, word) {
			unknown = append(unknown, word)
		}
	}
	return unknown
}

// newFront returns the checks of the configuration. If SWITCHED_OFF has an unknown
// word, newFront logs an error and continues, because a misspelt switch must not
// stop the service.
func newFront(c config.Config) front {
	f := front{secrets: c.OriginSecrets, off: map[string]bool{}}
	for _, word := range c.SwitchedOff {
		f.off[word] = true
	}
	if unknown := unknownSwitches(c); len(unknown) > 0 {
		slog.Error("SWITCHED_OFF has words that switch nothing off", "words", unknown,
			"expected", "operation ids of openapi.json, registration, sign-in, agents")
	}
	return f
}

// on returns the rows that are switched on.
func (f front) on(rows []api.Row) []api.Row {
	return slices.DeleteFunc(rows, func(r api.Row) bool { return f.off[r.ID] })
}

// before returns h behind the checks. rows are the endpoints of h that f.off can
// name by operation id. Only the functions of the API have such endpoints.
func (f front) before(h http.Handler, rows []api.Row) http.Handler {
	if len(f.secrets) == 0 && len(f.off) == 0 {
		return h
	}
	off := map[string]bool{} // "POST /api/v1/me/trips/{id}/accept"
	for _, r := range rows {
		off[r.Method+" "+r.Path] = f.off[r.ID]
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(gateway.RequestHeader, gateway.RequestID(r, time.Now()))
		if len(f.secrets) > 0 && !gateway.Direct(r.Context()) {
			if !f.trusts(r.Header.Values(originSecretHeader)) {
				api.WriteError(w, &fault.Error{Kind: fault.KindForbidden,
					Message: "Call the service at its public address."})
				return
			}
			r = viewed(r)
		}
		if off[route(r, rows)] || f.refuses(r) {
			api.WriteError(w, &fault.Error{Kind: fault.KindUnavailable, RetryAfter: time.Minute,
				Message: "This operation is switched off for now. Try again later."})
			return
		}
		h.ServeHTTP(w, r)
	})
}

// trusts reports whether the header has exactly one value, which is one of the
// origin secrets. It compares hashes, so that the time reveals nothing about a
// secret.
func (f front) trusts(given []string) bool {
	if len(given) != 1 {
		return false
	}
	sum, ok := sha256.Sum256([]byte(given[0])), 0
	for _, secret := range f.secrets {
		ok |= subtle.ConstantTimeCompare(sum[:], secret)
	}
	return ok == 1
}

type viewerKey struct{}

// viewed removes the two headers of CloudFront from the request, and keeps the
// viewer's address in the context for viewerIP. Only a request whose secret was
// checked may get here.
func viewed(r *http.Request) *http.Request {
	text := r.Header.Get(viewerAddressHeader) // address:port, an IPv6 address without brackets
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		text = strings.Trim(text[:i], "[]")
	}
	r.Header.Del(originSecretHeader)
	r.Header.Del(viewerAddressHeader)
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), viewerKey{}, addr.WithZone("").String()))
}

// viewerIP returns the caller's address: as CloudFront reported it if CloudFront
// is in front, else as the gateway saw it.
func viewerIP(ctx context.Context) string {
	if ip, ok := ctx.Value(viewerKey{}).(string); ok {
		return ip
	}
	return gateway.SourceIP(ctx)
}

// route returns the method and path of the row that the request is for, or "".
// The row of GET also serves HEAD.
func route(r *http.Request, rows []api.Row) string {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	path := strings.Split(r.URL.Path, "/")
	for _, row := range rows {
		if row.Method == method && matches(strings.Split(row.Path, "/"), path) {
			return method + " " + row.Path
		}
	}
	return ""
}

func matches(pattern, path []string) bool {
	if len(pattern) != len(path) {
		return false
	}
	for i, p := range pattern {
		if p != path[i] && !strings.HasPrefix(p, "{") {
			return false
		}
	}
	return true
}

// refuses reports whether the request is for registration, sign-in or agents and
// that part is switched off.
func (f front) refuses(r *http.Request) bool {
	switch r.URL.Path {
	case "/oauth/register":
		return f.off[offRegistration] && r.Method == http.MethodPost
	case "/oauth/authorize":
		return f.off[offSignIn] || f.off[offAgents] && (byDocument(r.URL.Query()) || byDocument(peekForm(r)))
	case "/oauth/signin", "/oauth/password", "/oauth/forgot", "/oauth/signup", "/oauth/terms", "/oauth/device":
		return f.off[offSignIn]
	case "/oauth/device_authorization":
		return f.off[offSignIn] || f.off[offAgents] && byDocument(peekForm(r))
	case "/oauth/token":
		return f.off[offAgents] && byDocument(peekForm(r))
	}
	agents := r.URL.Path == "/mcp" || strings.HasPrefix(r.URL.Path, "/mcp/")
	return agents && f.off[offAgents]
}

// byDocument reports whether the client is known by a metadata document: its id
// is the document's address.
func byDocument(values url.Values) bool {
	isAddress := func(id string) bool { return strings.Contains(id, "://") }
	return slices.ContainsFunc(values["client_id"], isAddress) ||
		slices.ContainsFunc(values["client_assertion"], func(assertion string) bool {
			var claims struct {
				Client string `json:"sub"` // RFC 7523 section 3; a request with an assertion needs no client_id
			}
			return signing.Unverified(assertion, &claims) && isAddress(claims.Client)
		})
}

// peekForm reads the form of a request and puts its body back.
func peekForm(r *http.Request) url.Values {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxForm))
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body))
	if err != nil {
		return nil
	}
	values, _ := url.ParseQuery(string(body)) // the authorization server rejects a malformed form
	return values
}
