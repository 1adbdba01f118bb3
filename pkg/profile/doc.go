// Package profile owns GET /me: who the caller is, in the shape of the token's
// audience. It reads what pkg/person, pkg/driver and pkg/customer own and
// changes nothing.
package profile
