// Package health has the commands that show how a deployment is: which service the commands
// reach and its state, the log of a request, and the dead letters, which can be replayed here.
// It reads what AWS keeps for that: the queues, metrics and logs.
package main

import "github.com/spf13/cobra"

// addHealth adds the commands of this package.
func addHealth(c *cli, root *cobra.Command) {
	root.AddCommand(statusCommand(c), logsCommand(c), dlqCommand(c))
}
