// Package customer owns the riders of a tenant: their record, their sign-in
// row, and the operator's list of them, with and without search. The package
// must not know trips or wallets. pkg/background/settlement writes totalTrips
// into the record.
package customer
