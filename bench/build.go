package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"svc/internal/test/replay"
)

// build has the Lambda functions of one git revision, built as for deployment.
type build struct {
	name string // git revision; "" is the working tree
	dir  string // folder with one program per Lambda function
}

// title returns the name of the build for the output: its revision, or "now" for the
// working tree.
func (b build) title() string { return cmp.Or(b.name, "now") }

// buildFunctions builds the Lambda functions of a git revision into a subfolder of dir.
// The revision "" is the working tree.
func buildFunctions(ctx context.Context, revision, dir string) (build, error) {
	out := build{name: revision, dir: filepath.Join(dir, "bin")}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return out, err
	}
	source := "."
	if revision != "" {
		source = filepath.Join(dir, "source")
		checkOut := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", //nolint:gosec // the developer's revision
			`mkdir "$2" && git archive --format=tar "$1" | tar -x -C "$2"`, "-", revision, source)
		if text, err := checkOut.CombinedOutput(); err != nil {
			return out, fmt.Errorf("reading %s from git: %w\n%s", revision, err, text)
		}
	}
	if err := replay.Build(ctx, replay.Builds{Source: source, Probe: true}, out.dir); err != nil {
		return out, fmt.Errorf("building %s: %w", out.title(), err)
	}
	return out, nil
}
