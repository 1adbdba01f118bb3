package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"svc/pkg/base/money"
	"svc/pkg/data/table"
	"svc/pkg/domain/delivery"
)

func businessCommand(c *cli) *cobra.Command {
	return group("business", "Businesses that a tenant delivers for", c.businessList())
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

func orderCommand(c *cli) *cobra.Command {
	return group("order", "Orders of a tenant", c.orderAdd())
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
		o := delivery.Order{BusinessID: args[1], CustomerID: rider.ID, Currency: n.Currency, DeliveryFee: money.Amount(*fee),
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
		UnitPrice: money.Amount(words[last])}, nil
}

// orderByCode returns the id of the order with a code.
func orderByCode(ctx context.Context, t table.Tenant, code string) (string, error) {
	return byCode(code, func(o delivery.Order) (string, string) { return o.OrderCode, o.ID },
		func(after string, limit int) ([]delivery.Order, string, error) {
			return delivery.Orders(ctx, t, "", after, limit)
		})
}
