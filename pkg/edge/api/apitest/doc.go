// Package apitest lets a resource's tests call its rows through the complete
// pipeline, on a real engine, without the rest of the service. A test names its
// tokens instead of minting them. Everything that the checks read is in the
// table. It must not know any resource.
package apitest
