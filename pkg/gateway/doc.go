// Package gateway is the edge between API Gateway and net/http: it turns proxy
// events, payload 1.0 (REST APIs) and 2.0 (HTTP APIs), into an http.Request,
// and what a handler writes into the answer of the same payload.
//
// The response writers and the event types are those of aws-lambda-go-api-proxy
// and aws-lambda-go. The request is built here, from the event's own fields:
// header values are set whole (a comma in Idempotency-Key is part of the key),
// a decoded path may hold any character, and the stage or the base path of a
// custom domain is taken off.
//
// What the gateway vouches for (the client's address, the request id, the
// domain name) comes from the event's requestContext alone; X-Forwarded-* and
// its kin are the client's words and are dropped.
//
// It must not know the endpoints, the tokens or the table.
package gateway
