// Package fare computes what a ride costs: Prices.Of, a pure function of prices, distance
// and times, exact to the last decimal. The package must not know trips, tenants or the
// table. The callers store a Snapshot of the prices with the ride. So a change of prices
// never changes the fare of a ride that was requested before.
package fare
