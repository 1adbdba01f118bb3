// Package fault owns the one error type that reaches a caller of the API.
//
// A rule or a store returns a *Error with a kind, a message that is safe to
// show, and optionally a cause. pkg/edge/api turns the *Error into a response:
// the table in this package gives the status and the error code. The cause is
// logged once, at the edge. Any other error becomes a 500, and no caller sees
// its text.
package fault
