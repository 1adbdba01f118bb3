package engine

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// tie changes cmd so that the child gets the signal orphaned when this process ends for any
// reason. It is for systems whose kernel cannot do that. A shell starts a watcher and
// then becomes the engine (exec keeps the process id). The watcher waits for the end of
// a pipe that only this process holds. release ends the watcher; call it when the child
// has ended or was never started.
func tie(cmd *exec.Cmd, orphaned syscall.Signal) (release func(), err error) {
	const watch = `(while read -r _; do :; done; kill -%d $$) <&3 >/dev/null 2>&1 & exec "$@" 3<&-`
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	program := append([]string{cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", fmt.Sprintf(watch, orphaned), "sh"}, program...)
	cmd.ExtraFiles = []*os.File{read}
	return func() {
		_ = read.Close()
		_ = write.Close()
	}, nil
}
