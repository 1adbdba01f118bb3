// Package tenant owns the tenants: their record, their slug and domain, which
// are unique on the platform, and the copies of their live flags that every
// request reads. One transaction changes all of these and adds an audit entry.
// currency.go defines when the currency becomes locked. The package must not
// know people, resources or HTTP.
package tenant
