// Package driver owns the drivers of a tenant: their records, the items by which they
// sign in, their status and location, and the operator's list of them. The package must
// not know trips or wallets. pkg/background/settlement writes totalTrips into the record.
package driver
