// Package repair has the commands for the data of all companies: it compares derived values with
// the items, corrects them, finishes a restored table, and changes the signing keys.
package main

import "github.com/spf13/cobra"

// addRepair adds the commands of this package.
func addRepair(c *cli, root *cobra.Command) {
	root.AddCommand(verifyCommand(c), rebuildCommand(c), restoreCommand(c), keysCommand(c))
}
