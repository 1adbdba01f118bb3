// Package dispatch owns what drivers see of trips that need a driver: the offer
// that a driver holds, and the open trips around a driver. It also owns the state
// of the search for a trip's driver. pkg/background/dispatch makes the search: it
// offers the trip to the nearest drivers, wave after wave, until one accepts.
//
//	offer.go      a driver's offer, and the list of open trips by place
//	search.go     the state of the search for a trip's driver
//	endpoints.go  the endpoints and their handlers
//
// A driver holds at most one offer at a time, because a driver has one item for it.
// So two searches cannot ask the same driver, and no driver can accept two offers. An
// offer reserves nothing: as the specification says, the driver who accepts first
// gets the trip, with or without an offer.
package dispatch
