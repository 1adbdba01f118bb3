package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"svc/pkg/data/table"
	"svc/pkg/domain/receipt"
)

func (c *cli) tripFare() *cobra.Command {
	cmd := &cobra.Command{Use: "fare SLUG ID FARE", Short: "Correct the fare of a completed trip",
		Long: "Correct the fare of a completed trip, by the rules of the API: what was posted to the wallets is\n" +
			"reversed and posted anew, and the receipt is issued again. The trip's log and the audit log name you.",
		Example: "  svc trip fare metro trp_01JT7M4C6Q8V2N5X9B3D1F7H0K 18.50 --reason 'A typo'"}
	reason := cmd.Flags().String("reason", "", "`text` for the receipt and the trip's log; required")
	cmd.RunE = c.in(func(ctx context.Context, _ platform, t table.Tenant, args []string) error {
		it, _, err := readTrip(ctx, t, args[1])
		if err != nil {
			return err
		}
		s, err := ledger(ctx, t)
		if err != nil {
			return err
		}
		made, err := s.Correct(ctx, it, receipt.Fare{FinalFare: json.Number(args[2]), Reason: *reason})
		if err != nil {
			return err
		}
		return c.done(made, "The fare of trip %s is %s %s now. The receipt has version %d.", made.ID,
			made.FinalFare.String(), made.Currency, made.Version)
	})
	return cmd
}
