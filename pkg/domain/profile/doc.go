// Package profile owns GET /me, which returns the caller's profile in the shape
// of the token's audience. It reads the tenant's flags and the data of pkg/domain/person,
// pkg/domain/driver and pkg/domain/customer, and changes nothing.
package profile
