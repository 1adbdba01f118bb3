package engine

import (
	"os/exec"
	"syscall"
)

// own gives the child a process group of its own, so that Ctrl-C reaches this
// process alone, and has the kernel kill it when this process dies in whatever
// way.
func own(cmd *exec.Cmd) (release func(), err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return func() {}, nil
}
