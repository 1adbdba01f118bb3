// Package fleet owns the endpoints by which operators manage a company's drivers and
// customers: they invite, change, disable and enable them, and keep the drivers'
// documents. pkg/domain/driver and pkg/domain/customer own the records themselves.
package fleet
