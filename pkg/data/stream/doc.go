// Package stream owns what the functions on the table's stream share. It groups
// an event's records by item, picks the newest image of each item, and reports
// the items that failed.
//
// Batches may repeat, split, arrive late or out of order. A record may contain
// no change. The package skips a record that it cannot read, because a retry
// would not help. If a function fails on an item, the package reports the
// sequence number of the item's first record in the batch. Lambda sends the
// batch again from the lowest reported number. An item whose data makes the
// function fail becomes a dead letter at once. The package knows no resource.
package stream
