// Package apitest lets a resource's tests call its endpoints (rows, api.Row) through
// the complete pipeline, on a real engine, without the rest of the service. A token is
// only an id, without a signature. The table contains everything that the access checks
// read. The package must not know any resource.
package apitest
