// Package customer owns the riders of a tenant: their records, the items by which
// they sign in, and the operator's list of them, with and without search. The API
// calls a rider a customer too. The package must not know trips or wallets.
// pkg/background/settlement writes totalTrips into the record.
package customer
