// Package tenant owns the tenants: their record, their slug and domain, which are unique
// on the platform, and the 16 copies of their flags. The flags are the part of the record
// that the checks of every request need; each request with an access token reads one of
// the copies. One transaction writes the record, the domain and all copies, and adds an
// audit entry. currency.go defines when the currency becomes locked. The package must not
// know people, resources or HTTP.
package tenant
