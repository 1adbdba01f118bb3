package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"svc/pkg/access/authz"
	"svc/pkg/data/table"
	"svc/pkg/domain/wallet"
)

func walletCommand(c *cli) *cobra.Command {
	return group("wallet", "Wallets of drivers and riders", c.walletShow())
}

func (c *cli) walletShow() *cobra.Command {
	cmd := &cobra.Command{Use: "show SLUG EMAIL", Short: "Show a driver's or rider's balance and 20 newest postings",
		Args:    cobra.ExactArgs(2),
		Example: "  svc wallet show metro driver1@metro.example\n  svc wallet show metro rider1@metro.example --side rider"}
	side := cmd.Flags().String("side", "driver", "`audience` of the account: driver or rider")
	cmd.RunE = c.in(func(ctx context.Context, _ platform, t table.Tenant, args []string) error {
		if err := oneOf("side", *side, []string{"driver", "rider"}); err != nil {
			return err
		}
		id := ""
		if *side == "driver" {
			one, err := findDriver(ctx, t, args[1])
			if err != nil {
				return fmt.Errorf("%w; --side rider looks for a rider", err)
			}
			id = one.ID
		} else {
			one, err := findRider(ctx, t, args[1])
			if err != nil {
				return fmt.Errorf("%w; --side driver looks for a driver", err)
			}
			id = one.ID
		}
		found, err := wallet.Statement(ctx, t, wallet.SideOf(authz.Audience(*side)), id)
		if err != nil {
			return err
		}
		rows := cols{head: "AT TYPE AMOUNT DESCRIPTION"}
		rows.add("", "BALANCE", found.Balance, id)
		for _, p := range found.Transactions {
			rows.add(p.CreatedAt, p.Type, p.Amount, p.Description)
		}
		return c.show(found, rows)
	})
	return cmd
}
