// Package audit owns the tenant's audit log: who changed what, with the state
// before and after. Each entry is written in the transaction of its change, so
// neither exists without the other. The package knows no resource: the caller
// chooses what before and after contain.
package audit
