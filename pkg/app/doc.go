// Package app wires the service: the rows that each function serves, the work
// of the stream functions, and the start of a function in Lambda. It contains
// no request logic.
package app
