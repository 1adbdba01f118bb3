// Package apitest lets a resource's tests call its rows through the whole
// pipeline, on a real engine, before and beside the rest of the service:
// tokens are named by the test in place of being minted, and everything that
// the checks read is in the table. It knows no resource.
package apitest
