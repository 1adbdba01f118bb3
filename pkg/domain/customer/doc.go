// Package customer owns the riders of a tenant: their record, sign-in row, and
// the operator's list of them, with and without search. It must not know trips
// or wallets: pkg/background/settlement updates totalTrips on the record
// itself.
package customer
