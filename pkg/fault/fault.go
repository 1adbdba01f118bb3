package fault

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Code says what kind of fault it is; the table below gives status and word.
type Code int

// The codes, each with the status and the word of the specification's part
// "Errors" and of docs/decisions.md.
const (
	CodeInternal Code = iota
	CodeInvalid
	CodeUnauthorized
	CodeScope
	CodeForbidden
	CodeFeature
	CodeNotFound
	CodeMethod
	CodeState
	CodeTooLarge
	CodeMediaType
	CodeMismatch
	CodeRateLimited
	CodeUnavailable
)

type answer struct {
	status int
	word   string
}

var table = map[Code]answer{
	CodeInternal:     {http.StatusInternalServerError, "server_error"},
	CodeInvalid:      {http.StatusBadRequest, "invalid_request"},
	CodeUnauthorized: {http.StatusUnauthorized, "unauthorized"},
	CodeScope:        {http.StatusForbidden, "insufficient_scope"},
	CodeForbidden:    {http.StatusForbidden, "forbidden"},
	CodeFeature:      {http.StatusForbidden, "feature_disabled"},
	CodeNotFound:     {http.StatusNotFound, "not_found"},
	CodeMethod:       {http.StatusMethodNotAllowed, "method_not_allowed"},
	CodeState:        {http.StatusConflict, "invalid_state"},
	CodeTooLarge:     {http.StatusRequestEntityTooLarge, "payload_too_large"},
	CodeMediaType:    {http.StatusUnsupportedMediaType, "unsupported_media_type"},
	CodeMismatch:     {http.StatusUnprocessableEntity, "idempotency_mismatch"},
	CodeRateLimited:  {http.StatusTooManyRequests, "rate_limited"},
	CodeUnavailable:  {http.StatusServiceUnavailable, "temporarily_unavailable"},
}

// Detail is one fault of a request, Field in the caller's words
// ("body.originLat", "query.limit").
type Detail struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Error is a fault that a caller may be told about.
type Error struct {
	Code       Code
	Message    string // safe to show
	Scope      string // with CodeScope
	Permission string // with CodeForbidden
	Feature    string // with CodeFeature
	Details    []Detail
	Allow      string        // with CodeMethod
	RetryAfter time.Duration // with CodeRateLimited and CodeUnavailable
	HasToken   bool          // with CodeUnauthorized: a token was presented (RFC 6750 section 3.1)
	Cause      error         // logged, never shown
}

// Error gives the word, the message and the cause: a text for logs.
func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Word(), e.Message, e.Cause)
	}
	return e.Word() + ": " + e.Message
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is makes errors.Is(err, fault.NotFound()) hold for every fault of one code.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code
}

// Status is the HTTP status of the fault.
func (e *Error) Status() int { return table[e.Code].status }

// Word is the fault's `error` member.
func (e *Error) Word() string { return table[e.Code].word }

// Of gives err as a fault: itself when it is one, else an internal one.
func Of(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Internal(err)
}

// Internal is a fault of ours: 500, the cause is logged only.
func Internal(cause error) *Error {
	return &Error{Code: CodeInternal, Message: "The service failed. Try again later.", Cause: cause}
}

// Invalid is a 400 with every fault of the request.
func Invalid(details ...Detail) *Error {
	message := "The request is not valid."
	if len(details) == 1 {
		message = details[0].Field + ": " + details[0].Message
	}
	return &Error{Code: CodeInvalid, Message: message, Details: details}
}

// Field is a 400 for one field.
func Field(field, format string, args ...any) *Error {
	return Invalid(Detail{Field: field, Message: fmt.Sprintf(format, args...)})
}

// Unauthorized is a 401; hasToken says that a token was presented.
func Unauthorized(message string, hasToken bool) *Error {
	return &Error{Code: CodeUnauthorized, Message: message, HasToken: hasToken}
}

// InsufficientScope is the 403 for a token without the scope.
func InsufficientScope(scope string) *Error {
	return &Error{Code: CodeScope, Scope: scope, Message: "The token does not hold the scope that this operation needs."}
}

// Forbidden is the 403 for an operator without the permission.
func Forbidden(permission string) *Error {
	return &Error{Code: CodeForbidden, Permission: permission, Message: "The permission that this operation needs is not granted."}
}

// FeatureDisabled is the 403 for a feature the tenant has off.
func FeatureDisabled(feature string) *Error {
	return &Error{Code: CodeFeature, Feature: feature, Message: "The tenant has this feature switched off."}
}

// NotFound is the 404, the same whether a resource is missing or another
// tenant's.
func NotFound() *Error {
	return &Error{Code: CodeNotFound, Message: "There is no such resource."}
}

// InvalidState is the 409 of an action that the resource's state disallows.
func InvalidState(format string, args ...any) *Error {
	return &Error{Code: CodeState, Message: fmt.Sprintf(format, args...)}
}

// RateLimited is the 429.
func RateLimited(after time.Duration) *Error {
	return &Error{Code: CodeRateLimited, RetryAfter: after, Message: "Too many requests. Try again later."}
}

// Unavailable is the 503 for a table that is throttled, for one that was to be
// read and did not answer, and for a conflict that outlasts its retries.
func Unavailable(cause error) *Error {
	return &Error{Code: CodeUnavailable, RetryAfter: time.Second, Cause: cause, Message: "The service is busy. Try again in a moment."}
}
