// Package location owns where drivers are now: their last known position, and the
// list of drivers by place from which dispatch chooses. Places are cells of S2
// (github.com/golang/geo): a covering of a circle on the sphere has no gap at a
// pole or at the antimeridian. H3's library wraps C, and we build without cgo.
//
//	place.go      cells, coverings and distances: pure geometry
//	cover.go      the cells that cover any region, such as a zone
//	listing.go    a driver's entry in the list by place
//	relist.go     the entry after a driver comes online or goes offline
//	nearby.go     search for the drivers around a point
//	endpoints.go  PUT /me/location
//
// A position is an item of its own of less than a kilobyte, written every few
// seconds by one write unit. A driver has one entry in the list, so the driver is
// never at two places. The entry is written only when the driver enters another
// cell, comes online, goes offline, or has stood still for a while.
package location
