// Package trip owns trips: what a trip is, which transitions it makes and who
// may make them, how the table stores it, its log, and the nine
// endpoints that list, request and move trips.
//
//	trip.go       a trip, its statuses, the table of transitions: pure rules
//	log.go        entries of a trip's log
//	record.go     a trip as an item: keys, indexes, attributes, document
//	store.go      reads, and one conditional transaction for each change
//	list.go       lists with their filters
//	requests.go   validation of what a rider or driver sends
//	endpoints.go  rows and handlers
//
// The package must not know settlement, reports or wallets. They read trips
// through the table's stream.
package trip
