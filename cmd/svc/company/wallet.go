package company

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/cmd/svc/operation"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/wallet"
)

// walletCommand returns the group of commands svc wallet.
func walletCommand(c *cli.CLI) *cobra.Command {
	return cli.Group("wallet", "Wallets of drivers and riders", walletShow(c), walletPost(c))
}

// walletShow returns the command svc wallet show, which shows the balance and the newest
// postings.
func walletShow(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "show SLUG EMAIL", Short: "Show a driver's or rider's balance and 20 newest postings",
		Example: "  svc wallet show metro driver1@metro.example\n  svc wallet show metro rider1@metro.example --side rider"}
	side := cmd.Flags().String("side", "driver", "`audience` of the account: driver or rider")
	cmd.RunE = c.In(func(ctx context.Context, p cli.Platform, t table.Tenant, args []string) error {
		id, err := ownerOf(ctx, t, *side, args[1])
		if err != nil {
			return err
		}
		found, err := wallet.Statement(ctx, t, wallet.SideOf(authz.Audience(*side)), id)
		if err != nil {
			return err
		}
		company, err := t.Get(ctx, tenant.Key(t))
		if err != nil {
			return err
		}
		n, err := tenant.Kind.FromItem(company)
		if err != nil {
			return err
		}
		rows := cli.Table{Head: "AT TYPE AMOUNT DESCRIPTION ID+"}
		rows.Add("", "BALANCE", string(found.Balance)+" "+n.Currency, cli.NamesOf(p, t).Anybody(ctx, id), id)
		for _, p := range found.Transactions {
			rows.Add(p.CreatedAt, p.Type, p.Amount, p.Description, p.ID)
		}
		return c.Show(found, rows)
	})
	return cmd
}

// ownerOf returns the id of the owner of a wallet. side is "driver" or "rider", and email
// is the mail address or the id of that person.
func ownerOf(ctx context.Context, t table.Tenant, side, email string) (string, error) {
	if err := cli.OneOf("side", side, []string{"driver", "rider"}); err != nil {
		return "", err
	}
	if side == "driver" {
		one, err := cli.FindDriver(ctx, t, email)
		if err != nil {
			return "", fmt.Errorf("%w; --side rider looks for a rider", err)
		}
		return one.ID, nil
	}
	one, err := cli.FindRider(ctx, t, email)
	if err != nil {
		return "", fmt.Errorf("%w; --side driver looks for a driver", err)
	}
	return one.ID, nil
}

// walletPost returns the command svc wallet post, which adds a posting to a wallet.
func walletPost(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "post SLUG EMAIL TYPE AMOUNT", Short: "Post to a driver's or rider's wallet",
		Long: "Post to a wallet by the rules of the API. TYPE is TOP_UP, REFUND, PAYOUT or ADJUSTMENT. The audit log\n" +
			"names you.",
		Example: "  svc wallet post metro driver1@metro.example TOP_UP 25 \\\n    --description 'Paid in at the office'"}
	side := cmd.Flags().String("side", "driver", "`audience` of the account: driver or rider")
	text := cmd.Flags().String("description", "", "`text` for the owner of the wallet; required")
	about := cmd.Flags().String("trip", "", "`id` or code of the trip that it is about; required for REFUND")
	cmd.RunE = c.In(func(ctx context.Context, p cli.Platform, t table.Tenant, args []string) error {
		kinds := []string{wallet.TopUp, wallet.Refund, wallet.Payout, wallet.Adjustment}
		if err := cli.Known("type", args[2], kinds); err != nil {
			return err
		}
		id, err := ownerOf(ctx, t, *side, args[1])
		if err != nil {
			return err
		}
		post := receipt.Post{Type: args[2], Amount: money.Amount(args[3]), Description: *text, DriverID: &id}
		if *side == "rider" {
			post.DriverID, post.CustomerID = nil, &id
		}
		if *about != "" {
			id, err := operation.Identified(ctx, t, ids.Trip, *about)
			if err != nil {
				return err
			}
			post.TripID = &id
		}
		var made receipt.Made
		answer, err := operation.Ask(ctx, p, t, "svc_post_to_wallet", post)
		if err == nil {
			err = json.Unmarshal(answer, &made)
		}
		if err != nil {
			return err
		}
		return c.Done(answer, "Posted %s %s. The balance is %s now.", string(made.Amount), made.Currency,
			string(made.Balance))
	})
	return cmd
}
