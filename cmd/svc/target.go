package main

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"svc/pkg/local/folder"
)

// target is the service that a command line names, before it is opened.
type target struct {
	table    string // "" for a service on this machine
	endpoint string // of a DynamoDB that is not AWS's own
	data     string // data folder, if table is ""
}

// target chooses the service. An explicit --data overrides TABLE_NAME.
// TABLE_NAME overrides the default data folder.
func (c *cli) target() target {
	if name := c.env.Table; name != "" && !c.dataGiven && c.data == folder.Default {
		return target{table: name, endpoint: c.env.Endpoint}
	}
	return target{data: c.data}
}

// aws reports whether the target is a table in AWS itself.
func (t target) aws() bool { return t.table != "" && t.endpoint == "" }

func (t target) String() string {
	switch {
	case t.table == "":
		return "the service on the data folder " + t.data
	case t.endpoint != "":
		return "the table " + t.table + " at " + t.endpoint
	}
	return "the table " + t.table + " in AWS"
}

// readers are the commands that need no confirmation in AWS, by their last word.
// Only one of them writes to a table in AWS: svc token get, which registers a
// client and signs in. svc dev and svc seed never use a table in AWS.
var readers = []string{"list", "show", "get", "logs", "audit", "verify", "dev", "seed", "doctor"}

// shownAlone are the commands that only show if they have one argument. With more
// arguments they change something.
var shownAlone = []string{"svc tenant brand", "svc tenant settings"}

// needsConfirmation reports whether a command needs a confirmation in AWS.
func needsConfirmation(cmd *cobra.Command, args []string) bool {
	if cmd.Annotations[operationID] != "" {
		return cmd.Annotations[readsOnly] == ""
	}
	if slices.Contains(readers, cmd.Name()) || cmd.CommandPath() == "svc status" {
		return false
	}
	return !slices.Contains(shownAlone, cmd.CommandPath()) || len(args) > 1
}

// confirm names the target before a change in AWS, and asks for confirmation.
// It also prints a notice if an explicit --data overrides TABLE_NAME.
func (c *cli) confirm(ctx context.Context, cmd *cobra.Command, args []string) error {
	t := c.target()
	if name := c.env.Table; name != "" && t.table == "" && c.dataGiven && cmd.Name() != "dev" {
		fmt.Fprintf(c.err, "svc: using --data %s; ignoring TABLE_NAME=%s\n", c.data, name)
	}
	if !t.aws() || !needsConfirmation(cmd, args) {
		return nil
	}
	where := t.String()
	if cfg, err := awsConfig(ctx); err == nil {
		where += ", region " + cfg.Region
	}
	if profile := c.env.Profile; profile != "" {
		where += ", profile " + profile
	}
	if c.yes {
		fmt.Fprintf(c.err, "svc: %s changes %s\n", cmd.CommandPath(), printable(where))
		return nil
	}
	if !isTerminal(c.stdin) {
		return usagef("%s changes %s; give --yes to confirm", cmd.CommandPath(), where)
	}
	fmt.Fprintf(c.err, "%s changes %s.\nContinue? Type yes: ", cmd.CommandPath(), printable(where))
	answer, _ := bufio.NewReader(c.stdin).ReadString('\n') // after an error, answer is what was read before it
	if strings.TrimSpace(answer) != "yes" {
		return usagef("not confirmed; nothing was changed")
	}
	return nil
}
