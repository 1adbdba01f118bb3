// Package tenant owns the tenants: their record, their slug and domain, which
// are unique on the platform, and the copies of their live flags that every
// request reads. All of it changes in one transaction with an audit entry;
// currency.go says until when the currency does. It knows no person, no
// resource and no HTTP.
package tenant
