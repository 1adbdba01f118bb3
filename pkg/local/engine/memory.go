package engine

import (
	"os"
	"path/filepath"
	"time"
)

const (
	// scratchPrefix begins the name of each folder that memoryFile creates.
	scratchPrefix = "svc-engine-"
	// minFree is the least free space, in bytes, that memoryFile needs. With less,
	// dynoxide keeps its data in its own memory. A container's /dev/shm often has
	// 64 MB.
	minFree = 1 << 30
	// staleAfter is the age from which a folder of memoryFile is a leftover. Start
	// cannot take so long.
	staleAfter = 2 * attempts * readyIn
)

// memoryFile creates an empty data file below root, a folder in memory, for
// data that is lost when the engine ends. Unlike dynoxide's own mode without a
// file, such a file has the index on the stream's records. Call remove when the
// engine responds: the engine keeps its files open, and the kernel frees them
// when the engine ends for any reason. Without suitable memory the name is
// empty, and dynoxide works without a file.
func memoryFile(root string) (file string, remove func()) {
	none := func() {}
	if !isMemory(root, minFree) {
		return "", none
	}
	removeStale(root)
	dir, err := os.MkdirTemp(root, scratchPrefix)
	if err != nil {
		return "", none
	}
	remove = func() { _ = os.RemoveAll(dir) }
	file = filepath.Join(dir, "dynoxide.db")
	if err := create(file); err != nil {
		remove()
		return "", none
	}
	return file, remove
}

// removeStale removes the folders of processes that were killed while they
// started an engine.
func removeStale(root string) {
	found, _ := filepath.Glob(filepath.Join(root, scratchPrefix+"*")) // no error, because the pattern is valid
	for _, dir := range found {
		if info, err := os.Lstat(dir); err == nil && time.Since(info.ModTime()) > staleAfter {
			_ = os.RemoveAll(dir) // the removal fails for another user's folder, which stays
		}
	}
}
