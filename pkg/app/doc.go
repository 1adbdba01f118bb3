// Package app wires the service: the rows (endpoints) that each function serves, the work
// of the stream functions, and the start of a function in Lambda. It checks each request
// before the handler (see front). It also owns /health/ready and the smoke test of a
// deployment, but no logic of any other endpoint.
package app
