// Package people has the commands for companies and for who may do what in them: tenants, their
// looks and settings, members, drivers, riders, OAuth clients, tokens, links and the audit log.
package people

import (
	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
)

// Add adds the commands of this package.
func Add(c *cli.CLI, root *cobra.Command) {
	root.AddCommand(tenantCommand(c), memberCommand(c), driverCommand(c), riderCommand(c),
		personCommand(c), clientCommand(c), tokenCommand(c), auditCommand(c), mailCommand(c))
}
