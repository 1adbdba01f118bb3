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
//	desk.go       new trips: terms, fares and wallets
//	caller.go     the rider of a booking by phone
//	open.go       the limit of a rider's open trips
//	endpoints.go  endpoints of riders and drivers, and those that read trips
//	operations.go endpoints of operators who change trips
//	progress.go   handlers of the transitions of a trip
//	no_show.go    trips whose rider did not come
//	rate.go       a rider's rating of the driver
//	book.go       what an operator sends to book a trip
//
// The package must not know settlement or reports. Of wallets it knows only the balance
// that a new ride needs. pkg/background/settlement and pkg/background/projection receive
// the changes of trips from the table's stream.
package trip
