package oauth

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/base/ids"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/page"
	"svc/pkg/oauth/clients"
	"svc/pkg/oauth/company"
	"svc/pkg/oauth/protocol"
	"svc/pkg/oauth/request"
	"svc/pkg/oauth/session"
	"svc/pkg/oauth/tokens"
)

// authorization is the state of an authorization request that is being
// processed.
type authorization struct {
	request.Request
	company.Company // zero until an operator's tenant is known

	client   clients.Client
	audience authz.Audience
	hinted   hint     // of id_token_hint
	asked    []string // the requested scopes that the client registered
	session  *session.Session
	choices  []page.Choice       // tenants to choose from
	granted  []string            // the scopes that a code would get now
	agents   string              // what the tenant lets agents do now, if the request is for the MCP server
	agreed   bool                // an earlier consent permits all granted scopes at these resources
	own      string              // whose application the pages say it is: ofCompany, ofPlatform, or "" for somebody else's
	trusted  bool                // the company or the platform trusts the client (see trust)
	logo     string              // address of the client's logo, if the company or the platform vouches for it
	silently bool                // the trust takes the place of a consent
	terms    *customer.Agreement // what a rider must agree to first; nil for nothing
	epoch    int64               // the grant's epoch when the consent was read
	since    string              // the actor's attribute since at that time

	// ofPage is the name of the page of this service, /docs or /console/, that alone
	// can receive the code; "" if others can.
	ofPage string

	device *tokens.Device // the request of a device that has no browser, nil for a client's own

	agentsThen string // what the tenant let agents do when the person consented to this client
}

// authorizations reads authorization requests.
type authorizations struct {
	clients   *clients.Registry
	keys      *signing.Keys
	companies company.Companies
	signedIn  *session.Store
	tokens    *tokens.Issuer
}

// open parses the request and determines its client, audience and tenant. The
// error is a *protocol.PageError, a *redirectError, an *audienceError, a
// *company.UnknownError, a *clients.DocumentError, a throttle's 429, or an internal
// error. Once the client and its redirect address are known, open returns the
// authorization with an error too.
func (q *authorizations) open(r *http.Request) (*authorization, error) {
	if ofDevice(r) {
		return q.openDevice(r)
	}
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
	if refused == nil {
		refused = a.CheckChallenge(a.client, a.asked)
	}
	if refused == nil && a.IDTokenHint != "" {
		if a.hinted, err = q.readHint(ctx, a.IDTokenHint); errors.Is(err, signing.ErrToken) {
			refused = protocol.Refuse("login_required", "id_token_hint is not an id_token of this issuer.")
		} else if err != nil {
			return a, err
		}
	}
	if refused == nil && a.audience == "" {
		if !slices.Contains(a.client.Audiences, a.hinted.audience()) {
			return a, &audienceError{a}
		}
		a.audience = a.hinted.audience()
	}
	if refused != nil {
		return a, &redirectError{a, refused}
	}
	return a, q.openCompany(r, a)
}

// openCompany determines the company. Without tenant_hint it is the one of the rider or
// driver that id_token_hint names. If no page may be shown, the browser's session names
// it too.
func (q *authorizations) openCompany(r *http.Request, a *authorization) (err error) {
	unknown := &company.UnknownError{Action: "authorize", Query: a.Query, Audience: a.audience}
	switch {
	case a.TenantHint != "":
		if a.Company, err = q.companies.BySlug(r.Context(), a.TenantHint); errors.Is(err, company.ErrUnknown) &&
			a.Query.Has(request.CompanyTyped) {
			return unknown
		}
		return err
	case a.audience == authz.Dashboard:
		return nil
	}
	id := ""
	if a.hinted.audience() == a.audience {
		id = a.hinted.tenant
	} else if a.Silent {
		if id, err = q.companyOfSession(r, a); err != nil {
			return err
		}
	}
	a.Company, err = q.companies.Enabled(r.Context(), id)
	if id == "" || errors.Is(err, company.ErrUnknown) {
		return unknown
	}
	return err
}

// companyOfSession returns the company in which the signed-in person has allowed the
// client, or "": a client must not learn of other sessions.
func (q *authorizations) companyOfSession(r *http.Request, a *authorization) (string, error) {
	n, err := q.signedIn.Find(r.Context(), r)
	if err != nil || n == nil || n.Audience != a.audience {
		return "", err
	}
	t := q.companies.DB.Tenant(n.TenantID)
	consent, err := t.Get(r.Context(), consentKey(t, a.client.ID, n.Actor))
	if err != nil {
		return "", fmt.Errorf("consent: %w", err)
	}
	if !consent.Found() {
		return "", nil
	}
	return n.TenantID, nil
}

// audienceError means that nothing says as what the person signs in.
type audienceError struct{ to *authorization }

func (e *audienceError) Error() string { return "the request selects none of the client's audiences" }

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

// hint is what an id_token_hint names, zero without one.
type hint struct{ actor, tenant string }

// audience returns the audience of the actor, or "".
func (h hint) audience() authz.Audience {
	kind, _, _ := strings.Cut(h.actor, "_")
	kinds := map[string]authz.Audience{ids.Person: authz.Dashboard, ids.Customer: authz.Rider, ids.Driver: authz.Driver}
	return kinds[kind]
}

func (q *authorizations) readHint(ctx context.Context, raw string) (h hint, err error) {
	claims, err := q.keys.VerifyID(ctx, raw)
	if err != nil {
		return h, err
	}
	h.actor, _ = claims["sub"].(string)
	h.tenant, _ = claims["tenant_id"].(string)
	return h, nil
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
// 8.6). An IP address on loopback counts only for a document's client and for svc,
// because anybody may use a client_id that is published.
func (a *authorization) redirectInterceptable() bool {
	return a.client.Public() && !strings.HasPrefix(a.RedirectURI, "https://") &&
		(a.client.Host() != "" || a.client.ID == clients.CommandLine || !clients.LoopbackIP(a.RedirectURI))
}

// cameByForm reports whether one of the server's forms led to this request.
// Browsers then apply the form's policy to the response.
func (a *authorization) cameByForm(r *http.Request, n *session.Session) bool {
	return !a.Silent && (r.Method == http.MethodPost || a.Query.Has(request.CompanyTyped) ||
		(n != nil && (n.Fresh == a.Name() || n.Picks[a.Name()] != "")))
}
