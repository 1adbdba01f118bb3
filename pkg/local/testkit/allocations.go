package testkit

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// Allocations counts those of one call, of many. No garbage is collected
// meanwhile, which would empty the pools, and the least of three counts leaves
// out what the runtime does now and then. What else runs in the process is
// counted with it: nothing should.
func Allocations(call func()) float64 {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	least := testing.AllocsPerRun(10, call)
	for range 2 {
		least = min(least, testing.AllocsPerRun(10, call))
	}
	return least
}
