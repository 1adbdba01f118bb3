package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"svc/pkg/local/demo"
)

// demoCommand loads the demo into a table that is not run by svc dev.
func demoCommand(c *cli) *cobra.Command {
	return &cobra.Command{Use: "demo", Short: "Load the demo data: two tenants with people, trips and orders",
		Args: cobra.NoArgs, Example: "  svc demo",
		Long: "Load the demo data, once; svc dev does it by itself. Everybody's password is " + demo.Password +
			": never load it where it matters.",
		RunE: c.on(func(ctx context.Context, p platform, _ []string) error {
			loaded, err := demo.Load(ctx, p.db, time.Now())
			if err != nil {
				return err
			}
			word := map[bool]string{true: "loaded", false: "there already"}[loaded]
			return c.show(map[string]bool{"loaded": loaded}, cols{rows: [][]string{{"demo data " + word}}})
		})}
}
