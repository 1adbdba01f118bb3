package main

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"svc/pkg/access/authz"
	"svc/pkg/data/table"
	"svc/pkg/domain/delivery"
)

func businessCommand(c *cli) *cobra.Command {
	return group("business", "Businesses that a tenant delivers for", c.businessAdd(), c.businessList(), c.businessSet())
}

func businessFlags(cmd *cobra.Command) *edits[delivery.Business] {
	e := &edits[delivery.Business]{cmd: cmd}
	e.field("category", "`word` such as restaurant", func(b *delivery.Business) any { return &b.Category })
	e.field("address", "street `address`", func(b *delivery.Business) any { return &b.Address })
	e.field("lat", "latitude, `degrees`", func(b *delivery.Business) any { return &b.Lat })
	e.field("lng", "longitude, `degrees`", func(b *delivery.Business) any { return &b.Lng })
	e.field("phone", "phone `number`", func(b *delivery.Business) any { return &b.Phone })
	e.field("logo", "https `URL`", func(b *delivery.Business) any { return &b.LogoURL })
	e.field("fee", "fee of each order that a rider places, `amount`",
		func(b *delivery.Business) any { return &b.DeliveryFee })
	e.field("active", "the API lists the business", func(b *delivery.Business) any { return &b.Active })
	return e
}

func (c *cli) businessAdd() *cobra.Command {
	cmd := &cobra.Command{Use: "add SLUG NAME", Short: "Add a business",
		Example: "  svc business add metro 'Taquería Sol' --category restaurant \\\n" +
			"    --address '14 Mill Street' --lat 40.7221 --lng=-73.9987"}
	e := businessFlags(cmd)
	e.given("active", "true")
	cmd.RunE = c.in(func(ctx context.Context, _ platform, t table.Tenant, args []string) error {
		b := delivery.Business{Name: args[1], Active: true}
		if err := e.apply(&b); err != nil {
			return err
		}
		b, err := delivery.AddBusiness(ctx, t, by(), b)
		if err != nil {
			return err
		}
		return c.done(b, "Added business %s (%s).", b.Name, b.ID)
	})
	return cmd
}

func (c *cli) businessList() *cobra.Command {
	cmd := &cobra.Command{Use: "list SLUG", Short: "List businesses by name, including inactive ones",
		Example: "  svc business list metro"}
	limit := cmd.Flags().Int("limit", 100, "businesses at most")
	cmd.RunE = c.in(func(ctx context.Context, _ platform, t table.Tenant, _ []string) error {
		return list(ctx, c, t, *limit, "NAME CATEGORY ADDRESS+ ACTIVE ID", func(b delivery.Business) []any {
			return []any{b.Name, b.Category, b.Address, b.Active, b.ID}
		}, delivery.Businesses)
	})
	return cmd
}

func (c *cli) businessSet() *cobra.Command {
	cmd := &cobra.Command{Use: "set SLUG ID", Short: "Change a business",
		Example: "  svc business set metro biz_01JMETR0000000000000000001 --active=false"}
	e := businessFlags(cmd)
	e.field("name", "`name` for people", func(b *delivery.Business) any { return &b.Name })
	cmd.RunE = e.change(c, func(ctx context.Context, t table.Tenant, args []string) error {
		b, err := delivery.SetBusiness(ctx, t, by(), args[1], e.apply)
		if err != nil {
			return missing(err, "business", args[1])
		}
		return c.done(b, "Changed business %s.", b.Name)
	})
	return cmd
}

func orderCommand(c *cli) *cobra.Command {
	return group("order", "Orders of a tenant", c.orderAdd(), c.orderList(), c.orderSet())
}

func (c *cli) orderAdd() *cobra.Command {
	cmd := &cobra.Command{Use: "add SLUG BUSINESS-ID RIDER", Short: "Place an order for a rider",
		Example: "  svc order add metro biz_01JMETR0000000000000000001 rider1@metro.example \\\n" +
			"    --item '2 Reuben 15.50' --fee 3.99 --to '12 Harbour Street'"}
	lines := cmd.Flags().StringArray("item", nil, "`'quantity name unit-price'`; may be repeated")
	fee, to := cmd.Flags().String("fee", "0", "delivery fee, `amount`"), cmd.Flags().String("to", "", "delivery `address`")
	cmd.RunE = c.on(func(ctx context.Context, p platform, args []string) error {
		n, t, err := p.tenant(ctx, args[0])
		if err != nil {
			return err
		}
		rider, err := findRider(ctx, t, args[2])
		if err != nil {
			return err
		}
		o := delivery.Order{BusinessID: args[1], CustomerID: rider.ID, Currency: n.Currency, DeliveryFee: json.Number(*fee),
			DeliveryAddress: *to}
		for _, text := range *lines {
			line, err := lineOf(text)
			if err != nil {
				return err
			}
			o.Items = append(o.Items, line)
		}
		if o, err = delivery.AddOrder(ctx, t, by(), o); err != nil {
			return err
		}
		return c.done(o, "Placed order %s of %s %s (%s).", o.OrderCode, o.Total, o.Currency, o.ID)
	})
	return cmd
}

