package engine

import (
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// child is the process of an engine. One goroutine waits for its end and then closes done.
type child struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// startChild starts cmd on a dedicated operating system thread that lives as long as the
// child. Linux sends the parent-death signal when the thread that forked ends, not when
// the process ends. own prepares cmd so that the child gets the signal orphaned when this
// process dies.
func startChild(cmd *exec.Cmd, orphaned syscall.Signal,
	own func(*exec.Cmd, syscall.Signal) (func(), error)) (*child, error) {
	release, err := own(cmd, orphaned)
	if err != nil {
		return nil, err
	}
	cmd.WaitDelay = endIn // then Wait does not wait for a process of the engine that holds the output pipe
	c := &child{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer release()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait() // the engine's output shows how it ended
		close(c.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// endIn is how long an engine may take to end after a signal.
const endIn = 3 * time.Second

// end sends the signal and waits for the child's end. After endIn it kills the child.
func (c *child) end(signal syscall.Signal) {
	_ = c.cmd.Process.Signal(signal)
	select {
	case <-c.done:
	case <-time.After(endIn):
		_ = c.cmd.Process.Kill()
		<-c.done
	}
}

// tail is a writer for the output of an engine. It keeps the last 4,096 bytes, and forwards
// everything to another writer, unless that is nil.
type tail struct {
	to io.Writer

	mu  sync.Mutex
	end []byte
}

// Write implements io.Writer. It ignores errors of the other writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.end = append(t.end, p...)
	if extra := len(t.end) - 4096; extra > 0 {
		t.end = append(t.end[:0], t.end[extra:]...)
	}
	t.mu.Unlock()
	if t.to != nil {
		_, _ = t.to.Write(p)
	}
	return len(p), nil
}

// last returns the first line of the kept output that reports an error, else the last line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.end)), "\n")
	for _, line := range lines {
		if l := strings.ToLower(line); strings.Contains(l, "error:") || strings.Contains(l, "failed to bind") {
			return strings.TrimPrefix(strings.TrimSpace(line), "error: ")
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
