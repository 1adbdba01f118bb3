// Package repair has the commands for the data of all companies: it compares derived values with
// the items, corrects them, finishes a restored table, and changes the signing keys.
package repair

import (
	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
)

// Add adds the commands of this package.
func Add(c *cli.CLI, root *cobra.Command) {
	root.AddCommand(verifyCommand(c), rebuildCommand(c), restoreCommand(c), keysCommand(c))
}
