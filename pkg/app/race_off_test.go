//go:build !race

package app_test

// Without the race detector, the limits of allocations apply unchanged.
const (
	allowance = 1
	eachItem  = 2
)
