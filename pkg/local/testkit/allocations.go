package testkit

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// Allocations returns the number of allocations of one call, averaged over ten
// calls. It disables garbage collection, which would empty the pools. It
// takes the least of three counts, to exclude occasional work of the runtime.
// It also counts what other goroutines allocate, so nothing else should run.
func Allocations(call func()) float64 {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	least := testing.AllocsPerRun(10, call)
	for range 2 {
		least = min(least, testing.AllocsPerRun(10, call))
	}
	return least
}
