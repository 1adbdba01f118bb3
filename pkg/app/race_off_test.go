//go:build !race

package app_test

// The limits of allocations hold as they are written.
const (
	allowance = 1
	eachItem  = 2
)
