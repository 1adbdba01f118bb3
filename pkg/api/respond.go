package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"

	"svc/pkg/fault"
)

// encode writes an answer's JSON. Every answer and every stored one is written
// by it, so that a replay is the same to the byte.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// ErrorBody is the body of every error (specification, "Errors").
type ErrorBody struct {
	Error       string         `json:"error" doc:"What kind of error it is." example:"invalid_state"`
	Description string         `json:"error_description" doc:"A sentence for the developer."`
	Scope       string         `json:"scope,omitempty" doc:"With insufficient_scope: the scope that is missing."`
	Permission  string         `json:"permission,omitempty" doc:"With forbidden: the permission that is missing."`
	Feature     string         `json:"feature,omitempty" doc:"With feature_disabled: the feature that is off."`
	Details     []fault.Detail `json:"details,omitempty" nullable:"false" doc:"With invalid_request: every fault of the request."`
}

func errorBody(f *fault.Error) ([]byte, error) {
	return encode(ErrorBody{f.Word(), f.Message, f.Scope, f.Permission, f.Feature, f.Details})
}

// WriteError answers a request with a fault. baseURL leads to the resource
// metadata (RFC 9728 section 5.1).
func WriteError(w http.ResponseWriter, f *fault.Error, baseURL string) {
	challenge(w.Header(), f, baseURL)
	body, err := errorBody(f)
	if err != nil {
		body = []byte(`{"error":"server_error","error_description":"The service failed."}`)
	}
	writeJSON(w, f.Status(), body)
}

// challenge sets the headers that go with a fault.
func challenge(h http.Header, f *fault.Error, baseURL string) {
	switch f.Code {
	case fault.CodeUnauthorized:
		text := fmt.Sprintf("Bearer resource_metadata=%q", baseURL+"/.well-known/oauth-protected-resource")
		if f.HasToken {
			text += fmt.Sprintf(`, error="invalid_token", error_description=%q`, f.Message)
		}
		h.Set("WWW-Authenticate", text)
	case fault.CodeScope:
		h.Set("WWW-Authenticate", fmt.Sprintf("Bearer error=\"insufficient_scope\", scope=%q", f.Scope))
	case fault.CodeMethod:
		h.Set("Allow", f.Allow)
	}
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((f.RetryAfter+999_999_999)/1_000_000_000)))
	}
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Content-Type-Options", "nosniff")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone
}

var sane = regexp.MustCompile(`^[A-Za-z0-9._:=+/-]{1,128}$`)

// RequestID gives the caller's own X-Request-Id when it is a sane one.
func RequestID(r *http.Request) (string, bool) {
	id := r.Header.Get("X-Request-Id")
	return id, sane.MatchString(id)
}
