// Package address owns the riders' saved addresses. The pair of coordinates
// identifies an address, compared as exact decimals. Saving the same
// coordinates again counts as a use and does not create a second address.
package address
