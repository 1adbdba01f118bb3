package receipt

import (
	"context"

	"svc/pkg/data/table"
	"svc/pkg/domain/branding"
	"svc/pkg/domain/page"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
)

// PaperKeys returns the keys of what a page to print needs of its tenant, or none
// if the request asks for another form.
func PaperKeys(t table.Tenant, p api.Peek) []table.Key {
	if p.Form() != page.MediaType {
		return nil
	}
	return []table.Key{tenant.Key(t), branding.Key(t)}
}

// Print returns a page to print, in the company's look and the caller's language.
// The row must need PaperKeys.
func Print(ctx context.Context, c *api.Caller, p page.Paper) (*api.Document, error) {
	record, err := c.Item(ctx, tenant.Key(c.Tenant))
	if err != nil {
		return nil, err
	}
	look, err := c.Item(ctx, branding.Key(c.Tenant))
	if err != nil {
		return nil, err
	}
	return Printed(p, record, look, page.Choose("", c.AcceptLanguage()))
}

// Printed returns a page to print. record and look are the items of the tenant and
// of its branding.
func Printed(p page.Paper, record, look table.Item, lang page.Lang) (*api.Document, error) {
	company, err := tenant.FromItem(record)
	if err != nil {
		return nil, err
	}
	if p.Zone, err = tenant.Zone(record); err != nil {
		return nil, err
	}
	brand, err := page.BrandOf(look, company.Name)
	if err != nil {
		return nil, err
	}
	return p.Document(lang, brand)
}

func printed(ctx context.Context, c *api.Caller, r *Shown) (*api.Document, error) {
	return Print(ctx, c, page.Paper{Kind: "receipt", Of: r, Currency: r.Currency})
}
