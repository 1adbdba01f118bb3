// Package wallet owns the wallets of drivers and customers: balance, postings,
// the order by balance, and the two endpoints that read them. A balance
// changes only together with its posting (Move), so a wallet's postings always
// sum to its balance. The package must not know trips:
// pkg/background/settlement decides what is posted. pkg/background/projection
// maintains the totals that this package reads.
package wallet
