// Package company finds the tenant that a sign-in is about, its branding, and the
// address at which its accounts sign in.
package company

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/domain/page"
	"svc/pkg/domain/tenant"
	"svc/pkg/oauth/protocol"
	"svc/pkg/oauth/session"
)

// Company is a tenant with its branding. It is zero until the tenant is known.
type Company struct {
	Tenant tenant.Tenant
	Brand  page.Brand
}

// UnknownError means that a request for a rider or driver names no company, or
// that the person typed the name of an unknown or disabled one. The server asks
// for its short name and then continues the request. It offers no list to choose from,
// because that would show all of the platform's customers.
type UnknownError struct {
	Action   string     // page that continues the request
	Query    url.Values // of the request, to continue with
	Audience authz.Audience
}

// Error implements error.
func (e *UnknownError) Error() string { return "the request names no known company" }

// Companies finds tenants, and the address at which their accounts sign in.
type Companies struct {
	DB      *table.DB
	BaseURL string
}

// ErrUnknown is the error of a tenant_hint that names no company, or a disabled one.
var ErrUnknown = protocol.RefuseOnPage("tenant", "tenant_hint is not known")

// BySlug returns the company that a request names. The error is ErrUnknown if
// the company does not exist or is disabled.
func (c Companies) BySlug(ctx context.Context, slug string) (Company, error) {
	n, err := tenant.Store{DB: c.DB}.BySlug(ctx, slug)
	if errors.Is(err, fault.NotFound()) || (err == nil && n.Disabled) {
		return Company{}, ErrUnknown
	}
	if err != nil {
		return Company{}, err
	}
	return c.branded(ctx, n)
}

// Enabled is ByID for a company that a request names by its id. The error is ErrUnknown
// if the company does not exist or is disabled.
func (c Companies) Enabled(ctx context.Context, id string) (Company, error) {
	found, err := c.ByID(ctx, id)
	if errors.Is(err, fault.NotFound()) || (err == nil && found.Tenant.Disabled) {
		return Company{}, ErrUnknown
	}
	return found, err
}

// ByID returns a company, or the zero company for "".
func (c Companies) ByID(ctx context.Context, id string) (Company, error) {
	if id == "" {
		return Company{}, nil
	}
	n, err := tenant.Store{DB: c.DB}.ByID(ctx, id)
	if err != nil {
		return Company{}, err
	}
	return c.branded(ctx, n)
}

// Frame returns the frame of a page with a company's branding, or with the
// platform's for "".
func (c Companies) Frame(ctx context.Context, id string) (page.Frame, error) {
	found, err := c.ByID(ctx, id)
	return page.Frame{Brand: found.Brand}, err
}

// branded reads the tenant's branding and returns both.
func (c Companies) branded(ctx context.Context, n tenant.Tenant) (Company, error) {
	t := c.DB.Tenant(n.ID)
	it, err := t.Get(ctx, t.Key("BRANDING", "BRANDING"))
	if err != nil {
		return Company{}, fmt.Errorf("branding: %w", err)
	}
	brand, err := page.BrandOf(it, n.Name)
	return Company{n, brand}, err
}

// SignInBase returns the address at which the accounts of the audience sign in,
// or "" if they may sign in at this host. A rider or driver signs in at the
// domain of the tenant, or at the platform's address if the tenant has none. An
// operator's password is valid in all of the operator's tenants, so it must not
// be entered at a tenant's domain. An operator signs in at the platform's
// address. Any other host that no tenant has or had, such as the origin behind a
// content delivery network, counts as the platform's own. A domain that a tenant has
// released shows no password form, because nobody knows who controls it.
func (c Companies) SignInBase(r *http.Request, audience authz.Audience, n tenant.Tenant) (base string, err error) {
	if audience != authz.Dashboard && n.CustomDomain != "" {
		if n.CustomDomain == session.HostOf(r) {
			return "", nil
		}
		return "https://" + n.CustomDomain, nil
	}
	own, err := url.Parse(c.BaseURL)
	if err != nil || own.Hostname() == session.HostOf(r) {
		return "", err
	}
	claimed, err := tenant.Store{DB: c.DB}.IsDomain(r.Context(), session.HostOf(r))
	if err != nil || !claimed {
		return "", err
	}
	return c.BaseURL, nil
}

// PasswordBase is SignInBase for the page that sets a password. Riders and
// drivers may set one at the platform's address too.
func (c Companies) PasswordBase(r *http.Request, audience authz.Audience, n tenant.Tenant) (base string, err error) {
	if n.CustomDomain != session.HostOf(r) {
		audience = authz.Dashboard
	}
	return c.SignInBase(r, audience, n)
}
