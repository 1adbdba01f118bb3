// Package people has the commands for companies and for who may do what in them: tenants, their
// looks and settings, members, drivers, riders, OAuth clients, tokens, links and the audit log.
package main

import "github.com/spf13/cobra"

// addPeople adds the commands of this package.
func addPeople(c *cli, root *cobra.Command) {
	root.AddCommand(tenantCommand(c), memberCommand(c), driverCommand(c), riderCommand(c),
		personCommand(c), clientCommand(c), tokenCommand(c), auditCommand(c), mailCommand(c))
}
