package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"svc"
	"svc/internal/test/testkit"
	"svc/pkg/edge/api"
)

// hostile is a name that would move a terminal's cursor, or turn text around.
const hostile = "Eve\x1b[2J\u009b31m\u0085\u202eteP\u200b\u2066\ufeff\u2028!"

// Stored text cannot control the terminal of a reader, in tables, sentences
// and errors. JSON keeps it, escaped.
func TestOutputIsPlainText(t *testing.T) {
	var out, errs bytes.Buffer
	c := newCLI(&out, &errs)
	table := cols{head: "NAME"}
	table.add(hostile)
	if err := errors.Join(c.show(nil, table), c.done(nil, "Added %s.", hostile)); err != nil {
		t.Fatal(err)
	}
	failing := c.root()
	failing.AddCommand(&cobra.Command{Use: "fail", RunE: func(*cobra.Command,
		[]string) error {
		return errors.New(hostile)
	}})
	if code := c.execute(t.Context(), failing, []string{"fail"}); code == 0 {
		t.Error("the command did not fail")
	}
	for name, text := range map[string]string{"out": out.String(), "err": errs.String()} {
		if !strings.Contains(text, "Eve") || !strings.Contains(text, "teP!") {
			t.Errorf("%s lost the plain text: %q", name, text)
		}
		if strings.ContainsAny(text, "\x1b\u009b\u0085\u202e\u200b\u2066\ufeff\u2028") {
			t.Errorf("%s has characters that command: %q", name, text)
		}
	}
	out.Reset()
	c.json = true
	if err := c.show([]string{hostile}, table); err != nil {
		t.Fatal(err)
	}
	var back []string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || back[0] != hostile {
		t.Errorf("JSON: %q, %v", out.String(), err)
	}
	if strings.ContainsAny(out.String(), "\x1b\u009b\u0085\u202e\u200b\u2066\ufeff\u2028") {
		t.Errorf("JSON has characters that command: %q", out.String())
	}
}

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	if code := newCLI(&out, &out).run(t.Context(), []string{"--version"}); code != 0 {
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

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{24 * time.Hour: "24 hours", time.Minute: "1 minute",
		89*time.Second + 400*time.Millisecond: "89 seconds", time.Second: "1 second"} {
		if got := span(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
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
