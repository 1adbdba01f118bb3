package testkit

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Dev is `svc dev` with the demo data, in a separate process.
type Dev struct {
	Program string // the built svc
	Data    string // its data folder
	BaseURL string
	Printed string // its output until it was ready
}

// lastPrinted begins the last line that svc dev prints before it is ready.
const lastPrinted = "  npx @modelcontextprotocol/inspector"

// StartDev runs `svc dev` with the flags on a free port and a new
// data folder until the test ends.
func StartDev(t testing.TB, flags ...string) *Dev {
	t.Helper()
	dir := t.TempDir()
	d := &Dev{Program: filepath.Join(dir, "svc"), Data: filepath.Join(dir, "data")}
	d.build(t)
	cmd, errs := d.command(context.Background(), append([]string{"dev", "--port", "0"}, flags...)), &buffer{}
	cmd.Stderr = errs
	out, err := cmd.StdoutPipe()
	Must(t, err)
	Must(t, cmd.Start())
	late := time.AfterFunc(10*time.Minute, func() { _ = cmd.Process.Kill() })
	lines, isReady := bufio.NewScanner(out), false
	for !isReady && lines.Scan() {
		d.Printed += lines.Text() + "\n"
		isReady = strings.HasPrefix(lines.Text(), lastPrinted)
	}
	late.Stop()
	ended := make(chan error, 1)
	go func() {
		_, _ = io.Copy(io.Discard, out)
		ended <- cmd.Wait()
	}()
	if !isReady {
		t.Fatalf("svc dev ended with %v:\n%s%s", <-ended, d.Printed, errs)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("svc dev ended with %v:\n%s", err, errs)
			}
		case <-time.After(10 * time.Minute):
			_ = cmd.Process.Kill()
			t.Error("svc dev does not end")
		}
	})
	_, rest, _ := strings.Cut(d.Printed, "svc runs at ")
	d.BaseURL, _, _ = strings.Cut(rest, "\n")
	return d
}

// build sets the program: the one that make has built for all tests, in SVC_PROGRAM, else
// it builds one.
func (d *Dev) build(t testing.TB) {
	t.Helper()
	// Go reuses the results of a package's tests while the environment variables that they read stay the same. So make
	// names the program by what is in it.
	if built := os.Getenv("SVC_PROGRAM"); built != "" {
		d.Program = built
		return
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", d.Program, "svc/cmd/svc")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
}

// Svc runs another command of the built svc on the data folder and returns its
// output.
func (d *Dev) Svc(t testing.TB, arguments ...string) []byte {
	t.Helper()
	out, err := d.command(t.Context(), arguments).CombinedOutput()
	if err != nil {
		t.Fatalf("svc %v: %v\n%s", arguments, err, out)
	}
	return out
}

// command returns a command of svc on the data folder. It clears the environment
// variables that name a table or an engine.
func (d *Dev) command(ctx context.Context, arguments []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, d.Program, append(arguments, "--data", d.Data)...)
	cmd.Env = append(os.Environ(), "TABLE_NAME=", "AWS_ENDPOINT_URL_DYNAMODB=")
	return cmd
}

// buffer keeps the output of a process.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
