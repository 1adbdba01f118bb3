// Package driver owns the drivers of a tenant: their record, sign-in row,
// status, and the operator's list of them. The package must not know trips or
// wallets. pkg/background/settlement writes totalTrips into the record.
package driver
