// Package dev has the commands for a developer: svc dev, which runs the service, what fills it
// with first data, and what shows events, sends them to a receiver or causes them.
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
