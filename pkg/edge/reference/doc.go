// Package reference generates the OpenAPI document of the API and of OAuth.
// pkg/edge/reference/published serves the generated copy in the repository.
package reference
