// Package emulator is the local gateway: an http.Handler that stands for the
// HTTP API of template.yaml. It makes payload 2.0 events of requests, calls the
// function whose route matches, and turns its answer back, with the limits and
// the CORS headers of API Gateway.
//
// It also reads from the template what the functions on the table's stream
// subscribe to.
//
// It must not know the endpoints, the handlers behind a function or the table:
// a function is bytes in, bytes out, as it is deployed. Nothing that is deployed
// imports it.
package emulator
