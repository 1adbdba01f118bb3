package oauth

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"svc/pkg/access/authz"
)

// own is a request to one of the server's own pages, where no client is
// involved. Its audience and tenant say whose account the request is about.
type own struct {
	audience authz.Audience
	company  // zero if the request names none, which only operators may do
	query    url.Values
}

// isOwn reports whether the sign-in involves no client.
func isOwn(r *http.Request) bool { return !r.URL.Query().Has("client_id") }

// ownLink returns the address of the connected applications of the account in
// the query.
func ownLink(r *http.Request) string { return "apps?" + ownQuery(r).Encode() }

func ownQuery(r *http.Request) url.Values {
	out, in := url.Values{}, r.URL.Query()
	for _, name := range []string{"audience", "tenant_hint", "ui_locales"} {
		if value := in.Get(name); value != "" {
			out.Set(name, value)
		}
	}
	return out
}

// linkFor returns the address of the connected applications of another audience.
func (o own) linkFor(audience authz.Audience) string {
	query := maps.Clone(o.query)
	query.Set("audience", string(audience))
	return "apps?" + query.Encode()
}

// openOwn reads whose account a request is about. A request without an audience
// is about an operator's account.
func (c companies) openOwn(r *http.Request) (own, error) {
	o := own{query: ownQuery(r)}
	if o.audience = authz.Audience(o.query.Get("audience")); o.audience == "" {
		o.audience = authz.Dashboard
	}
	slug := o.query.Get("tenant_hint")
	if r.URL.Query().Has(chosen) {
		slug = strings.TrimSpace(slug)
	}
	switch {
	case slug == "" && r.URL.Query().Has("tenant"): // where the API's tools have it
		return own{}, badRequest("request", "the parameter tenant is not known: name the company by tenant_hint, as in "+
			path.Base(r.URL.Path)+"?audience=rider&tenant_hint=metro")
	case !slices.Contains(authz.Audiences, o.audience):
		return own{}, badRequest("request", "audience is not known")
	case slug == "" && o.audience != authz.Dashboard:
		return own{}, &companyError{path.Base(r.URL.Path), o.query, o.audience}
	case slug == "":
		return o, nil
	}
	var err error
	o.company, err = c.bySlug(r.Context(), slug)
	if errors.Is(err, errCompany) && r.URL.Query().Has(chosen) {
		err = &companyError{path.Base(r.URL.Path), o.query, o.audience}
	}
	return o, err
}
