// Package published owns what the service says of itself to anybody: the OpenAPI
// document, the reference page, the health answer, and the 404 and 405 for
// paths and methods that no other function takes. The texts are finished ones,
// made by pkg/reference from the rows and kept in the repository, so that the
// function has nothing to make when it starts; a test holds them to the rows.
package published
