// Package settlement owns what follows a completed trip: its receipt, the
// postings to the driver's and the rider's wallet, and their trip counts. One
// transaction writes all of it, on the condition that the trip has no receipt
// yet. Therefore a trip is settled once, however often and in whatever order
// the stream delivers it. The package runs on the table's stream (Function).
// Sweep settles the trips that the stream lost. The package knows no HTTP.
package settlement
