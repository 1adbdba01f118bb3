//go:build !race

package app_test

// Without the race detector, the limits on allocations apply unchanged.
const (
	allowance = 1
	eachItem  = 16
)
