// Package demo owns the demo data: two tenants with operators, drivers, riders
// and something worth seeing in every list. Ids, addresses and numbers are
// fixed; times count back from the moment of loading. Wallets, receipts, trip
// counts and reports are not loaded: they come of the completed trips by the
// table's stream, as any others do.
package demo
