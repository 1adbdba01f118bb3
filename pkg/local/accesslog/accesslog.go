// Package accesslog describes each request to `svc dev`, also to its own pages,
// in one line, for the terminal and for `svc logs`. Of a caller's input it may
// write only the method, the path, the request id, and the tenant and audience
// that the token claims. It must never write a token, a query or a request body.
package accesslog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"svc/pkg/access/signing"
	"svc/pkg/base/ids"
)

// Entry is one handled request.
type Entry struct {
	Time      time.Time `json:"time"`
	Method    string    `json:"method"`
	Path      string    `json:"path"` // without the query, and an identifier of another system
	Status    int       `json:"status"`
	Code      string    `json:"error,omitempty"`  // the `error` member of an error body
	Millis    float64   `json:"ms"`               // until the last byte was written
	Tenant    string    `json:"tenant,omitempty"` // slug, or the id if the slug is unknown
	Actor     string    `json:"actor,omitempty"`  // audience that the token claims
	RequestID string    `json:"request_id"`       // "" for a page of svc dev itself
	// GatewayID is the gateway's own id of the request, as in the gateway's
	// access log on AWS; empty if RequestID is the same.
	GatewayID string `json:"gateway_id,omitempty"`
}

// requestPrefix turns a gateway's id into a request id.
const requestPrefix = ids.Request + "_"

// Has reports whether id names the request: by its id, by the gateway's, or by
// the header Apigw-Requestid of the response.
func (e Entry) Has(id string) bool {
	return id == e.RequestID || id == e.GatewayID || requestPrefix+id == e.RequestID || requestPrefix+id == e.GatewayID
}

// Handler passes requests to the next handler and each result to log.
type Handler struct {
	Next http.Handler
	Log  func(Entry)
	// Slug calls then with the slug of a tenant id, or with "", which shows the id
	// itself. A response does not wait for a slug that must be read: then Slug
	// returns first, and calls then from another goroutine.
	Slug func(tenantID string, then func(slug string))
	// Now is the clock.
	Now func() time.Time
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := h.Now()
	seen := &recorder{ResponseWriter: w, status: http.StatusOK}
	e := Entry{Time: began.UTC(), Method: r.Method, Path: logged(r.URL.EscapedPath())}
	h.Next.ServeHTTP(seen, r)
	e.Status, e.Code = seen.status, seen.code()
	e.Millis = float64(h.Now().Sub(began).Microseconds()) / 1000
	e.RequestID = w.Header().Get("X-Request-Id")
	if id := w.Header().Get("Apigw-Requestid"); id != "" && e.RequestID != requestPrefix+id {
		e.GatewayID = requestPrefix + id
	}
	if e.RequestID == "" { // the gateway itself responded
		e.RequestID, e.GatewayID = e.GatewayID, ""
	}
	if e.Status != http.StatusUnauthorized {
		e.Tenant, e.Actor = caller(r.Header.Get("Authorization"))
	}
	if e.Tenant == "" {
		h.Log(e)
		return
	}
	h.Slug(e.Tenant, func(slug string) {
		e.Tenant = cmp.Or(slug, e.Tenant)
		h.Log(e)
	})
}

// logged returns a path of the API without the identifier that another system gave a
// record, which may tell of a person.
func logged(path string) string {
	before, _, external := strings.Cut(path, "/external/")
	if !external || !strings.HasPrefix(path, "/api/v1/") {
		return path
	}
	return before + "/external/{externalId}"
}

// caller returns the tenant id of a token and the token's audience. It does not verify the token, so the values
// are only what the caller claims. ServeHTTP omits them for a 401, because the
// service has then rejected the token. If a value cannot be an id or an audience
// (odd), caller returns neither, because a terminal shows the values.
func caller(authorization string) (tenant, audience string) {
	var claims struct {
		Audience string `json:"aud"`
		TenantID string `json:"tenant_id"`
	}
	if !signing.Unverified(strings.TrimPrefix(authorization, "Bearer "), &claims) || odd(claims.TenantID) ||
		odd(claims.Audience) {
		return "", ""
	}
	return claims.TenantID, claims.Audience
}

// odd reports whether a claim is too long, or has a character that no id and no
// audience of the service has.
func odd(claim string) bool {
	return len(claim) > 64 || strings.Trim(claim, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != ""
}

// recorder keeps the status, and the first bytes of an error body.
type recorder struct {
	http.ResponseWriter
	status int
	wrote  bool
	body   bytes.Buffer
}

const maxErrorBody = 4 << 10

func (r *recorder) WriteHeader(status int) {
	if !r.wrote {
		r.status, r.wrote = status, true
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	r.wrote = true
	if left := maxErrorBody - r.body.Len(); r.status >= http.StatusBadRequest && left > 0 {
		r.body.Write(p[:min(left, len(p))])
	}
	return r.ResponseWriter.Write(p)
}

func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// code returns the error code of the response, "" if its body has none.
func (r *recorder) code() string {
	if r.body.Len() == 0 {
		return ""
	}
	var body struct {
		Error string `json:"error"`
	}
	_ = json.Unmarshal(r.body.Bytes(), &body) // a page, or a body from the gateway itself, has no code
	return body.Error
}

// Text returns the entry as one line for a terminal, without its line end.
func (e Entry) Text(color bool) string {
	line := fmt.Sprintf("%s %-6s %s %s", e.Time.Local().Format(time.TimeOnly), e.Method, e.status(color), e.Path)
	if e.Code != "" {
		line += " " + e.Code
	}
	line += fmt.Sprintf(" %.1fms", e.Millis)
	if e.Actor != "" {
		line += " " + e.Tenant + "/" + e.Actor
	}
	return line + " " + e.RequestID
}

func (e Entry) status(color bool) string {
	if !color {
		return fmt.Sprint(e.Status)
	}
	code := 32 // green
	switch {
	case e.Status >= 500:
		code = 31 // red
	case e.Status >= 400:
		code = 33 // yellow
	case e.Status >= 300:
		code = 36 // cyan
	}
	return fmt.Sprintf("\x1b[%dm%d\x1b[0m", code, e.Status)
}
