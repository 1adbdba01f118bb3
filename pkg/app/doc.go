// Package app wires the service: which rows each function serves, what the
// stream functions run, and how a function starts in Lambda. It holds no logic
// of a request.
package app
