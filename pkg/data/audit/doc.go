// Package audit owns the tenant's audit log: who changed what, with the state
// before and after. The transaction that makes a change also writes its entry,
// so neither a change nor its entry exists without the other. The package knows
// no resource: the caller chooses what before and after contain.
package audit
