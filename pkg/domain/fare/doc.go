// Package fare computes what a ride costs: one pure function of prices and
// measures, exact to the last decimal. It knows no trips, no tenants and no
// tables. The callers store a Snapshot of the prices with the ride, so that a change of prices
// never changes a ride that was requested before.
package fare
