package oauth

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/domain/page"
	"svc/pkg/domain/tenant"
	"svc/pkg/oauth/session"
)

// company is a tenant with its branding. It is zero until the tenant is known.
type company struct {
	tenant tenant.Tenant
	brand  page.Brand
}

// chosen is a query parameter. It marks a request whose tenant_hint the person
// typed on the page that asks for the company.
const chosen = "company"

// companyError means that a request for a rider or driver names no company, or
// that the person typed the name of an unknown or disabled one. The server asks
// for the company and then continues the request.
type companyError struct {
	action   string     // page that continues the request
	query    url.Values // of the request
	audience authz.Audience
}

func (e *companyError) Error() string { return "the request names no known company" }

// askCompany shows the page that asks for the company.
func (p *pages) askCompany(w http.ResponseWriter, r *http.Request, e *companyError) error {
	c := page.Company{Action: e.action, Query: maps.Clone(e.query), Slug: e.query.Get("tenant_hint"),
		Driver: e.audience == authz.Driver}
	status := http.StatusOK
	if c.Problem = c.Slug != ""; c.Problem {
		status = http.StatusBadRequest
	} else {
		c.Slug = p.sessions.Company(r)
	}
	c.Query.Del("tenant_hint")
	c.Query.Set(chosen, "chosen")
	return p.show(w, r, status, page.Frame{}, c)
}

// companies finds tenants, and the address at which their accounts sign in.
type companies struct {
	db      *table.DB
	baseURL string
}

var errCompany = badRequest("tenant", "tenant_hint is not known")

// bySlug returns the company that a request names. The error is errCompany if
// the company does not exist or is disabled.
func (c companies) bySlug(ctx context.Context, slug string) (company, error) {
	n, err := tenant.Store{DB: c.db}.BySlug(ctx, slug)
	if errors.Is(err, fault.NotFound()) || (err == nil && n.Disabled) {
		return company{}, errCompany
	}
	if err != nil {
		return company{}, err
	}
	return c.branded(ctx, n)
}

// byID returns a company, or the zero company for "".
func (c companies) byID(ctx context.Context, id string) (company, error) {
	if id == "" {
		return company{}, nil
	}
	n, err := tenant.Store{DB: c.db}.ByID(ctx, id)
	if err != nil {
		return company{}, err
	}
	return c.branded(ctx, n)
}

// frame returns the frame of a page with a company's branding, or with the
// platform's for "".
func (c companies) frame(ctx context.Context, id string) (page.Frame, error) {
	found, err := c.byID(ctx, id)
	return page.Frame{Brand: found.brand}, err
}

func (c companies) branded(ctx context.Context, n tenant.Tenant) (company, error) {
	t := c.db.Tenant(n.ID)
	it, err := t.Get(ctx, t.Key("BRANDING", "BRANDING"))
	if err != nil {
		return company{}, fmt.Errorf("branding: %w", err)
	}
	brand, err := page.BrandOf(it, n.Name)
	return company{n, brand}, err
}

// signInBase returns the address at which the accounts of the audience sign in,
// or "" if they may sign in at this host. A rider or driver signs in at the
// domain of the tenant, or at the platform's address if the tenant has none. An
// operator's password is valid in all of the operator's tenants, so it must not
// be entered at a tenant's domain. An operator signs in at the platform's
// address. Any other host that no tenant has or had, such as the origin behind a
// content delivery network, counts as the platform's own.
func (c companies) signInBase(r *http.Request, audience authz.Audience, n tenant.Tenant) (base string, err error) {
	if audience != authz.Dashboard && n.CustomDomain != "" {
		if n.CustomDomain == session.HostOf(r) {
			return "", nil
		}
		return "https://" + n.CustomDomain, nil
	}
	own, err := url.Parse(c.baseURL)
	if err != nil || own.Hostname() == session.HostOf(r) {
		return "", err
	}
	claimed, err := tenant.Store{DB: c.db}.IsDomain(r.Context(), session.HostOf(r))
	if err != nil || !claimed {
		return "", err
	}
	return c.baseURL, nil
}

// passwordBase is signInBase for the page that sets a password. Riders and
// drivers may set one at the platform's address too.
func (c companies) passwordBase(r *http.Request, audience authz.Audience, n tenant.Tenant) (base string, err error) {
	if n.CustomDomain != session.HostOf(r) {
		audience = authz.Dashboard
	}
	return c.signInBase(r, audience, n)
}
