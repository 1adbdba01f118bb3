//go:build !linux

package engine

// memoryRoot is empty: only Linux has a folder in memory that always exists.
const memoryRoot = ""

// isMemory always returns false.
func isMemory(string, uint64) bool { return false }
