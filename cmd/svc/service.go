package main

import (
	"context"

	"github.com/spf13/cobra"

	"svc/pkg/data/table"
	"svc/pkg/domain/settings"
)

func serviceCommand(c *cli) *cobra.Command {
	return group("service", "Service types of a tenant", c.serviceAdd(), c.serviceList(), c.serviceSet())
}

func serviceFlags(cmd *cobra.Command) *edits[settings.Service] {
	e := &edits[settings.Service]{cmd: cmd}
	e.field("description", "`text` for riders", func(s *settings.Service) any { return &s.Description })
	e.field("base", "base fare, `amount`", func(s *settings.Service) any { return &s.BaseFare })
	e.field("per-km", "fare per kilometre, `amount`", func(s *settings.Service) any { return &s.PerKm })
	e.field("per-minute", "fare per minute, `amount`", func(s *settings.Service) any { return &s.PerMinute })
	e.field("minimum", "minimum fare, `amount`", func(s *settings.Service) any { return &s.MinimumFare })
	e.field("commission", "`share` of the fare, 0 to 1; applies to trips requested at least a second later",
		func(s *settings.Service) any { return &s.CommissionRate })
	e.field("capacity", "number of passengers", func(s *settings.Service) any { return &s.Capacity })
	e.field("icon", "https `URL`", func(s *settings.Service) any { return &s.IconURL })
	e.field("active", "riders can request the service type", func(s *settings.Service) any { return &s.Active })
	return e
}

func (c *cli) serviceAdd() *cobra.Command {
	cmd := &cobra.Command{Use: "add SLUG NAME", Short: "Add a service type",
		Long: "Add a service type. Its prices make the fares of estimates and of measured rides. The capacity is for apps.",
		Example: "  svc service add metro Van --base 5 --per-km 2.2 --per-minute 0.5 \\\n" +
			"    --minimum 12 --capacity 6 --commission 0.2"}
	e := serviceFlags(cmd)
	e.given("active", "true")
	e.given("capacity", "4")
	cmd.RunE = c.on(func(ctx context.Context, p platform, args []string) error {
		n, t, err := p.tenant(ctx, args[0])
		if err != nil {
			return err
		}
		s := settings.Service{ServiceType: settings.ServiceType{Name: args[1], Currency: n.Currency, Capacity: 4,
			Active: true}}
		if err := e.apply(&s); err != nil {
			return err
		}
		if s, err = settings.AddService(ctx, t, by(), s); err != nil {
			return err
		}
		return c.done(s.Managed(), "Added service type %s (%s).", s.Name, s.ID)
	})
	return cmd
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

func (c *cli) serviceSet() *cobra.Command {
	cmd := &cobra.Command{Use: "set SLUG ID", Short: "Change a service type",
		Example: "  svc service set metro svt_01JMETR0000000000000000001 --commission 0.18\n  svc service set metro " +
			"svt_01JMETR0000000000000000001 --active=false"}
	e := serviceFlags(cmd)
	e.field("name", "`name` for people", func(s *settings.Service) any { return &s.Name })
	cmd.RunE = e.change(c, func(ctx context.Context, t table.Tenant, args []string) error {
		s, err := settings.SetService(ctx, t, by(), args[1], e.apply)
		if err != nil {
			return missing(err, "service type", args[1])
		}
		return c.done(s.Managed(), "Changed service type %s.", s.Name)
	})
	return cmd
}
