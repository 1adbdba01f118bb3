package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc/cmd/svc/cli"
	"svc/internal/test/testkit"
	"svc/pkg/local/folder"
)

// TestFindsServiceFromAnyFolder: without --data, a command finds the only service that
// runs. A note of a service that is gone counts for nothing, and several are listed.
func TestFindsServiceFromAnyFolder(t *testing.T) {
	w := share(t)
	data := filepath.Join(t.TempDir(), "data")
	other := startDev(t, detachedProgram(t), data, "")
	t.Cleanup(func() { _ = other.cmd.Process.Kill() })
	other.await(t)
	registry := filepath.Join(t.TempDir(), "running")
	t.Chdir(t.TempDir())
	run := func() (code int, out, errs string) {
		var said, wrong bytes.Buffer
		c := newCLI(&said, &wrong)
		c.Registry = registry
		return c.Run(t.Context(), []string{"tenant", "list"}), said.String(), wrong.String()
	}
	if code, _, errs := run(); code != cli.ExitFailure || !strings.Contains(errs, "no service runs") {
		t.Errorf("without a note: %d %s", code, errs)
	}
	gone := t.TempDir()
	folder.Register(registry, gone)
	testkit.Must(t, os.RemoveAll(gone))
	folder.Register(registry, t.TempDir()) // no service runs there
	forget := folder.Register(registry, w.data)
	if code, out, errs := run(); code != 0 || !strings.Contains(out, "metro") ||
		!strings.Contains(errs, "using the service on "+w.data) {
		t.Errorf("with a note: %d %s %s", code, out, errs)
	}
	folder.Register(registry, data)
	if code, _, errs := run(); code != cli.ExitUsage || !strings.Contains(errs, w.data) ||
		!strings.Contains(errs, data) {
		t.Errorf("with two services: %d %s", code, errs)
	}
	testkit.Must(t, other.cmd.Process.Kill())
	<-other.ended
	forget()
	if code, _, errs := run(); code != cli.ExitFailure || !strings.Contains(errs, "no service runs") {
		t.Errorf("after the end: %d %s", code, errs)
	}
}
