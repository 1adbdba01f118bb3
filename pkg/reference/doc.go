// Package reference owns what the service says of itself: the OpenAPI document
// of all endpoints, the reference page made from it, the health answer, and the
// 404 and 405 for paths and methods that no other function takes. It reads no
// data and needs no token.
package reference
