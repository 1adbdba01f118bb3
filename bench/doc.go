// Command bench measures the service.
//
// With -cpu it measures processor time and allocations. It builds the functions
// of the working tree and, with -base, of another revision. It runs them as
// processes behind a stand-in of Lambda's runtime API, and replays the table's
// recorded responses. It needs no code in the measured revision.
//
// With -soak it drives mixed load against `svc dev` as a process of its own. It
// fails if a response or a sum is wrong, or if the resources of that process or
// its engine keep growing.
//
// The test TestUnits compares the units that each request consumes, and the hottest keys,
// with testdata/units.txt.
package main
