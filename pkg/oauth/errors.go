package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"svc/pkg/fault"
	"svc/pkg/ids"
)

// Error is an error answer of an OAuth endpoint (RFC 6749 section 5.2, RFC
// 7591 section 3.2.2, RFC 6750 section 3).
type Error struct {
	Status       int    // HTTP status; 0 is 400
	Code         string // the error member
	Description  string // safe to show
	Authenticate string // WWW-Authenticate; "" for none
	RetryAfter   time.Duration
	Cause        error // logged, never shown
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Code + ": " + e.Description + ": " + e.Cause.Error()
	}
	return e.Code + ": " + e.Description
}

func (e *Error) Unwrap() error { return e.Cause }

// refuse is a 400 with an error code of the RFCs.
func refuse(code, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: code, Description: fmt.Sprintf(format, args...)}
}

// errorOf gives any error as one to answer with.
func errorOf(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return &Error{Status: http.StatusRequestEntityTooLarge, Code: "payload_too_large", Description: "The body is larger than 64 KiB."}
	}
	f := fault.Of(err)
	return &Error{Status: f.Status(), Code: f.Word(), Description: f.Message, RetryAfter: f.RetryAfter, Cause: f.Cause}
}

type noteKey struct{}

// Noted gives a context for one request, in which the server notes what went
// wrong: the code of the error that it answers or sends the client, or what the
// page says is wrong. It is "" when nothing was, and never text of the request.
func Noted(ctx context.Context) (context.Context, *string) {
	code := new(string)
	return context.WithValue(ctx, noteKey{}, code), code
}

func note(r *http.Request, code string) {
	if at, ok := r.Context().Value(noteKey{}).(*string); ok {
		*at = code
	}
}

// fail answers with the error and logs what is ours.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := errorOf(err)
	note(r, e.Code)
	status := e.Status
	if status == 0 {
		status = http.StatusBadRequest
	}
	if status >= http.StatusInternalServerError && r.Context().Err() == nil {
		s.log.ErrorContext(r.Context(), "request failed", "request_id", w.Header().Get(requestHeader), "path", r.URL.Path, "error", err)
	}
	if e.Authenticate != "" {
		w.Header().Set("WWW-Authenticate", e.Authenticate)
	}
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", seconds(e.RetryAfter))
	}
	answer(w, status, map[string]string{"error": e.Code, "error_description": e.Description})
}

// answer writes a JSON body.
func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a caller that went away hears nothing
}

const requestHeader = "X-Request-Id"

var sane = regexp.MustCompile(`^[A-Za-z0-9._:=+/-]{1,128}$`)

// requestID is the request's id: the caller's own when it is a sane one
// (decisions, "Errors").
func (s *Server) requestID(r *http.Request) string {
	if id := r.Header.Get(requestHeader); sane.MatchString(id) {
		return id
	}
	return ids.New(ids.Request, s.now())
}
