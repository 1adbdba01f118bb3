package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"svc/pkg/access/mail"
	"svc/pkg/data/table"
)

func mailCommand(c *cli) *cobra.Command {
	return group("mail", "Addresses to which nothing is mailed", c.mailBlocked(), c.mailRelease())
}

func (c *cli) mailBlocked() *cobra.Command {
	return &cobra.Command{Use: "blocked [ADDRESS]", Short: "List the addresses to which nothing is mailed, or show one",
		Long: "List the addresses to which nothing is mailed: mail to them bounced for good, or somebody complained of\n" +
			"it. An address is stored as a hash. A bounce ends after 90 days, a complaint when it is released.",
		Example: "  svc mail blocked\n  svc mail blocked ana@example.com",
		RunE: c.on(func(ctx context.Context, p platform, args []string) error {
			stops, found := mail.NewStops(p.db, time.Now), []mail.Stop{}
			if len(args) == 0 {
				listed, err := stops.List(ctx, table.Examined)
				if err != nil {
					return err
				}
				found = append(found, listed...)
			} else if one, err := stops.Find(ctx, args[0]); err != nil {
				return err
			} else if one != nil {
				found = append(found, *one)
			}
			rows := cols{head: "REASON AT UNTIL ID"}
			for _, one := range found {
				rows.add(one.Reason, one.At, one.Until, one.ID)
			}
			return c.show(found, rows)
		})}
}

func (c *cli) mailRelease() *cobra.Command {
	return &cobra.Command{Use: "release ADDRESS", Short: "Mail to an address again",
		Long: "Mail to an address again. SES has a list of its own: release the address there too, by\n" +
			"aws sesv2 delete-suppressed-destination --email-address ADDRESS.",
		Example: "  svc mail release ana@example.com",
		RunE: c.on(func(ctx context.Context, p platform, args []string) error {
			if err := mail.NewStops(p.db, time.Now).Release(ctx, args[0]); err != nil {
				return missing(err, "blocked address", args[0])
			}
			return c.done(map[string]bool{"released": true}, "%s gets mail again", args[0])
		})}
}
