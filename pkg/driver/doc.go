// Package driver owns the drivers of a tenant: their record, sign-in row,
// status, and the operator's list of them. It knows no trip and no wallet:
// pkg/settlement counts totalTrips on the record by itself.
package driver
