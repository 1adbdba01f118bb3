// Command bench measures every endpoint in tenants of several sizes, side by
// side in one run, and writes the tables to docs/performance.md between its
// markers. It runs the service in this process, on embedded engines: gateway
// events in, answers out, as in Lambda. It knows which requests to send and
// nothing of how they are answered.
package main
