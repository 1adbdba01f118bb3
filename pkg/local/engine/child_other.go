//go:build !linux

package engine

import (
	"os/exec"
	"syscall"
)

// own gives the child its own process group, so that Ctrl-C reaches only this
// process. The child gets the signal orphaned when this process dies (see tie, also for
// release).
func own(cmd *exec.Cmd, orphaned syscall.Signal) (release func(), err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return tie(cmd, orphaned)
}
