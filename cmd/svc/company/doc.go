// Package company has the commands for what a company owns and does, where a command generated
// from an endpoint (package operation) is not enough: trips, orders, money, posts, webhooks, files
// in and out, and requests about personal data.
package company

import (
	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
)

// Add adds the commands of this package.
func Add(c *cli.CLI, root *cobra.Command) {
	root.AddCommand(tripCommand(c), businessCommand(c), orderCommand(c), serviceCommand(c),
		walletCommand(c), statementCommand(c), paymentCommand(c), feedbackCommand(c), webhookCommand(c),
		exportCommand(c), importCommand(c), privacyCommand(c))
}
