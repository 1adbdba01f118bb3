package company

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/data/table"
	accounts "svc/pkg/domain/account"
	"svc/pkg/domain/payment"
)

// paymentCommand returns the group of commands svc payment, about riders' payment
// methods.
func paymentCommand(c *cli.CLI) *cobra.Command {
	return cli.Group("payment", "Riders' payment methods", paymentAdd(c), paymentList(c), paymentSet(c))
}

// paymentFlags adds the flags of a payment method to a command. The returned edits apply
// those flags to a method.
func paymentFlags(cmd *cobra.Command) *cli.Edits[payment.Method] {
	e := &cli.Edits[payment.Method]{Cmd: cmd}
	e.Field("brand", "`brand` of the card", func(m *payment.Method) any { return &m.Brand })
	e.Field("last4", "last four `digits`; no others are stored", func(m *payment.Method) any { return &m.Last4 })
	expires := cmd.Flags().String("exp", "", "month and year of expiry, `MM/YYYY`")
	e.Step("exp", func(m *payment.Method) (err error) {
		month, year, _ := strings.Cut(*expires, "/")
		if m.ExpMonth, err = strconv.Atoi(month); err == nil {
			m.ExpYear, err = strconv.Atoi(year)
		}
		if err != nil {
			return cli.Usagef("--exp %s: expected MM/YYYY", *expires)
		}
		return nil
	})
	e.Field("default", "make this method the rider's default", func(m *payment.Method) any { return &m.IsDefault })
	return e
}

// paymentAdd returns the command svc payment add.
func paymentAdd(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "add SLUG RIDER", Short: "Add a payment method of a rider",
		Example: "  svc payment add metro rider1@metro.example \\\n    --brand visa --last4 4242 --exp 04/2031 --default"}
	e := paymentFlags(cmd)
	cmd.RunE = c.In(func(ctx context.Context, _ cli.Platform, t table.Tenant, args []string) error {
		rider, err := cli.FindRider(ctx, t, args[1])
		if err == nil && rider.ErasedAt != nil {
			err = accounts.ErrErased
		}
		if err != nil {
			return err
		}
		m := payment.Method{Type: "CARD"}
		if err := e.Apply(&m); err != nil {
			return err
		}
		if m, err = payment.Add(ctx, t, cli.By(), rider.ID, m); err != nil {
			return err
		}
		return c.Done(m, "Added %s ending in %s (%s).", m.Brand, m.Last4, m.ID)
	})
	return cmd
}

// paymentList returns the command svc payment list.
func paymentList(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "list SLUG RIDER", Short: "List a rider's payment methods",
		Example: "  svc payment list metro rider1@metro.example",
		RunE: c.In(func(ctx context.Context, _ cli.Platform, t table.Tenant, args []string) error {
			rider, err := cli.FindRider(ctx, t, args[1])
			if err != nil {
				return err
			}
			found, err := payment.List(ctx, t, rider.ID)
			if err != nil {
				return err
			}
			table := cli.Table{Head: "BRAND LAST4 EXPIRES DEFAULT ID"}
			for _, m := range found {
				table.Add(m.Brand, m.Last4, fmt.Sprintf("%02d/%d", m.ExpMonth, m.ExpYear), m.IsDefault, m.ID)
			}
			return c.Show(found, table)
		})}
}

// paymentSet returns the command svc payment set, which changes a payment method.
func paymentSet(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "set SLUG RIDER ID", Short: "Change a payment method",
		Example: "  svc payment set metro rider1@metro.example \\\n    pay_01JMETR0000000000000000002 --default"}
	e := paymentFlags(cmd)
	cmd.RunE = e.Change(c, func(ctx context.Context, t table.Tenant, args []string) error {
		rider, err := cli.FindRider(ctx, t, args[1])
		if err != nil {
			return err
		}
		m, err := payment.Set(ctx, t, cli.By(), rider.ID, args[2], e.Apply)
		if err != nil {
			return cli.Missing(err, "payment method", args[2])
		}
		return c.Done(m, "Changed %s ending in %s.", m.Brand, m.Last4)
	})
	return cmd
}
