// Package driver owns the drivers of a tenant: their record, sign-in row,
// status, and the operator's list of them. It must not know trips or wallets:
// pkg/background/settlement updates totalTrips on the record itself.
package driver
