// Package api owns the HTTP edge of /api/v1: the endpoint rows, the pipeline
// that every request goes through, errors, paging, idempotency, and the OpenAPI
// document made from the rows.
//
// A resource package gives its rows (Get, Post, Patch, Delete); a Server serves
// some of them. The pipeline is the same for all: verify the token, read what
// is live in one batch, judge, bind and validate, handle, answer. It knows
// authorization and the table and no resource.
package api
