// Package published serves what needs no token: the OpenAPI document, the
// reference page, /health and /health/live, and the 404 and 405 of paths and
// methods that no other function serves. pkg/edge/reference generates the texts from the rows.
// The generated texts are in the repository, so the function generates nothing
// when it starts. A test compares them with the rows.
package published
