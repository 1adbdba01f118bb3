// Package customer owns the riders of a tenant: their record, sign-in row, and
// the operator's list of them, with and without search. It knows no trip and no
// wallet: pkg/settlement counts totalTrips on the record by itself.
package customer
