//go:build !linux

package engine

import (
	"os/exec"
	"syscall"
)

// own gives the child a process group of its own, so that Ctrl-C reaches this
// process alone, and ties its life to ours.
func own(cmd *exec.Cmd) (release func(), err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return tie(cmd)
}
