// Package payment owns the riders' payment methods: what a person needs to tell
// them apart, never a card number.
package payment
