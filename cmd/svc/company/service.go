package company

import (
	"context"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/domain/settings"
)

// serviceCommand returns the group of commands svc service, about the service types of a
// tenant.
func serviceCommand(c *cli.CLI) *cobra.Command {
	return cli.Group("service", "Service types of a tenant", serviceList(c))
}

// serviceList returns the command svc service list.
func serviceList(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "list SLUG", Short: "List service types, including inactive ones",
		Example: "  svc service list metro",
		RunE: c.On(func(ctx context.Context, p cli.Platform, args []string) error {
			n, t, err := p.Tenant(ctx, args[0])
			if err != nil {
				return err
			}
			found, err := settings.Services(ctx, t)
			if err != nil {
				return err
			}
			rows, table := []settings.ManagedService{},
				cli.Table{Head: "NAME BASE PER-KM PER-MIN MINIMUM CURRENCY+ CAPACITY+ COMMISSION+ ACTIVE ID"}
			for _, s := range found {
				s.Currency = n.Currency // prices use the tenant's currency
				rows = append(rows, s.Managed())
				table.Add(s.Name, s.BaseFare, s.PerKm, s.PerMinute, s.MinimumFare, s.Currency, s.Capacity, s.CommissionRate,
					s.Active, s.ID)
			}
			return c.Show(rows, table)
		})}
}
