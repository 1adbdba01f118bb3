// Package dispatch owns what drivers see of trips that need a driver: the offer
// that a driver holds, and the open trips around a driver. It also owns the state
// of a trip's search. pkg/background/dispatch searches and writes the offers.
//
//	offer.go      a driver's offer, and the list of open trips by place
//	search.go     the state of a trip's search
//	endpoints.go  rows and handlers
//
// A driver holds at most one offer at a time, because there is one item for it. So
// two searches cannot ask the same driver, and no driver can accept two offers. An
// offer gives no right: accept is as specified, and whoever accepts first gets the
// trip.
package dispatch
