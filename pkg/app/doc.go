// Package app wires the service: the rows that each function serves, the work
// of the stream functions, and the start of a function in Lambda. It contains
// no logic of an endpoint, except /health/ready. It checks each request before
// the handler (see front).
package app
