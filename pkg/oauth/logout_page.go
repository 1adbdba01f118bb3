package oauth

import (
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"

	"svc/pkg/access/login"
	"svc/pkg/access/signing"
	"svc/pkg/domain/page"
	"svc/pkg/oauth/clients"
	"svc/pkg/oauth/company"
	"svc/pkg/oauth/protocol"
	"svc/pkg/oauth/request"
	"svc/pkg/oauth/session"
)

// logoutForm is the purpose of the page's form token (Session.FormToken).
const logoutForm = "logout"

// logoutRequest is a request to sign out (OpenID Connect RP-Initiated Logout
// section 2).
type logoutRequest struct {
	params url.Values
	to     string // post_logout_redirect_uri: where the browser goes afterwards, or ""
	actor  string // actor that id_token_hint names, or ""
}

// logoutPage signs people out.
type logoutPage struct {
	*pages
	keys      *signing.Keys
	clients   *clients.Registry
	companies company.Companies
}

// get serves GET /oauth/logout. If id_token_hint names the signed-in person,
// the session ends at once. Otherwise a page asks the person first. If nobody is
// signed in, the server asks nothing.
func (p *logoutPage) get(w http.ResponseWriter, r *http.Request) error {
	if len(r.URL.RawQuery) > request.LongestQuery {
		return protocol.RefuseOnPage("request", "the query is longer than 7,000 bytes")
	}
	q, err := p.open(r, r.URL.Query())
	if err != nil {
		return err
	}
	n, err := p.sessions.Find(r.Context(), r)
	if err != nil {
		return err
	}
	if n == nil || q.actor == n.Actor {
		return p.signOut(w, r, q, n, n != nil)
	}
	frame, err := p.companies.Frame(r.Context(), n.TenantID)
	if err != nil {
		return err
	}
	hidden := map[string]string{}
	for name := range q.params {
		hidden[name] = q.params.Get(name)
	}
	return p.show(w, r, http.StatusOK, frame, page.Logout{Action: "logout",
		CSRF: n.FormToken(logoutForm, q.params.Encode()), Account: n.Email, Hidden: hidden})
}

// post serves POST /oauth/logout: the page's own form, or a client's request,
// which it redirects to the same request by GET.
func (p *logoutPage) post(w http.ResponseWriter, r *http.Request) error {
	form, err := readForm(r)
	if err != nil {
		return err
	}
	q, err := p.open(r, form)
	if err != nil {
		return err
	}
	n, err := p.sessions.Find(r.Context(), r)
	if err != nil {
		return err
	}
	if !n.FormValid(logoutForm, q.params.Encode(), form.Get("csrf")) {
		return redirect(w, http.StatusSeeOther, "logout?"+q.params.Encode())
	}
	return p.signOut(w, r, q, n, false)
}

// open parses the request's parameters, in. If the client has not registered the
// return address, the person sees an error page. The browser is never sent to such an
// address.
func (p *logoutPage) open(r *http.Request, in url.Values) (logoutRequest, error) {
	ctx, q := r.Context(), logoutRequest{params: url.Values{}}
	for _, name := range []string{"id_token_hint", "client_id", "post_logout_redirect_uri", "state", "ui_locales"} {
		if len(in[name]) > 1 {
			return q, protocol.RefuseOnPage("request", name+" is repeated")
		}
		if value := in.Get(name); value != "" {
			q.params.Set(name, value)
		}
	}
	clientID := q.params.Get("client_id")
	if hint := q.params.Get("id_token_hint"); hint != "" {
		claims, err := p.keys.VerifyID(ctx, hint)
		if err != nil {
			return q, protocol.RefuseOnPage("request", "id_token_hint is not an id_token of this issuer")
		}
		audience, _ := claims["aud"].(string)
		if clientID != "" && clientID != audience {
			return q, protocol.RefuseOnPage("request", "id_token_hint was issued to another client than client_id")
		}
		clientID = audience
		q.actor, _ = claims["sub"].(string)
	}
	to := q.params.Get("post_logout_redirect_uri")
	if to == "" {
		return q, nil
	}
	if clientID == "" {
		return q, protocol.RefuseOnPage("request",
			"post_logout_redirect_uri needs id_token_hint or client_id, which say whose address it is")
	}
	c, err := p.clients.Find(ctx, clientID)
	if errors.Is(err, clients.ErrUnknown) {
		return q, protocol.RefuseOnPage("client", "client_id is not known")
	}
	if err != nil {
		return q, err
	}
	if !slices.Contains(c.LogoutURIs, to) {
		return q, protocol.RefuseOnPage("redirect", "post_logout_redirect_uri is not registered")
	}
	q.to = to
	return q, nil
}

// signOut ends the session. The server continues to the client's address by
// itself only if hinted: the id_token_hint named the person of the session.
// Otherwise the page shows the address as a link, because anybody may register
// an address, and anybody has an id_token of an account of their own.
func (p *logoutPage) signOut(w http.ResponseWriter, r *http.Request, q logoutRequest, n *session.Session,
	hinted bool) error {
	if err := p.sessions.End(r.Context(), w, r); err != nil {
		return err
	}
	signedOut := page.Message{Kind: "signedout"}
	if q.to == "" {
		return p.showSignedOut(w, r, n, signedOut)
	}
	target, err := url.Parse(q.to)
	if err != nil {
		return protocol.RefuseOnPage("redirect", "post_logout_redirect_uri is malformed")
	}
	if state := q.params.Get("state"); state != "" {
		query := target.Query()
		query.Set("state", state)
		target.RawQuery = query.Encode()
	}
	if !hinted {
		signedOut.Back.Host, _ = clients.RedirectTarget(q.to)
		signedOut.Back.To = template.URL(target.String()) //nolint:gosec // registered: https, loopback or a private scheme
		return p.showSignedOut(w, r, n, signedOut)
	}
	return redirect(w, http.StatusSeeOther, target.String())
}

// showSignedOut shows the page after the end of the session n, which may be nil,
// with the look of the session's company and a way to sign in again.
func (p *logoutPage) showSignedOut(w http.ResponseWriter, r *http.Request, n *session.Session, c page.Message) error {
	c.SignIn = inSameLanguage(r, "apps", nil)
	if n == nil {
		return p.show(w, r, http.StatusOK, page.Frame{}, c)
	}
	at, err := p.companies.ByID(r.Context(), n.TenantID)
	if err != nil {
		return err
	}
	c.SignIn = inSameLanguage(r, "apps", login.LinkHints(n.Audience, at.Tenant.Slug))
	return p.show(w, r, http.StatusOK, page.Frame{Brand: at.Brand}, c)
}
