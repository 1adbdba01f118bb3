// Package address owns the riders' saved addresses. An address is the pair of
// its coordinates, compared as exact decimals: saving one again counts its use
// and makes no second one.
package address
