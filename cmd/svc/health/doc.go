// Package health has the commands that show how a deployment is: which service the commands
// reach and its state, the log of a request, and the dead letters, which can be replayed here.
// It reads what AWS keeps for that: the queues, metrics and logs.
package health

import (
	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
)

// Add adds the commands of this package.
func Add(c *cli.CLI, root *cobra.Command) {
	root.AddCommand(statusCommand(c), logsCommand(c), dlqCommand(c))
}
