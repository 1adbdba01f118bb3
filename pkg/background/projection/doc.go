// Package projection owns the data that is derived from the table's items and
// stored beside them: the report counters, the totals of wallets, drivers and
// customers, the search rows of customers (one for each suffix of a word, also
// called suffix rows), and the rank rows of feedback posts (one for each place of
// a post in a sorted list). It also copies changed names of drivers and customers
// to their wallets.
//
// Each counted item has a COUNTED item beside it, which records what was
// counted. A step reads COUNTED, then the item. In one transaction, it adds the
// difference to the counters, and writes the new COUNTED on the condition that
// the old one is unchanged. The stream may deliver an item repeatedly,
// late or out of order, because every step ends at the item's current state.
// COUNTED is read first, so the item is never older than what was counted.
//
// The package that owns a counter or row decides what an item adds to it:
// pkg/domain/report, pkg/data/counter, pkg/domain/customer,
// pkg/domain/feedback.
package projection
