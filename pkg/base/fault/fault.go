package fault

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// Kind is the kind of a fault. The table below maps it to a status and an
// error code.
type Kind int

// The kinds. docs/errors.md explains the status and the error code of each.
const (
	KindInternal Kind = iota
	KindInvalid
	KindUnauthorized
	KindFresh
	KindScope
	KindForbidden
	KindFeature
	KindNotFound
	KindMethod
	KindState
	KindOpenTrips
	KindEstimate
	KindPaymentType
	KindBalance
	KindServiceArea
	KindChanged
	KindExpired
	KindTooLarge
	KindMediaType
	KindMismatch
	KindRateLimited
	KindUnavailable
	KindOutcomeUnknown
)

type entry struct {
	status int
	code   string
}

var table = map[Kind]entry{
	KindInternal:     {http.StatusInternalServerError, "server_error"},
	KindInvalid:      {http.StatusBadRequest, "invalid_request"},
	KindUnauthorized: {http.StatusUnauthorized, "unauthorized"},
	KindFresh:        {http.StatusUnauthorized, "insufficient_user_authentication"},
	KindScope:        {http.StatusForbidden, "insufficient_scope"},
	KindForbidden:    {http.StatusForbidden, "forbidden"},
	KindFeature:      {http.StatusForbidden, "feature_disabled"},
	KindNotFound:     {http.StatusNotFound, "not_found"},
	KindMethod:       {http.StatusMethodNotAllowed, "method_not_allowed"},
	KindState:        {http.StatusConflict, "invalid_state"},
	KindOpenTrips:    {http.StatusConflict, "too_many_open_trips"},
	KindEstimate:     {http.StatusConflict, "estimate_expired"},
	KindPaymentType:  {http.StatusConflict, "payment_type_disabled"},
	KindBalance:      {http.StatusConflict, "insufficient_balance"},
	KindServiceArea:  {http.StatusConflict, "outside_service_area"},
	KindChanged:      {http.StatusPreconditionFailed, "precondition_failed"},
	KindExpired:      {http.StatusGone, "cursor_expired"},
	KindTooLarge:     {http.StatusRequestEntityTooLarge, "payload_too_large"},
	KindMediaType:    {http.StatusUnsupportedMediaType, "unsupported_media_type"},
	KindMismatch:     {http.StatusUnprocessableEntity, "idempotency_mismatch"},
	KindRateLimited:  {http.StatusTooManyRequests, "rate_limited"},
	KindUnavailable:  {http.StatusServiceUnavailable, "temporarily_unavailable"},

	KindOutcomeUnknown: {http.StatusServiceUnavailable, "outcome_unknown"},
}

// Codes returns all error codes of the API, sorted.
func Codes() []string {
	var out []string
	for _, a := range table {
		out = append(out, a.code)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Detail is one invalid part of a request. Field uses the caller's names
// ("body.originLat", "query.limit").
type Detail struct {
	Field   string `json:"field" doc:"Where the fault is, as in body.originLat or query.limit."`
	Message string `json:"message" doc:"What is wrong, or what was expected."`
}

// Error is a fault. A caller may see all of it except Cause.
type Error struct {
	Kind       Kind
	Message    string        // safe to show
	Scope      string        // with KindScope
	Permission string        // with KindForbidden
	Feature    string        // with KindFeature
	Details    []Detail      // with KindInvalid
	Allow      string        // with KindMethod
	RetryAfter time.Duration // with KindRateLimited, KindUnavailable and KindOutcomeUnknown
	MaxAge     time.Duration // with KindFresh: how old the sign-in may be (RFC 9470)
	HasToken   bool          // with KindUnauthorized: a token was presented (RFC 6750 section 3.1)
	Cause      error         // logged, never shown
}

// Error returns the error code, the message and the cause, for logs only.
func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code(), e.Message, e.Cause)
	}
	return e.Code() + ": " + e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is makes errors.Is(err, fault.NotFound()) true for every fault of that kind.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Kind == e.Kind
}

// Status returns the HTTP status of the fault.
func (e *Error) Status() int { return table[e.Kind].status }

