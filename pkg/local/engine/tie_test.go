package engine

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// The method for systems other than Linux is tested here too: a tied child ends
// when the parent's pipe is closed, keeps its process id, and its end is
// noticed.
func TestTie(t *testing.T) {
	var release func()
	tied := func(cmd *exec.Cmd, orphaned syscall.Signal) (func(), error) {
		var err error
		release, err = tie(cmd, orphaned)
		return func() {}, err
	}
	c, err := startChild(exec.Command("/bin/sleep", "600"), syscall.SIGKILL, tied)
	if err != nil {
		t.Fatal(err)
	}
	for range 60_000 { // ten minutes, until the shell has become the program
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm",
			c.cmd.Process.Pid)); err != nil || string(name) == "sleep\n" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	release() // as the end of this process would
	<-c.done

	c, err = startChild(exec.Command("/bin/sh", "-c", "exit 3"), syscall.SIGKILL, tie)
	if err != nil {
		t.Fatal(err)
	}
	<-c.done
	if code := c.cmd.ProcessState.ExitCode(); code != 3 {
		t.Errorf("exit code %d", code)
	}
}
