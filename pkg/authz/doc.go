// Package authz owns who may do what: the scope catalog, the policies of
// endpoints, and the six checks of a request in the specified order, over what
// is live in the table now. Every function shares it. It knows no HTTP, no
// resource and no handler.
package authz
