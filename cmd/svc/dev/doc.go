// Package dev has the commands for a developer: svc dev, which runs the service, and the commands
// that fill it with first data, and that show events, send them to a receiver or cause them.
//
// A command belongs here if it is for building and trying, not for running a company.
package dev

import (
	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
)

// Add adds the commands of this package.
func Add(c *cli.CLI, root *cobra.Command) {
	root.AddCommand(devCommand(c), doctorCommand(c), initCommand(c), demoCommand(c), seedCommand(c),
		eventsCommand(c), listenCommand(c), triggerCommand(c))
}
