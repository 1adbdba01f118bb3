package company

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/oauth/protocol"
	"svc/pkg/oauth/request"
)

// Own is a request to one of the server's own pages, where no client is
// involved. Its audience and tenant say whose account the request is about.
type Own struct {
	Audience authz.Audience
	Company  // zero if the request names none, which only operators may do
	Query    url.Values
}

// IsOwn reports whether the request is to one of the server's own pages and not part of a
// client's authorization.
func IsOwn(r *http.Request) bool { return !r.URL.Query().Has("client_id") }

// AppsLink returns the address of the page with the connected applications of the account
// in the query.
func AppsLink(r *http.Request) string { return "apps?" + OwnQuery(r).Encode() }

// OwnQuery returns those parameters of the request's query that a link to another of the
// server's own pages repeats.
func OwnQuery(r *http.Request) url.Values {
	out, in := url.Values{}, r.URL.Query()
	for _, name := range []string{"audience", "tenant_hint", "ui_locales"} {
		if value := in.Get(name); value != "" {
			out.Set(name, value)
		}
	}
	return out
}

// AppsFor returns the address of the page with the connected applications of an account of
// another audience.
func (o Own) AppsFor(audience authz.Audience) string {
	query := maps.Clone(o.Query)
	query.Set("audience", string(audience))
	return "apps?" + query.Encode()
}

// OpenOwn reads whose account a request is about. A request without an audience
// is about an operator's account.
func (c Companies) OpenOwn(r *http.Request) (Own, error) {
	o := Own{Query: OwnQuery(r)}
	if o.Audience = authz.Audience(o.Query.Get("audience")); o.Audience == "" {
		o.Audience = authz.Dashboard
	}
	slug := o.Query.Get("tenant_hint")
	if r.URL.Query().Has(request.CompanyTyped) {
		slug = strings.TrimSpace(slug)
	}
	switch {
	case slug == "" && r.URL.Query().Has("tenant"): // the API's tools call the parameter tenant
		return Own{}, protocol.RefuseOnPage("request",
			"the parameter tenant is not known: name the company by tenant_hint, as in "+
				path.Base(r.URL.Path)+"?audience=rider&tenant_hint=metro")
	case !slices.Contains(authz.Audiences, o.Audience):
		return Own{}, protocol.RefuseOnPage("request", "audience is not known")
	case slug == "" && o.Audience != authz.Dashboard:
		return Own{}, &UnknownError{path.Base(r.URL.Path), o.Query, o.Audience}
	case slug == "":
		return o, nil
	}
	var err error
	o.Company, err = c.BySlug(r.Context(), slug)
	if errors.Is(err, ErrUnknown) && r.URL.Query().Has(request.CompanyTyped) {
		err = &UnknownError{path.Base(r.URL.Path), o.Query, o.Audience}
	}
	return o, err
}
