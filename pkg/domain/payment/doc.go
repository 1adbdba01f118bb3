// Package payment owns the riders' payment methods. It stores only what a
// person needs to distinguish them, never a card number.
package payment
