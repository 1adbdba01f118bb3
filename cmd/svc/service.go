package main

import (
	"context"

	"github.com/spf13/cobra"

	"svc/pkg/domain/settings"
)

func serviceCommand(c *cli) *cobra.Command {
	return group("service", "Service types of a tenant", c.serviceList())
}

func (c *cli) serviceList() *cobra.Command {
	return &cobra.Command{Use: "list SLUG", Short: "List service types, including inactive ones",
		Example: "  svc service list metro",
		RunE: c.on(func(ctx context.Context, p platform, args []string) error {
			n, t, err := p.tenant(ctx, args[0])
			if err != nil {
				return err
			}
			found, err := settings.Services(ctx, t)
			if err != nil {
				return err
			}
			rows, table := []settings.ManagedService{},
				cols{head: "NAME BASE PER-KM PER-MIN MINIMUM CURRENCY+ CAPACITY+ COMMISSION+ ACTIVE ID"}
			for _, s := range found {
				s.Currency = n.Currency // prices use the tenant's currency
				rows = append(rows, s.Managed())
				table.add(s.Name, s.BaseFare, s.PerKm, s.PerMinute, s.MinimumFare, s.Currency, s.Capacity, s.CommissionRate,
					s.Active, s.ID)
			}
			return c.show(rows, table)
		})}
}
