package statement

import (
	"context"
	"net/http"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/page"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
)

// Rows returns the endpoints of statements.
func Rows() []api.Row {
	options := func(summary string, more ...api.Option) []api.Option {
		return append(more, api.Extension(), api.Conflicts(), api.Tag("Statements"), api.Summary(summary),
			api.Text("What happened to the driver's wallet in a month of the company's time zone: rides with fares and "+
				"commission, payouts and other postings, between the opening and the closing balance. With `Accept: text/csv` "+
				"the response is a file for a spreadsheet, with `Accept: text/html` a page to print. If the wallet has more "+
				"than 20,000 postings since the month began, or more than 2,000 in it, the response is a 409: export the "+
				"postings instead."),
			api.Also("text/csv", "The entries, with a line for the opening and one for the closing balance.", file),
			api.Also(page.MediaType, "The statement as a page to print, in the company's look and in the language of "+
				"`Accept-Language`.", printed))
	}
	return []api.Row{
		api.Get("/api/v1/drivers/{id}/statements/{month}", "svc_get_statement",
			authz.Operators("tenant.wallets:read", "VIEW_WALLETS"), ofDriver,
			options("Read a driver's statement of a month", api.Needs(needDriver))...),
		api.Get("/api/v1/me/statements/{month}", "svc_my_statement", authz.Drivers("driver.wallet:read"), own,
			options("Read one's own statement of a month", api.Needs(needCompany))...),
	}
}

// needCompany returns the keys of the tenant, and of the branding for a page to print.
func needCompany(t table.Tenant, p api.Peek) []table.Key {
	if keys := page.Keys(t, p); keys != nil {
		return keys
	}
	return []table.Key{tenant.Key(t)}
}

// needDriver returns the keys of needCompany and of the driver in the path.
func needDriver(t table.Tenant, p api.Peek) []table.Key {
	id := p.Path("id")
	if !ids.Valid(ids.Driver, id) {
		return nil
	}
	return append(needCompany(t, p), authz.ActorKey(t, authz.Driver, id))
}

type monthInput struct {
	Month string `path:"month" maxLength:"7" example:"2026-01" doc:"The month, YYYY-MM."`
}

type driverInput struct {
	ID    string `path:"id" doc:"Identifier of the driver." example:"drv_01JT7M4C6Q8V2N5X9B3D1F7H0K"`
	Month string `path:"month" maxLength:"7" example:"2026-01" doc:"The month, YYYY-MM."`
}

// own returns the statement of the driver who calls.
func own(ctx context.Context, c *api.Caller, in *monthInput) (*Statement, error) {
	return Read(ctx, c.Tenant, c.Actor.Subject, in.Month, c.Now, c.Item)
}

// ofDriver returns the statement of any driver, for an operator.
func ofDriver(ctx context.Context, c *api.Caller, in *driverInput) (*Statement, error) {
	if !ids.Valid(ids.Driver, in.ID) {
		return nil, fault.NotFound()
	}
	return Read(ctx, c.Tenant, in.ID, in.Month, c.Now, c.Item)
}

// printed returns the statement as a page to print.
func printed(ctx context.Context, c *api.Caller, s *Statement) (*api.Document, error) {
	return s.Paper().Print(ctx, c)
}

// Paper returns the statement as a page to print, without branding.
func (s *Statement) Paper() page.Paper {
	return page.Paper{Kind: "statement", Of: s, Currency: s.Currency}
}

// file returns the statement as a CSV file to download.
func file(_ context.Context, _ *api.Caller, s *Statement) (*api.Document, error) {
	body, err := s.CSV()
	return &api.Document{Body: body, Header: http.Header{
		"Content-Type":           {"text/csv; charset=utf-8; header=present"},
		"Content-Disposition":    {`attachment; filename="statement-` + s.DriverID + "-" + s.Month + `.csv"`},
		"Cache-Control":          {"no-store"},
		"X-Content-Type-Options": {"nosniff"}}}, err
}
