// Package settlement owns what follows a completed trip: its receipt, the
// postings to the driver's and the rider's wallet, and their trip counts. All
// of it is one transaction on the condition that the trip has no receipt yet,
// so that however often a trip comes by, in whatever order, it is settled
// once. It runs on the table's stream (Function), and finds again by itself
// what a stream has lost (Sweep). It knows no HTTP.
package settlement
