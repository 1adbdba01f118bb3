package cli

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"svc/pkg/local/folder"
)

// Target is the service that a command line names, before it is opened.
type Target struct {
	Table    string // "" for a service on this machine
	endpoint string // of a DynamoDB that is not AWS's own
	data     string // data folder, if table is ""
}

// Target chooses the service. An explicit --data overrides TABLE_NAME.
// TABLE_NAME overrides the default data folder.
func (c *CLI) Target() Target {
	if name := c.Env.Table; name != "" && !c.DataGiven && c.Data == folder.Default {
		return Target{Table: name, endpoint: c.Env.Endpoint}
	}
	return Target{data: c.Data}
}

// AWS reports whether the target is a table in AWS itself.
func (t Target) AWS() bool { return t.Table != "" && t.endpoint == "" }

func (t Target) String() string {
	switch {
	case t.Table == "":
		return "the service on the data folder " + t.data
	case t.endpoint != "":
		return "the table " + t.Table + " at " + t.endpoint
	}
	return "the table " + t.Table + " in AWS"
}

// readers are the commands that need no confirmation in AWS, by their last word.
// Only one of them writes to a table in AWS: svc token get, which registers a
// client and signs in. svc dev and svc seed never use a table in AWS, and the last four no table.
var readers = []string{"list", "show", "get", "logs", "audit", "verify", "dev", "seed", "doctor", "login", "logout",
	"whoami", "api"}

// shownAlone are the commands that only show if they have one argument. With more
// arguments they change something.
var shownAlone = []string{"svc tenant brand", "svc tenant settings"}

// needsConfirmation reports whether a command needs a confirmation in AWS.
func needsConfirmation(cmd *cobra.Command, args []string) bool {
	if cmd.Annotations[OperationID] != "" {
		return cmd.Annotations[ReadsOnly] == ""
	}
	if slices.Contains(readers, cmd.Name()) || cmd.CommandPath() == "svc status" {
		return false
	}
	return !slices.Contains(shownAlone, cmd.CommandPath()) || len(args) > 1
}

// confirm names the target before a change in AWS, and asks for confirmation.
// It also prints a notice if an explicit --data overrides TABLE_NAME.
func (c *CLI) confirm(ctx context.Context, cmd *cobra.Command, args []string) error {
	t := c.Target()
	if name := c.Env.Table; name != "" && t.Table == "" && c.DataGiven && cmd.Name() != "dev" {
		fmt.Fprintf(c.Err, "svc: using --data %s; ignoring TABLE_NAME=%s\n", c.Data, name)
	}
	if !t.AWS() || !needsConfirmation(cmd, args) {
		return nil
	}
	where := t.String()
	if cfg, err := AWSConfig(ctx); err == nil {
		where += ", region " + cfg.Region
	}
	if profile := c.Env.Profile; profile != "" {
		where += ", profile " + profile
	}
	if c.Yes {
		fmt.Fprintf(c.Err, "svc: %s changes %s\n", cmd.CommandPath(), Printable(where))
		return nil
	}
	if !IsTerminal(c.Stdin) {
		return Usagef("%s changes %s; give --yes to confirm", cmd.CommandPath(), where)
	}
	fmt.Fprintf(c.Err, "%s changes %s.\nContinue? Type yes: ", cmd.CommandPath(), Printable(where))
	answer, _ := bufio.NewReader(c.Stdin).ReadString('\n') // after an error, answer is what was read before it
	if strings.TrimSpace(answer) != "yes" {
		return Usagef("not confirmed; nothing was changed")
	}
	return nil
}
