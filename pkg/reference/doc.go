// Package reference makes what the service says of itself: the OpenAPI document
// of all endpoints and the reference page. pkg/reference/published serves them
// as they are kept in the repository.
package reference
