package main

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"svc"
	"svc/internal/test/testkit"
	"svc/pkg/edge/api"
)

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	if code := newCLI(&out, &out).Run(t.Context(), []string{"--version"}); code != 0 {
		t.Errorf("exit code %d: %s", code, out.String())
	}
	if !strings.Contains(out.String(), "go1") {
		t.Errorf("version: %q", out.String())
	}
}

// The version is in one place: the program, the document and the changelog say the
// same.
func TestVersionsAgree(t *testing.T) {
	var document struct{ Info struct{ Version string } }
	testkit.Must(t, json.Unmarshal(svc.OpenAPI, &document))
	if want := document.Info.Version + ", "; !strings.HasPrefix(version(), want) {
		t.Errorf("the program has the version %q, and the document %q", version(), want)
	}
	changelog, err := os.ReadFile("../../CHANGELOG.md")
	testkit.Must(t, err)
	newest := regexp.MustCompile(`(?m)^## \[([0-9.]+)] - \d{4}-\d\d-\d\d$`).FindSubmatch(changelog)
	if newest == nil || string(newest[1]) != document.Info.Version {
		t.Errorf("the changelog begins with %q, and the document has %q", newest, document.Info.Version)
	}
}

// TestVersionNamesCommit: the version names the commit, also where Go recorded none.
func TestVersionNamesCommit(t *testing.T) {
	recorded := &debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Version: "(devel)"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"},
			{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
			{Key: "vcs.modified", Value: "true"}}}
	plain := &debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Version: "(devel)"}}
	tagged := &debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Version: "v1.2.0"}}
	for _, tt := range []struct {
		info        *debug.BuildInfo
		stamp, want string
	}{
		{recorded, "fedcba987654", ", commit 0123456789ab of 2026-01-02T03:04:05Z, changed since, go1.26"},
		{plain, "fedcba987654", ", commit fedcba987654, go1.26"},
		{plain, "fedcba987654-changed", ", commit fedcba987654, changed since, go1.26"},
		{plain, "", ", commit unknown, go1.26"},
		{tagged, "", ", build v1.2.0, commit unknown, go1.26"},
	} {
		if got := describe(tt.info, tt.stamp); got != api.Version+tt.want {
			t.Errorf("%q: %s", tt.stamp, got)
		}
	}
}
