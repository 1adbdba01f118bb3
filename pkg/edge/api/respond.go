package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"svc/pkg/base/codec"
	"svc/pkg/base/fault"
)

// ErrorBody is the body of every error (specification, "Errors").
type ErrorBody struct {
	Error       string         `json:"error" doc:"What kind of error it is." example:"invalid_state"`
	Description string         `json:"error_description" doc:"A sentence for the developer."`
	Scope       string         `json:"scope,omitempty" doc:"With insufficient_scope: the scope that is missing."`
	Permission  string         `json:"permission,omitempty" doc:"With forbidden: the permission that is missing."`
	Feature     string         `json:"feature,omitempty" doc:"With feature_disabled: the feature that is off."`
	Details     []fault.Detail `json:"details,omitempty" nullable:"false" doc:"With invalid_request: the faults that were found, at most 100."`
}

func errorBody(f *fault.Error) ([]byte, error) {
	return codec.Marshal(ErrorBody{f.Code(), f.Message, f.Scope, f.Permission, f.Feature, f.Details})
}

// WriteError writes a fault as the response, without WWW-Authenticate. It is for
// faults that do not concern a token.
func WriteError(w http.ResponseWriter, f *fault.Error) { writeFault(w, f) }

func writeFault(w http.ResponseWriter, f *fault.Error) {
	h := w.Header()
	if f.Kind == fault.KindMethod {
		h.Set("Allow", f.Allow)
	}
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((f.RetryAfter+999_999_999)/1_000_000_000)))
	}
	body, err := errorBody(f)
	if err != nil {
		body = []byte(`{"error":"server_error","error_description":"The service failed."}`)
	}
	writeJSON(w, f.Status(), body)
}

// challenge sets WWW-Authenticate for a 401, for a sign-in that is too old (RFC 9470) and for a missing scope. The header
// tells a client how to get a token (RFC 6750 section 3, RFC 9728 section 5.1).
func (x *exchange) challenge(f *fault.Error) {
	metadata := fmt.Sprintf("resource_metadata=%q", x.entry.Resource.Metadata(x.server.BaseURL))
	switch f.Kind {
	case fault.KindUnauthorized:
		text := "Bearer " + metadata
		if scope := x.wantedScope(); scope != "" {
			text += fmt.Sprintf(", scope=%q", scope)
		}
		if f.HasToken {
			text += fmt.Sprintf(`, error="invalid_token", error_description=%q`, f.Message)
		}
		x.header.Set("WWW-Authenticate", text)
	case fault.KindFresh:
		x.header.Set("WWW-Authenticate", fmt.Sprintf("Bearer error=%q, error_description=%q, max_age=\"%d\", %s", f.Code(),
			f.Message, int(f.MaxAge.Seconds()), metadata))
	case fault.KindScope:
		x.header.Set("WWW-Authenticate", fmt.Sprintf("Bearer error=\"insufficient_scope\", scope=%q, %s", f.Scope, metadata))
	}
}

// wantedScope returns the scopes that a client should request: at the MCP
// server all scopes that an operation of the audience needs, else one scope of
// the operation.
func (x *exchange) wantedScope() string {
	switch {
	case x.entry.Resource.MCP():
		return strings.Join(x.server.scopes[x.entry.Resource.Audience], " ")
	case x.row != nil:
		return x.row.Policy.AnyScope()
	}
	return ""
}

// SetJSON sets the headers of a JSON response. It keeps a Cache-Control that is
// already set.
func SetJSON(h http.Header) {
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
}

func writeJSON(w http.ResponseWriter, status int, body []byte) {
	SetJSON(w.Header())
	writeBody(w, status, body)
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have disconnected
}
