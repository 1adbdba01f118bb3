package replay

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// probe is Go source that Build adds to functions that are measured, so that their own
// source contains no code for measurements. On a signal it reports the function's
// resources (see Ask and Hold).
//
//go:embed testdata/probe.go.txt
var probe []byte

// Builds describes what Build builds, and how.
type Builds struct {
	Source   string   // folder in the module; "" is the working directory
	Packages []string // patterns of packages; none means all functions
	Arch     string   // processor of the Linux machine that runs them; "" is this machine
	Race     bool     // with the race detector, which needs a C compiler
	Probe    bool     // with the probe that Ask and Hold need
}

// Build builds programs into dir as for deployment, each under the name of its
// folder.
func Build(ctx context.Context, b Builds, dir string) error {
	if len(b.Packages) == 0 {
		b.Packages = []string{"svc/functions/..."}
	}
	args := []string{"build", "-tags=lambda.norpc", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", dir + "/"}
	env := append(os.Environ(), "CGO_ENABLED=0")
	if b.Race { // with whole paths, so that packages are compiled once for this and for tests
		args, env = append(args, "-race"), append(os.Environ(), "CGO_ENABLED=1")
	} else {
		args = append(args, "-trimpath")
	}
	if b.Arch != "" {
		env = append(env, "GOOS=linux", "GOARCH="+b.Arch)
	}
	if b.Probe {
		overlay, err := b.overlay(ctx, dir)
		if err != nil {
			return err
		}
		defer os.RemoveAll(filepath.Dir(overlay))
		args = append(args, "-overlay="+overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, b.Packages...)...) //nolint:gosec // a developer's own source
	cmd.Dir, cmd.Env = b.Source, env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

// overlay writes the overlay that adds the probe to each function's program.
func (b Builds) overlay(ctx context.Context, dir string) (string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}")
	list.Dir = b.Source
	root, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	mains, err := filepath.Glob(filepath.Join(string(root[:len(root)-1]), "functions", "*", "main.go"))
	if err != nil {
		return "", err
	}
	if len(mains) == 0 {
		return "", fmt.Errorf("the module %s has no functions/*/main.go", root[:len(root)-1])
	}
	at, err := os.MkdirTemp(filepath.Dir(dir), "svc-probe-")
	if err != nil {
		return "", err
	}
	file := filepath.Join(at, "probe.go")
	if err := os.WriteFile(file, probe, 0o600); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, main := range mains {
		replace[filepath.Join(filepath.Dir(main), "probe.go")] = file
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(at, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}
