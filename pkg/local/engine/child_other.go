//go:build !linux

package engine

import (
	"os/exec"
	"syscall"
)

// own gives the child its own process group, so that Ctrl-C reaches only this
// process. It also ends the child when this process dies.
func own(cmd *exec.Cmd) (release func(), err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return tie(cmd)
}
