// Package published serves what needs no token: the OpenAPI document, the
// reference page, /health and /health/live, and the 404 and 405 of paths and
// methods that no other function serves. pkg/edge/reference generates the
// document from the rows. The repository has the generated document, so the
// function generates nothing when it starts. A test compares the document with
// the rows.
package published
