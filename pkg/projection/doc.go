// Package projection owns what is derived from the table's items and kept
// beside them: the report counters, the totals of wallets, drivers and
// customers, the rows by which customers are found, and the rows by which
// feedback posts are ranked.
//
// Beside each counted item lies a COUNTED item that says what was counted of
// it. A step reads that, then the item as it is now, adds new − old to the
// counters, and writes the new COUNTED on the condition that the old one is
// still there, all in one transaction. So it does not matter how often, in
// which order or how late the stream brings an item: every step ends at the
// item as it is. COUNTED is read before the item, so what a step sees of the
// item is never older than what was counted.
//
// What an item adds to is said by the package that owns the counter or row:
// pkg/report, pkg/counter, pkg/customer, pkg/feedback.
package projection
