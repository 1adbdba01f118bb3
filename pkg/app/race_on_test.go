//go:build race

package app_test

// The race detector empties pools at random, so that more is allocated anew:
// what the limits are about is told without it.
const (
	allowance = 2
	eachItem  = 15
)
