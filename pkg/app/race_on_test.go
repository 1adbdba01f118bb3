//go:build race

package app_test

// The race detector empties pools at random, which causes more allocations.
// The builds without it enforce the limits.
const (
	allowance = 2
	eachItem  = 32
)
