package main

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"svc/pkg/edge/api"
)

func versionCommand(c *cli) *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Show the version, the commit and the Go release",
		Example: "  svc version\n  svc version --json",
		RunE: act(func(context.Context, []string) error {
			return c.done(map[string]string{"version": version()}, "svc %s", version())
		})}
}

// version returns the version of the API, then what Go recorded of the build: the
// module's version, the commit and its time, and the Go release.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return api.Version + ", " + runtime.Version()
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	out := api.Version
	if built := info.Main.Version; built != "" { // a tag, or a version derived from the commit
		out += ", build " + built
	}
	if commit := set["vcs.revision"]; commit != "" {
		out += ", commit " + commit[:min(len(commit), 12)] + " of " + set["vcs.time"]
	}
	if set["vcs.modified"] == "true" {
		out += ", changed since"
	}
	return out + ", " + info.GoVersion
}
