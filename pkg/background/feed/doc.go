// Package feed appends to the tenants' event feeds. It reads the table's stream:
// for each item that changed, a step compares the item's current state with what
// the feed has of it (event.Emitted), and appends the events that are missing.
//
// The log of a trip has an entry for each change, so the feed has an event for
// each. Of other items only the current state is known: if an item changes twice
// before a step, the feed has one event.
//
// A step reads Emitted first, then the items. One transaction appends the events,
// gives their numbers and writes Emitted, each on the condition that nobody has
// changed it since. So a repeated, late or disordered record appends nothing twice.
package feed
