// Package stream owns what the functions on the table's stream share. It reads
// an event's records as items, groups them by item, picks the newest image of
// each, and reports the failed records.
//
// Batches may repeat, split, arrive late or out of order. A record may contain
// no change. The package skips a record that it cannot read, because a retry
// would not help. If a function fails on a record, the package reports the
// record's sequence number, and Lambda sends the batch again from this record.
// The package knows no resource.
package stream
