// Package seed owns bulk data: a tenant's drivers, riders and months of trips,
// with receipts, postings, wallets and orders. It applies the service's own
// rules, so the data is what the service would have written. A seed number
// determines the data, so a run can be repeated.
//
// The table records a run before it begins. The next run finishes an
// interrupted one; after a finished run it adds data. A run writes data that
// others could change meanwhile (open trips, the logins of people) last, and only
// items that are missing. It writes receipts before their trips, so a settlement
// finds the trips settled.
//
// The package knows no engines and no streams. It does not write counters,
// totals and search rows: the projection derives them from the table's stream,
// or a rebuild does.
package seed
