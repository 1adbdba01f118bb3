// Package wallet owns the wallets of drivers and customers: balance, postings, the order
// by balance, the withdrawals of drivers, and the endpoints of all these. Move and Shift
// change a balance only together with its postings, so the balance always equals the sum
// of the postings. The package must not know trips: pkg/domain/receipt decides what a
// trip posts. pkg/background/projection maintains the totals that this package reads.
package wallet
