package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/pkg/access/authz"
)

// CompleteTime limits how long the completion of a word in the shell waits for the
// tenants' slugs.
var CompleteTime = 3 * time.Second

// completing sets up the shell completion of a command. The names of arguments in
// cmd.Use, such as SLUG, select the values to complete (see words). So do the names of
// some flags, such as --tenant.
func (c *CLI) completing(cmd *cobra.Command) {
	names := strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(cmd.Use))[1:]
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(names) == 0 || len(args) >= len(names) && !strings.HasSuffix(names[len(names)-1], "…") {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return beginning(c.words(cmd, names[min(len(args), len(names)-1)]), begun, args)
	}
	for flag, name := range map[string]string{"tenant": "SLUG", "permission": "PERMISSION…", "scope": "SCOPE",
		"status": "STATUS", "audience": "AUDIENCE", "side": "SIDE"} {
		if cmd.Flags().Lookup(flag) == nil {
			continue
		}
		_ = cmd.RegisterFlagCompletionFunc(flag, // it fails only for an unknown flag
			func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
				return beginning(c.words(cmd, name), begun, args)
			})
	}
}

// beginning returns the words that start with begun and are not in used, the arguments
// that the command line has already.
func beginning(words []string, begun string, used []string) ([]string, cobra.ShellCompDirective) {
	words = slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		return !strings.HasPrefix(word, begun) || slices.Contains(used, word)
	})
	return words, cobra.ShellCompDirectiveNoFileComp
}

// words returns the values that a shell can complete for the name of an argument,
// nil if there are none.
func (c *CLI) words(cmd *cobra.Command, name string) []string {
	switch name {
	case "SLUG":
		ctx, cancel := context.WithTimeout(cmd.Context(), CompleteTime)
		defer cancel()
		if p, err := c.Platform(ctx); err == nil {
			return p.slugs(ctx)
		}
	case "PERMISSION…":
		return authz.Permissions()
	case "AUDIENCE":
		return []string{"dashboard", "rider", "driver"}
	case "SIDE":
		return []string{"driver", "rider"}
	case "SCOPE":
		scopes := []string{}
		for _, a := range []authz.Audience{authz.Dashboard, authz.Rider, authz.Driver} {
			scopes = append(scopes, authz.Scopes(a)...)
		}
		slices.Sort(scopes)
		return slices.Compact(scopes)
	case "STATUS":
		if given := cmd.Annotations[StatusWords]; given != "" {
			return strings.Fields(given)
		}
	}
	return nil
}
