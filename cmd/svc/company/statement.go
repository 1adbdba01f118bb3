package company

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/cmd/svc/cli"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/page"
	"svc/pkg/domain/statement"
)

// statementCommand returns the command svc statement, which shows a driver's statement of
// a month.
func statementCommand(c *cli.CLI) *cobra.Command {
	cmd := &cobra.Command{Use: "statement SLUG EMAIL MONTH", Short: "Show a driver's statement of a month",
		Long: "Show a driver's statement of a month in the company's time zone: the same as GET\n" +
			"/api/v1/drivers/{id}/statements/{month}, also as a file for a spreadsheet or as a page to print.\n" +
			"OUTSIDE is what the driver got of the fares in cash. AMOUNT is the fare less commission less OUTSIDE: what\n" +
			"the entry adds to the balance.",
		Example: "  svc statement metro driver1@metro.example 2026-01\n" +
			"  svc statement metro driver1@metro.example 2026-01 --format html > january.html"}
	format := cmd.Flags().String("format", "table", "`table|csv|html`")
	lang := cmd.Flags().String("lang", "en", "`language` of the page: "+strings.Join(page.Languages(), ", "))
	cmd.RunE = c.In(func(ctx context.Context, _ cli.Platform, t table.Tenant, args []string) error {
		if err := cli.OneOf("format", *format, []string{"table", "csv", "html"}); err != nil {
			return err
		}
		if err := cli.OneOf("lang", *lang, page.Languages()); err != nil {
			return err
		}
		found, err := cli.FindDriver(ctx, t, args[1])
		if err != nil {
			return err
		}
		s, err := statement.Read(ctx, t, found.ID, args[2], time.Now(), t.Get)
		if err != nil {
			return err
		}
		return showStatement(ctx, c, t, s, *format, *lang)
	})
	return cmd
}

// showStatement prints a statement in the format: table, csv or html. lang is the
// language of the html page.
func showStatement(ctx context.Context, c *cli.CLI, t table.Tenant, s *statement.Statement, format, lang string) error {
	switch format {
	case "csv":
		text, err := s.CSV()
		if err == nil {
			_, err = c.Out.Write(text)
		}
		return err
	case "html":
		d, err := s.Paper().In(ctx, t, t.Get, page.Lang(lang))
		if err == nil {
			_, err = c.Out.Write(d.Body)
		}
		return err
	}
	zone, err := time.LoadLocation(s.TimeZone)
	if err != nil {
		return err
	}
	local := func(text string) string {
		at, failed := timestamp.Parse(text)
		err = cmp.Or(err, failed)
		return at.In(zone).Format(cli.MinuteLayout)
	}
	rows := cli.Table{Head: "AT ENTRY FARE COMMISSION OUTSIDE AMOUNT BALANCE DESCRIPTION+"}
	rows.Add(local(s.From), "OPENING", "", "", "", "", s.OpeningBalance, "")
	for _, e := range s.Entries {
		what := e.Type
		if e.TripCode != nil {
			what = *e.TripCode
		}
		rows.Add(local(e.CreatedAt), what, e.Fare, e.Commission, e.Outside, e.Amount, e.Balance, e.Description)
	}
	rows.Add(local(s.ClosedAt()), "CLOSING", s.Fares, s.Commission, s.Outside, "", s.ClosingBalance, "")
	if err == nil && !c.JSON {
		err = c.Done(s, "%s, %s: amounts in %s, times in %s", cmp.Or(s.DriverName, s.DriverID), s.Month, s.Currency,
			s.TimeZone)
	}
	if err != nil {
		return err
	}
	return c.Show(s, rows)
}
