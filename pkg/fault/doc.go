// Package fault owns the one error type that reaches a caller of the API.
//
// A rule or a store returns a *Error with a code, a message that is safe to
// show and, where there is one, a cause. pkg/api turns it into a status and a
// body by the one table in this package and logs the cause once, at the edge.
// Any other error is a 500 whose text nobody outside sees.
package fault
