package engine

import (
	"os/exec"
	"syscall"
)

// own gives the child its own process group, so that Ctrl-C reaches only this
// process. The kernel kills the child when this process dies for any reason.
func own(cmd *exec.Cmd) (release func(), err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return func() {}, nil
}
