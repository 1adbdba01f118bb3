package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"svc/pkg/base/fault"
)

// Error is an error response of an OAuth endpoint (RFC 6749 section 5.2, RFC
// 7591 section 3.2.2, RFC 6750 section 3).
type Error struct {
	Status       int    // HTTP status; 0 means 400
	Code         string // the member error of the body
	Description  string // text of error_description; safe to show
	Authenticate string // header WWW-Authenticate; "" for none
	RetryAfter   time.Duration
	Cause        error // logged, never shown
}

// Error implements error. Its text is for logs and includes the cause.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Code + ": " + e.Description + ": " + e.Cause.Error()
	}
	return e.Code + ": " + e.Description
}

func (e *Error) Unwrap() error { return e.Cause }

// Refuse returns an error with the status 400 and an error code of the RFCs.
func Refuse(code, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: code, Description: fmt.Sprintf(format, args...)}
}

// AsError converts any error to the error response.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return &Error{Status: http.StatusRequestEntityTooLarge, Code: "payload_too_large",
			Description: "The body is larger than 64 KiB."}
	}
	f := fault.Of(err)
	if f.Kind == fault.KindOutcomeUnknown { // OAuth has no code for this, and no Idempotency-Key
		return &Error{Status: f.Status(), Code: fault.Unavailable(nil).Code(), RetryAfter: f.RetryAfter, Cause: f.Cause,
			Description: "The service did not confirm the change. Try again in a moment."}
	}
	return &Error{Status: f.Status(), Code: f.Code(), Description: f.Message, RetryAfter: f.RetryAfter, Cause: f.Cause}
}

// noteKey is the key of the outcome in the context of Noted.
type noteKey struct{}

// Noted returns a context for one request and a pointer to the request's
// outcome. The outcome is the error code that the client gets, or the kind of
// the problem or error page that the person sees. It stays "" if the request
// succeeds. It never contains text of the request.
func Noted(ctx context.Context) (context.Context, *string) {
	code := new(string)
	return context.WithValue(ctx, noteKey{}, code), code
}

// Note records the outcome of a request in the context that Noted returned.
func Note(r *http.Request, code string) {
	if at, ok := r.Context().Value(noteKey{}).(*string); ok {
		*at = code
	}
}

// WriteJSON writes a JSON body.
func WriteJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a write error only means that the client disconnected
}
