package oauth

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/page"
	"svc/pkg/oauth/clients"
	"svc/pkg/oauth/company"
	"svc/pkg/oauth/protocol"
	"svc/pkg/oauth/request"
	"svc/pkg/oauth/session"
)

// authorization is the state of an authorization request that is being
// processed.
type authorization struct {
	request.Request
	company.Company // zero until an operator's tenant is known

	client   clients.Client
	audience authz.Audience
	hinted   string   // actor that id_token_hint names, or ""
	asked    []string // the requested scopes that the client registered
	session  *session.Session
	choices  []page.Choice       // tenants to choose from
	granted  []string            // the scopes that a code would get now
	agents   string              // what the tenant lets agents do now, if the request is for the MCP server
	agreed   bool                // an earlier consent permits all granted scopes at these resources
	own      string              // whose application the pages say it is: ofCompany, ofPlatform, or "" for somebody else's
	trusted  bool                // the company or the platform trusts the client (see trust)
	silently bool                // the trust takes the place of a consent
	terms    *customer.Agreement // what a rider must agree to first; nil for nothing
	epoch    int64               // the grant's epoch when the consent was read
	since    string              // the actor's attribute since at that time

	// ofPage is the name of the page of this service, /docs or /console/, that alone
	// can receive the code; "" if others can.
	ofPage string

	agentsThen string // what the tenant let agents do when the person consented to this client
}

// authorizations reads authorization requests.
type authorizations struct {
	clients   *clients.Registry
	keys      *signing.Keys
	companies company.Companies
}

// open parses the request and determines its client, audience and tenant. The
// error is a *protocol.PageError, a *redirectError, a *company.UnknownError, a
// *clients.DocumentError, a throttle's 429, or an internal error.
func (q *authorizations) open(r *http.Request) (*authorization, error) {
	ctx := r.Context()
	asked, err := request.Parse(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	a := &authorization{Request: asked}
	if a.client, err = q.clients.Find(ctx, a.ClientID); errors.Is(err, clients.ErrUnknown) {
		return nil, protocol.RefuseOnPage("client", "client_id is not known")
	} else if err != nil {
		return nil, err
	}
	if !clients.RedirectAllowed(a.client.RedirectURIs, a.RedirectURI) {
		return nil, protocol.RefuseOnPage("redirect", "redirect_uri is not registered")
	}
	a.recognizePage(q.companies.BaseURL)
	refused := a.Read()
	if refused == nil {
		refused = a.ReadResource(q.companies.BaseURL)
	}
	if refused == nil {
		a.audience, a.asked, refused = a.Request.ChooseAudience(a.client)
	}
	if refused == nil && a.audience != authz.Dashboard && a.TenantHint == "" && a.Asks("none") {
		refused = protocol.Refuse("invalid_request", "tenant_hint is missing: riders and drivers belong to a tenant.")
	}
	if refused == nil && a.IDTokenHint != "" {
		if a.hinted, err = q.hintedActor(ctx, a.IDTokenHint); errors.Is(err, signing.ErrToken) {
			refused = protocol.Refuse("login_required", "id_token_hint is not an id_token of this issuer.")
		} else if err != nil {
			return nil, err
		}
	}
	if refused != nil {
		return nil, &redirectError{a, refused}
	}
	if a.TenantHint == "" && a.audience == authz.Dashboard {
		return a, nil
	}
	if a.TenantHint != "" {
		a.Company, err = q.companies.BySlug(ctx, a.TenantHint)
	}
	if a.TenantHint == "" || (err != nil && errors.Is(err, company.ErrUnknown) && a.Query.Has(request.CompanyTyped)) {
		return nil, &company.UnknownError{Action: "authorize", Query: a.Query, Audience: a.audience}
	}
	return a, err
}

// posted reads a form of an authorization's page, and the authorization request
// that the form's address repeats in its query.
func (q *authorizations) posted(r *http.Request) (*authorization, url.Values, error) {
	form, err := readForm(r)
	if err != nil {
		return nil, nil, err
	}
	a, err := q.open(r)
	return a, form, err
}

// reload redirects a reload of a posted page to its authorization request.
func reload(w http.ResponseWriter, r *http.Request) error {
	return redirect(w, http.StatusSeeOther, "authorize?"+r.URL.RawQuery)
}

// hintedActor returns the actor that an id_token_hint names.
func (q *authorizations) hintedActor(ctx context.Context, hint string) (string, error) {
	claims, err := q.keys.VerifyID(ctx, hint)
	if err != nil {
		return "", err
	}
	actor, _ := claims["sub"].(string)
	return actor, nil
}

// otherCompany returns the address at which the person can choose another
// company. It returns "" if the person had no choice: the client named the
// company, or the operator belongs to only one.
func (a *authorization) otherCompany() string {
	switch {
	case len(a.choices) > 1:
		return a.Link("tenant")
	case a.Query.Has(request.CompanyTyped):
		query := maps.Clone(a.Query)
		query.Del("tenant_hint")
		query.Del(request.CompanyTyped)
		return "authorize?" + query.Encode()
	}
	return ""
}

// frame returns the frame of the authorization's pages.
func (a *authorization) frame() page.Frame {
	return page.Frame{Brand: a.Brand, FormTo: formTo(a.client, a.RedirectURI)}
}

// redirectInterceptable reports whether another application on the device could
// receive the client's code. Then every request needs consent (RFC 8252 section
// 8.6). An IP address on loopback counts only for a document's client, because
// anybody may use a client_id that is published at an address.
func (a *authorization) redirectInterceptable() bool {
	return a.client.Public() && !strings.HasPrefix(a.RedirectURI, "https://") &&
		(a.client.Host() != "" || !clients.LoopbackIP(a.RedirectURI))
}

// cameByForm reports whether one of the server's forms led to this request.
// Browsers then apply the form's policy to the response.
func (a *authorization) cameByForm(r *http.Request, n *session.Session) bool {
	return r.Method == http.MethodPost || a.Query.Has(request.CompanyTyped) ||
		(n != nil && (n.Fresh == a.Name() || n.Picks[a.Name()] != ""))
}
