package engine

import (
	"os/exec"
	"syscall"
)

// own gives the child its own process group, so that Ctrl-C reaches only this
// process. The kernel sends the child the signal orphaned when this process dies for any
// reason. release does nothing.
func own(cmd *exec.Cmd, orphaned syscall.Signal) (release func(), err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: orphaned}
	return func() {}, nil
}
