// Package stream owns what the functions on the table's stream share. It reads
// an event's records as items, groups them by item, picks the newest image of
// each, and reports the failed records.
//
// Batches may repeat, split, arrive late or out of order, and a record need
// not mean a change. The package skips a record that it cannot read, because a
// retry would not help. When a function fails, the failure is reported from
// that record on, and Lambda sends the batch again. The package knows no
// resource.
package stream
