package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"svc/pkg/data/table"
	"svc/pkg/domain/delivery"
)

func menuCommand(c *cli) *cobra.Command {
	return group("menu", "Menus of businesses", c.menuAdd(), c.menuList(), c.menuSet())
}

func menuFlags(cmd *cobra.Command) *edits[delivery.MenuItem] {
	e := &edits[delivery.MenuItem]{cmd: cmd}
	e.field("section", "`part` of the menu", func(m *delivery.MenuItem) any { return &m.Section })
	e.field("description", "what riders get, a `text`", func(m *delivery.MenuItem) any { return &m.Description })
	e.field("available", "riders may order it", func(m *delivery.MenuItem) any {
		m.Available = new(bool)
		return m.Available
	})
	return e
}

func (c *cli) menuAdd() *cobra.Command {
	cmd := &cobra.Command{Use: "add SLUG BUSINESS-ID NAME PRICE", Short: "Add an item to a menu",
		Example: "  svc menu add metro biz_01JMETR0000000000000000001 Reuben 15.50 \\\n" +
			"    --section Sandwiches"}
	e := menuFlags(cmd)
	e.given("available", "true")
	cmd.RunE = c.in(func(ctx context.Context, _ platform, t table.Tenant, args []string) error {
		m := delivery.MenuItem{MenuItemEdit: delivery.MenuItemEdit{Name: args[2], Price: json.Number(args[3])}}
		if err := e.apply(&m); err != nil {
			return err
		}
		m, err := delivery.AddMenuItem(ctx, t, by(), args[1], m)
		if err != nil {
			return missing(err, "business", args[1])
		}
		return c.done(m, "Added %s for %s %s (%s).", m.Name, m.Price, m.Currency, m.ID)
	})
	return cmd
}

func (c *cli) menuList() *cobra.Command {
	return &cobra.Command{Use: "list SLUG BUSINESS-ID", Short: "List a menu, including what is not available",
		Example: "  svc menu list metro biz_01JMETR0000000000000000001",
		RunE: c.in(func(ctx context.Context, _ platform, t table.Tenant, args []string) error {
			found, err := delivery.MenuOf(ctx, t, args[1])
			if err != nil {
				return missing(err, "business", args[1])
			}
			table := cols{head: "NAME PRICE AVAILABLE SECTION ID"}
			for _, m := range found {
				table.add(m.Name, m.Price, *m.Available, m.Section, m.ID)
			}
			return c.show(found, table)
		})}
}

func (c *cli) menuSet() *cobra.Command {
	cmd := &cobra.Command{Use: "set SLUG BUSINESS-ID ID", Short: "Change an item of a menu",
		Example: "  svc menu set metro biz_01JMETR0000000000000000001 \\\n" +
			"    itm_01JMETR0000000000000000001 --available=false"}
	e := menuFlags(cmd)
	e.field("name", "`name` for people", func(m *delivery.MenuItem) any { return &m.Name })
	e.field("price", "price of one, `amount`", func(m *delivery.MenuItem) any { return &m.Price })
	cmd.RunE = e.change(c, func(ctx context.Context, t table.Tenant, args []string) error {
		m, err := delivery.SetMenuItem(ctx, t, by(), args[1], args[2], e.apply)
		if err != nil {
			return missing(err, "menu item", args[2])
		}
		return c.done(m, "Changed %s.", m.Name)
	})
	return cmd
}
