package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"svc/pkg/app/replay"
)

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

// buildFunctions builds the functions of a git revision into dir. The revisions ""
// and "." are the working tree.
func buildFunctions(ctx context.Context, revision, dir string) (build, error) {
	out := build{name: revision, dir: filepath.Join(dir, "bin")}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return out, err
	}
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
	if err := replay.Build(ctx, replay.Builds{Source: source, Probe: true}, out.dir); err != nil {
		return out, fmt.Errorf("building %s: %w", out.title(), err)
	}
	return out, nil
}

// checkOut writes the revision's files into dir.
func checkOut(ctx context.Context, revision, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if strings.HasPrefix(revision, "-") {
		return fmt.Errorf("%q is not a git revision", revision)
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
