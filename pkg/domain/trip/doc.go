// Package trip owns trips: what a trip is, its transitions and who may make
// them, its stored form, its log, and the endpoints that read, request, book and
// change trips.
//
//	trip.go       a trip and its statuses
//	transition.go each change of a trip: pure rules
//	history.go    the part of a log that is stored
//	log.go        entries of a trip's log
//	record.go     a trip as an item: keys, indexes, attributes, document
//	store.go      reads, and one conditional transaction for each change
//	list.go       lists with their filters
//	requests.go   validation of what a rider or driver sends
//	endpoints.go  rows and handlers of riders, drivers and readers
//	operations.go rows and handlers of operators who change trips
//	rate.go       a rider's rating of the driver
//	book.go       what an operator sends to book a trip
//
// The package must not know settlement, reports or wallets.
// pkg/background/settlement and pkg/background/projection receive the changes
// of trips from the table's stream.
package trip
