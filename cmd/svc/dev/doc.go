// Package dev has the commands for a developer's machine: svc dev, which runs the service,
// what fills it with data, and what plays the part of others for it: a receiver of events, and
// people whose changes produce events.
//
// A command belongs here if a company in production does not need it.
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
