// Package wallet owns the wallets of drivers and customers: balance, postings,
// the order by balance, and the two endpoints that read them. Move changes a
// balance only together with a posting, so the balance always equals the sum of
// the postings. The package must not know trips: pkg/background/settlement
// decides what is posted. pkg/background/projection maintains the totals that
// this package reads.
package wallet
