// Package tenant owns the tenants: their record, their slug and domain, which
// are unique on the platform, and the 16 copies of their live flags. Every
// request with an access token reads one of these copies. One transaction writes
// the record, the domain and all copies, and adds an audit entry. currency.go
// defines when the currency becomes locked. The package must not know people,
// resources or HTTP.
package tenant
