// Command bench measures every endpoint in tenants of several sizes, side by
// side in one run. It writes the tables into docs/performance.md, between its
// markers. It runs the service in this process on embedded engines, with
// gateway events in and responses out, as in Lambda. It knows which requests
// to send, but not how the service handles them.
//
// With -cpu it measures processor time and allocations instead. It builds the
// functions of the working tree and, with -base, of another revision. It runs
// them as processes behind a stand-in of Lambda's runtime API, and replays the
// table's recorded responses. It needs no code in the measured revision.
//
// With -ceilings it counts the units that each request consumes at each key. From
// these it derives how many requests a second the hottest keys allow, and what
// requests cost. It also stores the units as traces, for -model.
//
// With -concurrency it compares one process that handles many events at once
// with as many processes that handle one each.
//
// With -soak it drives mixed load against `svc dev` as a process of its own. It
// fails if a response or a sum is wrong, or if the resources of that process or
// its engine keep growing.
//
// With -memory it measures the built functions at several sizes, each with the
// share of a processor that Lambda gives it.
//
// With -model it simulates the table with the traces of the last -ceilings, and
// writes docs/model.md.
package main
