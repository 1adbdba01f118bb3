// Package demo owns the demo data: two tenants with operators, drivers and
// riders, and useful content for every list. Ids, addresses and numbers are
// fixed; times are relative to the moment of loading. The package does not
// load wallets, receipts, trip counts or reports. The stream functions derive
// them from the completed trips, as in production.
package demo
