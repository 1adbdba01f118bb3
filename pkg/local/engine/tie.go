package engine

import (
	"fmt"
	"os"
	"os/exec"
)

// tie has the child killed when this process ends in whatever way, where the
// kernel does not do that by itself: a shell becomes the engine (exec keeps the
// process id) after leaving a watcher behind, which waits for the end of a pipe
// that only this process holds. release ends the watcher and is called when
// the child is gone or was never started.
func tie(cmd *exec.Cmd) (release func(), err error) {
	const watch = `(while read -r _; do :; done; kill -9 $$) <&3 >/dev/null 2>&1 & exec "$@" 3<&-`
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	program := append([]string{cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", watch, "sh"}, program...)
	cmd.ExtraFiles = []*os.File{read}
	return func() {
		_ = read.Close()
		_ = write.Close()
	}, nil
}
