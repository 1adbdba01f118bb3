// Package emulator is the local gateway: an http.Handler that behaves like the
// HTTP API of template.yaml. It converts requests to payload 2.0 events, calls
// the function whose route matches, and writes the function's response. It
// applies the size limits and the CORS headers of API Gateway.
//
// The package also reads the stream subscriptions and schedules of the
// template's functions.
//
// The package must not know the endpoints, the handlers behind a function or
// the table: as in the deployment, a function maps bytes to bytes. Deployed
// code must not import this package.
package emulator
