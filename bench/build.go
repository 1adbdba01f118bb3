package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// probe is added to every function that is measured. It reports the function's
// allocations on a signal, so that the measured revision needs no code for it.
//
//go:embed testdata/probe.go.txt
var probe []byte

// build is one revision's functions, as built for deployment.
type build struct {
	name string // of the revision; "" is the working tree
	dir  string // has one program per function

	environment []string // NAME=value, in addition to what every function gets
}

// title names the build in the document.
func (b build) title() string {
	if b.name == "" {
		return "now"
	}
	return b.name
}

// buildFunctions builds the functions of a git revision, or of the working
// tree if the revision is "", into dir.
func buildFunctions(ctx context.Context, revision, dir string) (build, error) {
	out := build{name: revision, dir: filepath.Join(dir, "bin")}
	source, err := os.Getwd()
	if err != nil {
		return out, err
	}
	if revision != "" && revision != "." {
		source = filepath.Join(dir, "source")
		if err := checkOut(ctx, revision, source); err != nil {
			return out, err
		}
	}
	overlay, err := probes(source, dir)
	if err != nil {
		return out, err
	}
	cmd := exec.CommandContext(ctx, "go", "build", //nolint:gosec // a developer's own revision and folders
		"-overlay="+overlay, "-tags=lambda.norpc", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -buildid=", "-o", out.dir+"/", "./functions/...")
	cmd.Dir, cmd.Env = source, append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return out, fmt.Errorf("building %s: %w\n%s", out.title(), err, text)
	}
	return out, nil
}

// checkOut writes the revision's files into dir.
func checkOut(ctx context.Context, revision, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if strings.HasPrefix(revision, "-") {
		return fmt.Errorf("%q is no revision", revision)
	}
	//nolint:gosec // the revision was checked above
	archive, err := exec.CommandContext(ctx, "git", "archive", "--format=tar", revision).Output()
	if err != nil {
		return fmt.Errorf("git archive %s: %w", revision, err)
	}
	unpack := exec.CommandContext(ctx, "tar", "-x", "-C", dir) //nolint:gosec // a folder made here
	unpack.Stdin = bytes.NewReader(archive)
	if text, err := unpack.CombinedOutput(); err != nil {
		return fmt.Errorf("tar: %w\n%s", err, text)
	}
	return nil
}

// probes writes the file for "go build -overlay" that adds probe.go to each
// function's program, and returns its path.
func probes(source, dir string) (string, error) {
	file := filepath.Join(dir, "probe.go")
	if err := os.WriteFile(file, probe, 0o600); err != nil {
		return "", err
	}
	mains, err := filepath.Glob(filepath.Join(source, "functions", "*", "main.go"))
	if err != nil || len(mains) == 0 {
		return "", fmt.Errorf("%s has no functions: %w", source, err)
	}
	replace := map[string]string{}
	for _, main := range mains {
		replace[filepath.Join(filepath.Dir(main), "probe.go")] = file
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}
