// Package receipt owns what a completed trip does to money: its receipt, the
// postings to the driver's and the rider's wallet, and their trip counts. It also
// owns what may change them later: corrections of the fare, and the postings of
// operators, of which a refund depends on the receipt.
//
// One transaction settles a trip, on the condition that the trip has no receipt
// yet. One transaction corrects a fare: it changes the trip, writes the next
// version of the receipt beside the old one, and posts the difference. So however
// often the stream delivers a trip or a request is repeated, each is done once. The
// package must not read streams: pkg/background/settlement calls it.
package receipt