// lineOf parses quantity, name and unit price, such as "2 Reuben on rye 15.50".
func lineOf(text string) (delivery.Line, error) {
	words := strings.Fields(text)
	if len(words) < 3 {
		return delivery.Line{}, usagef("--item %q: expected 'quantity name unit-price'", text)
	}
	quantity, err := strconv.Atoi(words[0])
	if err != nil {
		return delivery.Line{}, usagef("--item %q: the quantity %q is not a whole number", text, words[0])
	}
	last := len(words) - 1
	return delivery.Line{Quantity: quantity, Name: strings.Join(words[1:last], " "),
		UnitPrice: json.Number(words[last])}, nil
}

func (c *cli) orderList() *cobra.Command {
	cmd := &cobra.Command{Use: "list SLUG", Short: "List orders, newest first",
		Example: "  svc order list metro --status PENDING"}
	status, limit := cmd.Flags().String("status", "", "only orders with this `STATUS`"), cmd.Flags().Int("limit", 100,
		"orders at most")
	cmd.RunE = act(func(ctx context.Context, args []string) error {
		if err := oneOf("status", *status, delivery.Statuses); err != nil {
			return err
		}
		p, t, err := c.at(ctx, args[0])
		if err != nil {
			return err
		}
		names := namesOf(p, t)
		return list(ctx, c, t, *limit, "CODE STATUS TOTAL CREATED BUSINESS RIDER ID+", func(o delivery.Order) []any {
			return []any{o.OrderCode, o.Status, o.Total.String() + " " + o.Currency, o.CreatedAt,
				names.business(ctx, o.BusinessID), names.person(ctx, authz.Rider, o.CustomerID), o.ID}
		}, func(ctx context.Context, t table.Tenant, after string, limit int) ([]delivery.Order, string, error) {
			return delivery.Orders(ctx, t, *status, after, limit)
		})
	})
	return cmd
}

// orderByCode returns the id of the order with a code.
func orderByCode(ctx context.Context, t table.Tenant, code string) (string, error) {
	return byCode(code, func(o delivery.Order) (string, string) { return o.OrderCode, o.ID },
		func(after string, limit int) ([]delivery.Order, string, error) {
			return delivery.Orders(ctx, t, "", after, limit)
		})
}

func (c *cli) orderSet() *cobra.Command {
	cmd := &cobra.Command{Use: "set SLUG ID|CODE [STATUS]", Short: "Change the status of an order, its driver or both",
		Example: "  svc order set metro ord_01JMETR0000000000000000008 ACCEPTED\n" +
			"  svc order set metro ord_01JMETR0000000000000000006 PICKED_UP \\\n" +
			"    --driver driver1@metro.example"}
	driver := cmd.Flags().String("driver", "", "the driver who delivers, by mail `address` or id")
	cmd.RunE = act(func(ctx context.Context, args []string) error {
		if len(args) == 2 && *driver == "" {
			return usagef("give a status or --driver")
		}
		status := append(args, "")[2]
		if status != "" && !slices.Contains(delivery.Statuses, status) {
			return usagef("there is no status %s; expected %s", status, strings.Join(delivery.Statuses, ", "))
		}
		_, t, err := c.at(ctx, args[0])
		if err != nil {
			return err
		}
		var driverID *string
		if *driver != "" {
			one, err := findDriver(ctx, t, *driver)
			if err != nil {
				return err
			}
			driverID = &one.ID
		}
		id := args[1]
		if len(id) == codeLength {
			if id, err = orderByCode(ctx, t, id); err != nil {
				return err
			}
		}
		o, err := delivery.SetOrder(ctx, t, by(), id, status, driverID)
		if err != nil {
			return missing(err, "order", args[1])
		}
		return c.done(o, "Order %s is %s.", o.OrderCode, o.Status)
	})
	return cmd
}
