// Package fleet owns how operators manage a company's people: they invite, change,
// disable and enable drivers and customers, and keep the drivers' documents.
// pkg/domain/driver and pkg/domain/customer own the records themselves.
package fleet
