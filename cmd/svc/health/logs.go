package health

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/local/accesslog"
)

// logsCommand returns the command svc logs, which shows the log lines of a request.
func logsCommand(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "logs REQUEST_ID",
		Short: "Show a request by its X-Request-Id",
		Long: "Show the log lines of a request. The id is the response's header X-Request-Id, and error\n" +
			"pages show it too. The value of the header Apigw-Requestid also works.\n" +
			"`svc dev` stores its log in the data folder, also with --memory. If\n" +
			"TABLE_NAME is set, the command reads CloudWatch Logs: the log groups in LOG_GROUP. If\n" +
			"the gateway answered 5xx and no function logged the request, the command also shows\n" +
			"the lines about failures that Lambda and Go's runtime wrote at that time. It marks\n" +
			"them `nearby`, because they may be about another request.",
		Example: "  svc logs req_JKJaXmPLvHcESHA=\n  svc logs req_JKJaXmPLvHcESHA= --since 72h",
	}
	since := cmd.Flags().Duration("since", 24*time.Hour, "how far back to look in CloudWatch Logs, `duration`")
	cmd.RunE = cli.Act(func(ctx context.Context, args []string) error {
		if args[0] == "" {
			return cli.Usagef("the request id is empty")
		}
		if c.Target().Table != "" {
			return showDeployedLogs(ctx, c, args[0], *since)
		}
		_, _ = c.Find(ctx) // sets c.Data if the service runs on another folder; the log is there even if no service runs
		found, err := accesslog.Find(c.Data, args[0])
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return fmt.Errorf("no request with the id %q is in the log of %s", printableID(args[0]), c.Data)
		}
		if c.JSON {
			return c.PrintJSON(found)
		}
		for _, e := range found {
			if _, err := fmt.Fprintln(c.Out, e.Text(false)); err != nil {
				return err
			}
		}
		return nil
	})
	return cmd
}

// showDeployedLogs prints the lines of CloudWatch Logs about the request with the id.
// since is how far back it looks.
func showDeployedLogs(ctx context.Context, c *cli.CLI, id string, since time.Duration) error {
	found, err := deployedLogs(ctx, c.Env.LogGroups, id, since)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("no line of the last %s has the id %q; give a longer --since", since, printableID(id))
	}
	if c.JSON {
		return c.PrintJSON(found)
	}
	for _, line := range found {
		at := line.Time.Format(time.RFC3339)
		if line.Nearby {
			at += " nearby, perhaps of another request:"
		}
		if _, err := fmt.Fprintf(c.Out, "%s %s\n", at, cli.Printable(string(line.Line))); err != nil {
			return err
		}
	}
	return nil
}

// printableID replaces each character that a request id cannot contain by "?".
func printableID(id string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f && r != '"' && r != '\'' && r != '\\' {
			return r
		}
		return '?'
	}, id)
}
