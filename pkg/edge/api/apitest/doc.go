// Package apitest lets a resource's tests call its rows through the complete
// pipeline, on a real engine, without the rest of the service. A test names its
// tokens instead of minting them. The table contains everything that the checks
// read. The package must not know any resource.
package apitest
