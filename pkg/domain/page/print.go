package page

import (
	"context"

	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/branding"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
)

// Keys returns the keys of the tenant's items that a Paper needs: the tenant and its
// branding. It returns none if the request does not ask for HTML.
func Keys(t table.Tenant, p api.Peek) []table.Key {
	if p.Form() != MediaType {
		return nil
	}
	return []table.Key{tenant.Key(t), branding.Key(t)}
}

// Print returns the paper with the company's branding, in the caller's language. The
// endpoint's api.Row must read Keys with api.Needs.
func (p Paper) Print(ctx context.Context, c *api.Caller) (*api.Document, error) {
	return p.In(ctx, c.Tenant, c.Item, Choose("", c.AcceptLanguage()))
}

// In returns the paper with the company's branding, in the given language. item reads the
// items of the tenant and its branding.
func (p Paper) In(ctx context.Context, t table.Tenant, item audit.Reader, lang Lang) (*api.Document, error) {
	record, err := item(ctx, tenant.Key(t))
	if err != nil {
		return nil, err
	}
	look, err := item(ctx, branding.Key(t))
	if err != nil {
		return nil, err
	}
	company, err := tenant.Kind.FromItem(record)
	if err != nil {
		return nil, err
	}
	if p.Zone, err = company.Zone(); err != nil {
		return nil, err
	}
	brand, err := BrandOf(look, company.Name)
	if err != nil {
		return nil, err
	}
	return p.Document(lang, brand)
}
