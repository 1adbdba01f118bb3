package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc/pkg/data/table"
	"svc/pkg/domain/page"
	"svc/pkg/domain/statement"
)

func statementCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "statement SLUG EMAIL MONTH", Short: "Show a driver's statement of a month",
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
		s, err := statement.Read(ctx, t, found.ID, args[2], time.Now(), t.Get)
		if err != nil {
			return err
		}
		return c.showStatement(ctx, t, s, *format, *lang)
	})
	return cmd
}

func (c *cli) showStatement(ctx context.Context, t table.Tenant, s *statement.Statement, format, lang string) error {
	switch format {
	case "csv":
		text, err := s.CSV()
		if err == nil {
			_, err = c.out.Write(text)
		}
		return err
	case "html":
		d, err := s.Paper().In(ctx, t, t.Get, page.Lang(lang))
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
