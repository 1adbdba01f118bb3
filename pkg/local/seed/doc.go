// Package seed owns data in bulk: drivers, riders and months of trips of a
// tenant, with logs, receipts, postings, wallets and orders as the service
// itself would have written them, and with the same rules. The data follows
// from a number, so that it can be made again.
//
// A run is noted in the table before it begins. One that was interrupted is
// finished by the next; after a finished one the next adds. What others could
// change meanwhile (open trips, sign-in rows) is written last, and only where
// it is missing. Receipts stand before their trips do, so a settlement that
// sees the trips finds them settled.
//
// It knows nothing of engines and streams. Counters, totals and search rows
// are not written: they come by the table's stream, or by a rebuild.
package seed
