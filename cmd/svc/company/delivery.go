package company

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/base/money"
	"svc/pkg/data/table"
	"svc/pkg/domain/delivery"
)

// businessCommand returns the group of commands svc business.
func businessCommand(c *cli.CLI) *cobra.Command {
	return cli.Group("business", "Businesses that a tenant delivers for", businessList(c))
}

// businessList returns the command svc business list.
func businessList(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "list SLUG", Short: "List businesses by name, including inactive ones",
		Example: "  svc business list metro"}
	limit := cmd.Flags().Int("limit", 100, "businesses at most")
	cmd.RunE = c.In(func(ctx context.Context, _ cli.Platform, t table.Tenant, _ []string) error {
		return cli.List(ctx, c, t, *limit, "NAME CATEGORY ADDRESS+ ACTIVE ID", func(b delivery.Business) []any {
			return []any{b.Name, b.Category, b.Address, b.Active, b.ID}
		}, delivery.Businesses)
	})
	return cmd
}

// orderCommand returns the group of commands svc order.
func orderCommand(c *cli.CLI) *cobra.Command {
	return cli.Group("order", "Orders of a tenant", orderAdd(c))
}

// orderAdd returns the command svc order add, which places an order for a rider.
func orderAdd(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "add SLUG BUSINESS-ID RIDER", Short: "Place an order for a rider",
		Example: "  svc order add metro biz_01JMETR0000000000000000001 rider1@metro.example \\\n" +
			"    --item '2 Reuben 15.50' --fee 3.99 --to '12 Harbour Street'"}
	lines := cmd.Flags().StringArray("item", nil, "`'quantity name unit-price'`; may be repeated")
	fee, to := cmd.Flags().String("fee", "0", "delivery fee, `amount`"), cmd.Flags().String("to", "", "delivery `address`")
	cmd.RunE = c.On(func(ctx context.Context, p cli.Platform, args []string) error {
		n, t, err := p.Tenant(ctx, args[0])
		if err != nil {
			return err
		}
		rider, err := cli.FindRider(ctx, t, args[2])
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
		if o, err = delivery.AddOrder(ctx, t, cli.By(), o); err != nil {
			return err
		}
		return c.Done(o, "Placed order %s of %s %s (%s).", o.OrderCode, o.Total, o.Currency, o.ID)
	})
	return cmd
}

// lineOf parses a value of --item: quantity, name and unit price, as in "2 Reuben on rye
// 15.50".
func lineOf(text string) (delivery.Line, error) {
	words := strings.Fields(text)
	if len(words) < 3 {
		return delivery.Line{}, cli.Usagef("--item %q: expected 'quantity name unit-price'", text)
	}
	quantity, err := strconv.Atoi(words[0])
	if err != nil {
		return delivery.Line{}, cli.Usagef("--item %q: the quantity %q is not a whole number", text, words[0])
	}
	last := len(words) - 1
	return delivery.Line{Quantity: quantity, Name: strings.Join(words[1:last], " "),
		UnitPrice: money.Amount(words[last])}, nil
}
