// Package fault owns the one error type that reaches a caller of the API.
//
// A rule or a store returns a *Error with a kind, a message that is safe to
// show, and optionally a cause. pkg/edge/api turns it into a status and a
// body, using the one table in this package. It logs the cause once, at the
// edge. Any other error becomes a 500 whose text no caller sees.
package fault
