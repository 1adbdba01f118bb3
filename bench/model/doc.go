// Package model simulates a DynamoDB table under the load of a city's day. It
// reads recorded traces: the units that each operation consumes at each key. It
// knows nothing else of the service.
//
// The simulation computes amounts of units, not single requests, in steps of ten
// seconds. Partitions have the limits that AWS documents; docs/model.md lists what
// is assumed.
package model
