// Package api owns the HTTP edge of /api/v1: the endpoint rows, the pipeline
// that every request goes through, errors, paging, idempotency, and the OpenAPI
// document generated from the rows.
//
// A resource package provides its rows (Get, Post, Patch, Delete); a Server
// serves them. The pipeline is the same for all rows: verify the token, read
// everything that the checks need in one batch, check, bind and validate,
// handle, respond. Only the handler of a Get runs at the same time as the
// checks. If a check fails, the pipeline drops the handler's result. The
// package knows authorization and the table. It must not know any resource.
package api
