// Package authz decides who may do what. It owns the scope catalog, the
// policies of endpoints, and the checks 2 to 6 of a request in the specified
// order. Check 1, the token's signature, is in pkg/access/signing. The caller
// reads the current state from the table (LiveKeys) and passes it to the
// checks. Every function that checks tokens uses this package. It must not know
// HTTP, resources or handlers.
package authz
