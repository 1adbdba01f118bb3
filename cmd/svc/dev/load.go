package dev

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/local/demo"
)

// demoCommand returns the command that loads the demo data into a service that
// does not have it: a service on a table, or one that svc dev --no-demo started.
func demoCommand(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "demo", Short: "Load the demo data: two tenants with people, trips and orders",
		Example: "  svc demo",
		Long: "Load the demo data, if it is missing. svc dev loads it by itself. Everybody's password is " +
			demo.Password + ", which is public. Never load the demo data into a service for real people.",
		RunE: c.On(func(ctx context.Context, p cli.Platform, _ []string) error {
			loaded, err := demo.Load(ctx, p.DB, time.Now())
			if err != nil {
				return err
			}
			text := "loaded the demo data"
			if !loaded {
				text = "nothing to load: the demo data exists, or another tenant has the slug of a demo tenant"
			}
			return c.Show(map[string]bool{"loaded": loaded}, cli.Table{Rows: [][]string{{text}}})
		})}
}
