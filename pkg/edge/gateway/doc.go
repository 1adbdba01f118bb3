// Package gateway translates between API Gateway and net/http. It converts a
// proxy event, payload 1.0 (REST APIs) or 2.0 (HTTP APIs), to an http.Request.
// It converts what a handler writes to a response of the same payload.
//
// The response writers and the event types come from aws-lambda-go-api-proxy
// and aws-lambda-go. This package builds the request from the event's fields.
// It does not split header values: a comma in Idempotency-Key is part of the
// key. A decoded path may hold any character. The stage or the base path of a
// custom domain is removed.
//
// The client's address, the request id and the domain name come only from the
// event's requestContext. A client can forge X-Forwarded-* and similar headers,
// so they are dropped.
//
// The package must not know the endpoints, the tokens or the table.
package gateway
