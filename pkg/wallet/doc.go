// Package wallet owns the wallets of drivers and customers: balance, postings,
// their order by balance, and the three reads of them. A balance changes only
// together with the posting that moves it (Move), so that a wallet's postings
// always add up to its balance. It knows no trip: pkg/settlement decides what
// is posted; pkg/projection keeps the totals that this package reads.
package wallet
