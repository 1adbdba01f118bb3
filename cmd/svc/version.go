package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/edge/api"
)

// addVersion adds the command svc version.
func addVersion(c *cli.CLI, root *cobra.Command) {
	root.AddCommand(&cobra.Command{Use: "version", Short: "Show the version, the commit and the Go release",
		Example: "  svc version\n  svc version --json",
		RunE: cli.Act(func(context.Context, []string) error {
			return c.Done(map[string]string{"version": version()}, "svc %s", version())
		})})
}

// stamp is the commit of the build, followed by -changed if the sources had uncommitted
// changes. make build sets it; other builds leave it "".
var stamp string

// version returns the version of the API, then what is known about the build: the version
// of the module, the commit, and the Go release.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return api.Version + ", " + runtime.Version()
	}
	return describe(info, stamp)
}

// describe returns the text of version. It prefers the commit that Go recorded to the
// stamp, because Go also records the time.
func describe(info *debug.BuildInfo, stamp string) string {
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	out := api.Version
	if built := info.Main.Version; built != "" && built != "(devel)" { // a tag, or a version derived from the commit
		out += ", build " + built
	}
	switch commit := set["vcs.revision"]; {
	case commit != "":
		out += ", commit " + commit[:min(len(commit), 12)] + " of " + set["vcs.time"]
		if set["vcs.modified"] == "true" {
			out += ", changed since"
		}
	case stamp != "":
		commit, changed := strings.CutSuffix(stamp, "-changed")
		out += ", commit " + commit
		if changed {
			out += ", changed since"
		}
	default:
		out += ", commit unknown"
	}
	return out + ", " + info.GoVersion
}
