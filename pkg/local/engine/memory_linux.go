package engine

import "syscall"

// memoryRoot is the folder whose files the kernel keeps in memory.
const memoryRoot = "/dev/shm"

// isMemory reports whether a folder's files are in memory, and at least free bytes
// are available there.
func isMemory(root string, free uint64) bool {
	const tmpfs = 0x01021994
	var fs syscall.Statfs_t
	if err := syscall.Statfs(root, &fs); err != nil {
		return false
	}
	return fs.Type == tmpfs && fs.Bavail*uint64(fs.Bsize) >= free
}
