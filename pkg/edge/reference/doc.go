// Package reference generates the OpenAPI document of all endpoints.
// pkg/edge/reference/published serves the generated copy in the repository.
package reference
