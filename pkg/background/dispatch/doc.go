// Package dispatch finds drivers for trips. It is the worker behind a queue: a
// message, or a due task (pkg/data/due), names a trip, and Worker.Step does what the
// current state of the trip needs. A wave is the group of drivers who get an offer of
// the trip at the same time.
//
//	feed.go     the messages that follow from the table's stream
//	step.go     what a trip needs now: one conditional transaction
//	search.go   a wave of offers
//	advance.go  what a sandbox does ahead of its time
//
// A step reads the trip, the state of its search and the tenant's settings, and
// changes them on the condition that nobody else has. So messages may be repeated,
// late, disordered or lost: a repeated one finds nothing to do, and a due task
// replaces a lost one. The end of a wave and the time of a scheduled trip have such
// tasks, stored in the transaction of the change that needs them.
//
// The worker gives offers only. Whoever accepts first gets the trip, as specified,
// so no race of the worker can give a trip to two drivers.
package dispatch
