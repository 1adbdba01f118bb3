// Package authz decides who may do what. It owns the scope catalog, the
// policies of endpoints, and the six checks of a request in the specified
// order. The checks read the current state from the table. All functions share
// this package. It must not know HTTP, resources or handlers.
package authz
