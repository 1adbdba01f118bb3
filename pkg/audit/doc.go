// Package audit owns the tenant's audit log: who changed what, with the state
// before and after. An entry is written in the transaction that makes the
// change, so that there is never one without the other. It knows no resource:
// before and after are whatever the caller shows of its own.
package audit
