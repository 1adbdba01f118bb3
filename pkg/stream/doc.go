// Package stream owns what the functions on the table's stream share: reading
// an event's records as items, grouping them by item, taking the newest image
// of each, and answering which records failed.
//
// Batches may repeat, split, come late and in another order, and a record need
// not mean a change. A record that cannot be read is passed over, for it would
// never get better; what a function cannot do is answered as a failure from
// that record on, and the batch comes again. It knows no resource.
package stream
