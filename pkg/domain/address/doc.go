// Package address owns the riders' saved addresses. The pair of coordinates,
// compared as exact decimals, identifies an address of a rider. Saving the same
// coordinates again counts as a use and does not create a second address.
package address