// Code returns the fault's error code, the `error` member of the response.
func (e *Error) Code() string { return table[e.Kind].code }

// Of returns the fault in err. If err has none, Of returns an internal fault
// with the cause err.
func Of(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Internal(err)
}

// Internal returns a 500 for an error of the service. The cause is only logged.
func Internal(cause error) *Error {
	return &Error{Kind: KindInternal, Message: "The service failed. Try again later.", Cause: cause}
}

// Invalid returns a 400 with the invalid parts of the request. If there is only
// one, the message names it.
func Invalid(details ...Detail) *Error {
	message := "The request is not valid."
	if len(details) == 1 {
		message = details[0].Field + ": " + details[0].Message
	}
	return &Error{Kind: KindInvalid, Message: message, Details: details}
}

// Field returns a 400 for one field.
func Field(field, format string, args ...any) *Error {
	return Invalid(Detail{Field: field, Message: fmt.Sprintf(format, args...)})
}

// Faults collects the faults of a record's fields.
type Faults []Detail

// Unless adds a fault of the field if valid is false.
func (f *Faults) Unless(valid bool, field, format string, args ...any) {
	if !valid {
		f.Add(field, fmt.Sprintf(format, args...))
	}
}

// Add adds a fault of the field.
func (f *Faults) Add(field, message string) { *f = append(*f, Detail{Field: field, Message: message}) }

// Err returns a 400 that lists all faults, or nil.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	return Invalid(f...)
}

// Unauthorized returns a 401; hasToken reports whether the request had a
// token.
func Unauthorized(message string, hasToken bool) *Error {
	return &Error{Kind: KindUnauthorized, Message: message, HasToken: hasToken}
}

// SignInAgain returns the 401 for a person whose sign-in is older than maxAge (RFC 9470
// section 3).
func SignInAgain(maxAge time.Duration) *Error {
	return &Error{Kind: KindFresh, MaxAge: maxAge, Message: fmt.Sprintf("This needs a sign-in of the last %d minutes. "+
		"Sign in again with max_age=%d.", int(maxAge.Minutes()), int(maxAge.Seconds()))}
}

// InsufficientScope returns the 403 for a token without the scope.
func InsufficientScope(scope string) *Error {
	return &Error{Kind: KindScope, Scope: scope, Message: "The token does not hold the scope that this operation needs."}
}

// Forbidden returns the 403 for an operator without the permission.
func Forbidden(permission string) *Error {
	return &Error{Kind: KindForbidden, Permission: permission,
		Message: "The permission that this operation needs is not granted."}
}

// FeatureDisabled returns the 403 for a feature that the tenant has disabled.
func FeatureDisabled(feature string) *Error {
	return &Error{Kind: KindFeature, Feature: feature, Message: "The tenant has this feature switched off."}
}

// NotFound returns the 404. It is the same for a missing resource and for a
// resource of another tenant.
func NotFound() *Error {
	return &Error{Kind: KindNotFound, Message: "There is no such resource."}
}

// InvalidState returns the 409 for an action that the resource's state
// forbids.
func InvalidState(format string, args ...any) *Error {
	return &Error{Kind: KindState, Message: fmt.Sprintf(format, args...)}
}

// RateLimited returns the 429.
func RateLimited(after time.Duration) *Error {
	return &Error{Kind: KindRateLimited, RetryAfter: after, Message: "Too many requests. Try again later."}
}

// Unavailable returns the 503 for a failure that changed nothing and that a
// later retry may avoid: the table throttles or does not respond, conflicts
// outlast all retries, or the key service fails.
func Unavailable(cause error) *Error {
	return &Error{Kind: KindUnavailable, RetryAfter: time.Second, Cause: cause,
		Message: "The service is busy. Try again in a moment."}
}

// OutcomeUnknown returns the 503 for a change that was sent and that the table
// did not confirm. The change may or may not have been made.
func OutcomeUnknown(cause error) *Error {
	return &Error{Kind: KindOutcomeUnknown, RetryAfter: time.Second, Cause: cause,
		Message: "The change may or may not have been made. Repeat the request with the same Idempotency-Key to find out. " +
			"If it had no Idempotency-Key, read the resource before you repeat the request."}
}
