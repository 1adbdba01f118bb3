package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/local/folder"
)

// runDev runs `svc dev` on a data folder with the flags, and waits until standard
// output contains the text ready. It returns the service's address, its output
// on standard error, and a function that stops it.
func runDev(data, ready string, flags ...string) (base string, errs *lines, stop func() error, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	out, errs, done := &lines{}, &lines{}, make(chan int, 1)
	args := append([]string{"dev", "--port", "0", "--data", data, "--no-robots"}, flags...)
	go func() { done <- newCLI(out, errs).Run(ctx, args) }()
	stop = func() error {
		cancel()
		if code := <-done; code != 0 {
			return fmt.Errorf("svc dev ended with %d: %s", code, errs.text())
		}
		return nil
	}
	for deadline := time.Now().Add(testkit.Patience); !strings.Contains(out.text(), ready); {
		time.Sleep(10 * time.Millisecond)
		if time.Now().After(deadline) {
			return "", nil, nil, errors.Join(fmt.Errorf("svc dev did not start: %s %s", out.text(), errs.text()), stop())
		}
	}
	_, rest, _ := strings.Cut(out.text(), "svc runs at ")
	base, _, _ = strings.Cut(rest, "\n")
	return base, errs, stop, nil
}

// What standard output shows when the service runs, and when the demo data is
// loaded and counted.
const (
	isRunning = "svc runs at "
	hasDemo   = "Reference: "
)

// devFor is dev for one test. The service stops at the latest when the test ends.
func devFor(t *testing.T, data, ready string, flags ...string) (base string, errs *lines, stop func()) {
	t.Helper()
	base, errs, end, err := runDev(data, ready, flags...)
	testkit.Must(t, err)
	stop = sync.OnceFunc(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return base, errs, stop
}

// start runs a service that no other test uses. Without flags the service has the
// demo data and stores it in a data folder. With flags it stores nothing on disk.
func start(t *testing.T, flags ...string) *world {
	t.Helper()
	w := &world{T: t}
	if len(flags) == 0 {
		w.data = demoFolder(t)
		w.base, _, _ = devFor(t, w.data, hasDemo)
		return w
	}
	w.data = t.TempDir()
	w.base, _, _ = devFor(t, w.data, isRunning, append([]string{"--memory"}, flags...)...)
	return w
}

// loaded is a data folder with the demo data. No service runs on it: tests copy
// it, because loading the demo takes as long as most tests.
var loaded struct {
	once sync.Once
	data string
	err  error
}

func loadDemoOnce() (data string, err error) {
	if data, err = os.MkdirTemp("", "svc-demo"); err != nil {
		return "", err
	}
	_, _, stop, err := runDev(data, hasDemo)
	if err != nil {
		return data, err
	}
	out, errs := &lines{}, &lines{}
	// svc verify returns when the stream functions have written everything.
	if newCLI(out, errs).Run(context.Background(), []string{"verify", "--data", data}) != 0 {
		err = fmt.Errorf("svc verify: %s %s", out.text(), errs.text())
	}
	return data, errors.Join(err, stop())
}

// demoFolder returns a data folder with the demo for this test alone.
func demoFolder(t *testing.T) string {
	t.Helper()
	loaded.once.Do(func() { loaded.data, loaded.err = loadDemoOnce() })
	testkit.Must(t, loaded.err)
	data := filepath.Join(t.TempDir(), "data")
	copyFolder(t, data, loaded.data)
	return data
}

// copyFolder copies a data folder on which no service runs.
func copyFolder(t *testing.T, to, from string) {
	t.Helper()
	testkit.Must(t, os.CopyFS(to, os.DirFS(from)))
	testkit.Must(t, os.Chmod(filepath.Join(to, "sealing.key"), 0o600))
}

// common is the service that tests share; TestMain ends it.
var common struct {
	once       sync.Once
	data, base string
	stop       func() error
	err        error
}

// share is the service with demo data that several tests share, one after
// another. A test must not change what another test uses.
func share(t *testing.T) *world {
	t.Helper()
	common.once.Do(func() {
		if common.data, common.err = os.MkdirTemp("", "svc-test"); common.err == nil {
			common.base, _, common.stop, common.err = runDev(common.data, hasDemo, "--memory")
		}
	})
	testkit.Must(t, common.err)
	return &world{T: t, data: common.data, base: common.base}
}

// endCommon stops the shared service, if there is one, and removes its folder and
// those of the demo and of the detached program.
func endCommon() (err error) {
	if common.stop != nil {
		err = common.stop()
	}
	return errors.Join(err, os.RemoveAll(common.data), os.RemoveAll(loaded.data), os.RemoveAll(detachedIn))
}

// TestMemoryBeside: svc dev --memory runs while another service runs on the default data folder:
// on another data folder, and on a free port.
func TestMemoryBeside(t *testing.T) {
	w := start(t, "--no-demo")
	t.Setenv("PORT", "")
	t.Setenv("TMPDIR", t.TempDir())
	root, err := filepath.Abs(filepath.Join("..", ".."))
	testkit.Must(t, err)
	t.Chdir(t.TempDir())
	for name, at := range map[string]string{folder.Default: w.data, "go.mod": filepath.Join(root, "go.mod"),
		"bin": filepath.Join(root, "bin")} { // the engine is in bin
		testkit.Must(t, os.Symlink(at, name))
	}
	ctx, cancel := context.WithCancel(t.Context())
	out, errs := &stopping{stop: cancel}, &lines{}
	code := newCLI(out, errs).Run(ctx, []string{"dev", "--memory", "--no-demo"})
	if code != 0 || !strings.Contains(errs.text(), "another service runs at "+w.base) ||
		!strings.Contains(errs.text(), "--data "+os.Getenv("TMPDIR")) ||
		!strings.Contains(out.String(), "http://127.0.0.1:") || strings.Contains(out.String(), ":8080") {
		t.Errorf("exit code %d: %s%s", code, out.String(), errs.text())
	}
}
