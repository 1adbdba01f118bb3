// Package gateway translates between API Gateway and net/http. It converts a
// proxy event, payload 1.0 (REST APIs) or 2.0 (HTTP APIs), to an http.Request.
// It converts what a handler writes to a response of the same payload.
//
// The response writers come from aws-lambda-go-api-proxy, and the types of
// responses from aws-lambda-go. This package decodes the event and builds the
// request itself. It does not split header values: a comma in Idempotency-Key
// is part of the key. A decoded path may hold any character. The package
// removes the stage from the path, and the base path of a custom domain.
//
// The client's address, the gateway's id of the request and the domain name
// come from the event's requestContext. A client can forge X-Forwarded-* and
// similar headers, so the package drops them. If the event names no domain, the
// http.Request has the Host of the headers.
//
// The package must not know the endpoints, the tokens or the table.
package gateway
