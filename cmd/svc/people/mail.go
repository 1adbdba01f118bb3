package people

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/access/mail"
	"svc/pkg/data/table"
)

// mailCommand returns the group of commands svc mail, about addresses to which the
// service sends no mail.
func mailCommand(c *cli.CLI) *cobra.Command {
	return cli.Group("mail", "Addresses to which nothing is mailed", mailBlocked(c), mailRelease(c))
}

// mailBlocked returns the command svc mail blocked, which lists these addresses.
func mailBlocked(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "blocked [ADDRESS]", Short: "List the addresses to which nothing is mailed, or show one",
		Long: "List the addresses to which nothing is mailed: mail to them bounced for good, or somebody complained of\n" +
			"it. An address is stored as a hash. A bounce ends after 90 days, a complaint when it is released.",
		Example: "  svc mail blocked\n  svc mail blocked ana@example.com",
		RunE: c.On(func(ctx context.Context, p cli.Platform, args []string) error {
			stops, found := mail.NewStops(p.DB, time.Now), []mail.Stop{}
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
			rows := cli.Table{Head: "REASON AT UNTIL ID"}
			for _, one := range found {
				rows.Add(one.Reason, one.At, one.Until, one.ID)
			}
			return c.Show(found, rows)
		})}
}

// mailRelease returns the command svc mail release, which lets the service mail to an
// address again.
func mailRelease(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "release ADDRESS", Short: "Mail to an address again",
		Long: "Mail to an address again. SES has a list of its own: release the address there too, by\n" +
			"aws sesv2 delete-suppressed-destination --email-address ADDRESS.",
		Example: "  svc mail release ana@example.com",
		RunE: c.On(func(ctx context.Context, p cli.Platform, args []string) error {
			if err := mail.NewStops(p.DB, time.Now).Release(ctx, args[0]); err != nil {
				return cli.Missing(err, "blocked address", args[0])
			}
			return c.Done(map[string]bool{"released": true}, "%s gets mail again", args[0])
		})}
}
