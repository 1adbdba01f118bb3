package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/pkg/access/authz"
	"svc/pkg/data/table"
	"svc/pkg/domain/branding"
	"svc/pkg/domain/page"
	"svc/pkg/domain/receipt"
	"svc/pkg/domain/statement"
	"svc/pkg/domain/tenant"
)

func statementCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "statement SLUG EMAIL MONTH", Short: "Show a driver's statement of a month",
		Args: cobra.ExactArgs(3),
		Long: "Show a driver's statement of a month in the company's time zone: the same as GET\n" +
			"/api/v1/drivers/{id}/statements/{month}, also as a file for a spreadsheet or as a page to print.",
		Example: "  svc statement metro driver1@metro.example 2026-01\n" +
			"  svc statement metro driver1@metro.example 2026-01 --format html > january.html"}
	format := cmd.Flags().String("format", "table", "`table|csv|html`")
	lang := cmd.Flags().String("lang", "en", "`language` of the page: "+strings.Join(page.Languages(), ", "))
	cmd.RunE = c.in(func(ctx context.Context, _ platform, t table.Tenant, args []string) error {
		if err := oneOf("format", *format, []string{"table", "csv", "html"}); err != nil {
			return err
		}
		if err := oneOf("lang", *lang, page.Languages()); err != nil {
			return err
		}
		found, err := findDriver(ctx, t, args[1])
		if err != nil {
			return err
		}
		record, err := t.Get(ctx, tenant.Key(t))
		if err != nil {
			return err
		}
		s, err := statement.Read(ctx, t, found.ID, args[2], time.Now(), func(context.Context) (*time.Location, error) {
			return tenant.Zone(record)
		})
		if err != nil {
			return err
		}
		if err := nameDriver(ctx, t, s); err != nil {
			return err
		}
		return c.showStatement(ctx, t, record, s, *format, *lang)
	})
	return cmd
}

// nameDriver adds the driver's name, and the currency of a driver without a wallet.
func nameDriver(ctx context.Context, t table.Tenant, s *statement.Statement) error {
	actor, err := t.Get(ctx, authz.ActorKey(t, authz.Driver, s.DriverID))
	if err != nil {
		return err
	}
	flags, err := tenant.Flags(ctx, t)
	s.DriverName, s.Currency = receipt.NameOf(actor), flags.Text("currency")
	return err
}

func (c *cli) showStatement(ctx context.Context, t table.Tenant, record table.Item, s *statement.Statement, format,
	lang string) error {
	switch format {
	case "csv":
		text, err := s.CSV()
		if err == nil {
			_, err = c.out.Write(text)
		}
		return err
	case "html":
		look, err := t.Get(ctx, branding.Key(t))
		if err != nil {
			return err
		}
		d, err := receipt.Printed(s.Paper(), record, look, page.Lang(lang))
		if err == nil {
			_, err = c.out.Write(d.Body)
		}
		return err
	}
	rows := cols{head: "AT TYPE FARE COMMISSION AMOUNT BALANCE DESCRIPTION"}
	rows.add(s.From, "OPENING", "", "", "", s.OpeningBalance, s.DriverName)
	for _, e := range s.Entries {
		rows.add(e.CreatedAt, e.Type, e.Fare, e.Commission, e.Amount, e.Balance, e.Description)
	}
	rows.add(s.To, "CLOSING", s.Fares, s.Commission, "", s.ClosingBalance, s.Currency)
	return c.show(s, rows)
}
