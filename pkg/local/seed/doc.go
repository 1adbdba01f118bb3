// Package seed owns bulk data: a tenant's drivers, riders and months of trips,
// with receipts, postings, wallets and orders. It applies the service's own
// rules, so the data is what the service would have written. A seed number
// determines the data, so a run can be repeated.
//
// The table records a run before it begins. The next run finishes an
// interrupted one; after a finished run it adds data. Data that others could
// change meanwhile (open trips, sign-in rows) is written last, and only where
// it is missing. Receipts are written before their trips, so a settlement
// finds the trips settled.
//
// It knows no engines and no streams. It does not write counters, totals and
// search rows: the table's stream or a rebuild derives them.
package seed
