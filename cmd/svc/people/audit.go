package people

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// auditCommand returns the command svc audit, which shows a tenant's audit log.
func auditCommand(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "audit SLUG", Short: "Show a tenant's audit log, newest first",
		Example: "  svc audit metro --limit 20\n  svc audit metro --json"}
	limit := cmd.Flags().Int("limit", 50, "entries at most")
	cmd.RunE = c.In(func(ctx context.Context, p cli.Platform, t table.Tenant, _ []string) error {
		names := cli.NamesOf(p, t)
		return cli.List(ctx, c, t, *limit, "AT WHO WHAT SUBJECT CHANGE+ WHO-ID+ SUBJECT-ID+", func(e audit.Entry) []any {
			return []any{e.At, actorOf(e, names.Anybody(ctx, e.Who)), e.What, names.Anybody(ctx, e.Subject),
				changed(e.Before, e.After), e.Who, e.Subject}
		}, audit.List)
	})
	return cmd
}

// actorOf returns the text that names the author of an audit entry. who is the name of
// the person. If an agent made the change, the text also has its tool and its client.
func actorOf(e audit.Entry, who string) string {
	if e.Tool == "" {
		return who
	}
	return who + " by " + e.Tool + " of " + e.Client
}

// changed returns the differences between two states of a subject: "name, taxiEnabled:
// true → false". If both values of a field together have more than 60 bytes, it shows the
// name of the field only. If one of the states is absent, the result is "".
func changed(before, after json.RawMessage) string {
	var was, now map[string]json.RawMessage
	if json.Unmarshal(before, &was) != nil || json.Unmarshal(after, &now) != nil || was == nil || now == nil {
		return "" // for example, the subject was created or removed
	}
	names := slices.Collect(maps.Keys(was))
	for name := range now {
		if _, both := was[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out []string
	for _, name := range names {
		from, to := string(was[name]), string(now[name])
		switch {
		case from == to:
		case len(from)+len(to) > 60:
			out = append(out, name)
		default:
			out = append(out, name+": "+cli.Cell(from)+" → "+cli.Cell(to))
		}
	}
	return strings.Join(out, ", ")
}
