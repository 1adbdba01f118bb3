//go:build !linux

package engine

import (
	"os"
	"os/exec"
)

// canIsolate reports whether the system has network namespaces.
const canIsolate = false

func isolate(*exec.Cmd) {}

func raiseLoopback() error { return nil }

// self is this program.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}
