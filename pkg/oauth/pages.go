package oauth

import (
	"cmp"
	"errors"
	"html/template"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"svc/pkg/access/authz"
	"svc/pkg/access/password"
	"svc/pkg/domain/page"
	"svc/pkg/edge/gateway"
	"svc/pkg/oauth/clients"
	"svc/pkg/oauth/company"
	"svc/pkg/oauth/protocol"
	"svc/pkg/oauth/request"
	"svc/pkg/oauth/session"
)

// pages sends responses to people with a browser: pages and redirects.
type pages struct {
	baseURL  string
	log      *slog.Logger
	sessions *session.Store
}

// redirectError is an error for the client (RFC 6749 section 4.1.2.1).
// refuseClient sends it by a redirect or shows it on a page.
type redirectError struct {
	to    *authorization
	cause *protocol.Error
}

func (e *redirectError) Error() string { return e.cause.Error() }
func (e *redirectError) Unwrap() error { return e.cause }

// answerClient sends the browser to the client's redirect URI (see leave) with
// the parameters, the state, and the issuer (RFC 9207 section 2). With the
// response mode form_post, a page posts them (OAuth 2.0 Form Post Response Mode).
func (p *pages) answerClient(w http.ResponseWriter, r *http.Request, a *authorization, byForm bool,
	params url.Values) error {
	if a.FormPost {
		return p.show(w, r, http.StatusOK, a.frame(), page.FormPost{Back: p.wayBack(a, params)})
	}
	return p.leave(w, r, a.frame(), a.client, p.clientAddress(a, params), byForm)
}

// wayBack returns how a page leads to the client with the parameters: by a form with the
// response mode form_post, else by a link.
func (p *pages) wayBack(a *authorization, params url.Values) page.Back {
	host, _ := clients.RedirectTarget(a.RedirectURI)
	if a.FormPost {
		return page.Back{Host: host, Fields: p.complete(a, params),
			To: template.URL(a.RedirectURI)} //nolint:gosec // registered: https or loopback http
	}
	return page.Back{Host: host,
		To: template.URL(p.clientAddress(a, params))} //nolint:gosec // registered: https, loopback or a private scheme
}

// leave sends the browser to an address of the client. A redirect has the status
// 303, so the browser never repeats a POST with its password (RFC 9700 section
// 4.12). Chromium and Safari apply the policy of a form (form-action) to every
// redirect until the next page, even to the client's own redirects. So after one
// of the server's forms, leave shows a page that navigates by itself. The
// exception is an address that opens a native app: only a redirect opens it, and
// the form's policy allows it (formTo).
func (p *pages) leave(w http.ResponseWriter, r *http.Request, f page.Frame, c clients.Client, to string,
	byForm bool) error {
	if !byForm || opensNativeApp(c, to) {
		return redirect(w, http.StatusSeeOther, to)
	}
	w.Header().Set("Refresh", "0;url="+to)
	host, _ := clients.RedirectTarget(to)
	return p.show(w, r, http.StatusOK, f, page.Message{Kind: "leave",
		Back: page.Back{Host: host, To: template.URL(to)}}) //nolint:gosec // registered: https or loopback http
}

// lead sends the browser to another host by a redirect. After the page that asks
// for the company, and after that of a device's code, lead instead shows a page that navigates
// by itself; see leave.
func (p *pages) lead(w http.ResponseWriter, r *http.Request, f page.Frame, to string) error {
	if !r.URL.Query().Has(request.CompanyTyped) && !ofDevice(r) {
		return redirect(w, http.StatusFound, to)
	}
	w.Header().Set("Refresh", "0;url="+to)
	return p.show(w, r, http.StatusOK, f, page.Message{Kind: "onward", Again: to})
}

// opensNativeApp reports whether the operating system may hand the address to a
// native application (RFC 8252 sections 7.1 and 7.2). The operating system does
// so after a redirect, but not if a page navigates by itself.
func opensNativeApp(c clients.Client, address string) bool {
	if strings.HasPrefix(address, "https://") {
		return c.ApplicationType == "native"
	}
	return !strings.HasPrefix(address, "http://")
}

// formTo returns the external addresses to which the response to one of the
// server's forms may redirect.
func formTo(c clients.Client, address string) []string {
	if address == "" || !opensNativeApp(c, address) {
		return nil
	}
	return []string{address}
}

// complete adds the state and the issuer to the parameters of a response.
func (p *pages) complete(a *authorization, params url.Values) url.Values {
	if a.State != "" {
		params.Set("state", a.State)
	}
	params.Set("iss", p.baseURL)
	return params
}

func (p *pages) clientAddress(a *authorization, params url.Values) string {
	separator := "?"
	if strings.Contains(a.RedirectURI, "?") {
		separator = "&"
	}
	return a.RedirectURI + separator + p.complete(a, params).Encode()
}

// refuseClient sends the client an error. Anybody may register an address, so
// an attacker could use a faulty request as a link through this server to that
// address. A person who is not signed in therefore sees the error on a page,
// with a way back to the client (RFC 9700 section 4.11.2). A request with
// prompt=none never gets a page (OpenID Connect Core section 3.1.2.1).
func (p *pages) refuseClient(w http.ResponseWriter, r *http.Request, e *redirectError) error {
	protocol.Note(r, e.cause.Code)
	if e.to.device != nil { // the device learns of the person's answer only
		return p.show(w, r, http.StatusBadRequest, e.to.frame(), page.Message{Kind: "request", Detail: e.cause.Code + ": " +
			e.cause.Description, Request: w.Header().Get(gateway.RequestHeader)})
	}
	params := url.Values{"error": {e.cause.Code}, "error_description": {e.cause.Description}}
	if e.to.Silent {
		return p.answerClient(w, r, e.to, false, params)
	}
	n, err := p.sessions.Find(r.Context(), r)
	if err != nil {
		return err
	}
	if n != nil {
		return p.answerClient(w, r, e.to, e.to.cameByForm(r, n), params)
	}
	return p.show(w, r, http.StatusBadRequest, page.Frame{}, page.Message{Kind: "request", Detail: e.cause.Code + ": " +
		e.cause.Description, Request: w.Header().Get(gateway.RequestHeader), Back: p.wayBack(e.to, params)})
}

// longestLocation is the longest redirect address, in bytes. It leaves room for
// the other headers if a gateway allows 10,240 bytes of headers in a response,
// as it does in a request.
const longestLocation = 9000

// redirect writes a redirect with the location unchanged. Relative locations
// work under any mount path and any host.
func redirect(w http.ResponseWriter, status int, location string) error {
	if len(location) > longestLocation {
		return protocol.Refuse("invalid_request", "The redirect would be longer than %d bytes. Send a shorter request.",
			longestLocation)
	}
	page.Guard(w.Header())
	w.Header().Set("Location", location)
	w.WriteHeader(status)
	return nil
}

// show writes a page in the language of the request.
func (p *pages) show(w http.ResponseWriter, r *http.Request, status int, f page.Frame, c page.Content) error {
	if f.Lang == "" {
		f.Lang = langOf(r)
	}
	return page.Write(w, status, f, c)
}

// langOf returns the language of the request, or of the form that readForm has
// read.
func langOf(r *http.Request) page.Lang {
	return page.Choose(localesOf(r), r.Header.Get("Accept-Language"))
}

func localesOf(r *http.Request) string {
	return cmp.Or(r.URL.Query().Get("ui_locales"), r.PostForm.Get("ui_locales"))
}

// inSameLanguage returns the address of another page, with the query and the
// languages that the request asks for.
func inSameLanguage(r *http.Request, path string, query url.Values) string {
	all := url.Values{}
	maps.Copy(all, query)
	if locales := localesOf(r); locales != "" {
		all.Set("ui_locales", locales)
	}
	if len(all) == 0 {
		return path
	}
	return path + "?" + all.Encode()
}

// handle returns a handler for a person with a browser. An error becomes a page
// or, if the client may receive it, a redirect. HEAD runs no handler: a GET may
// issue a code, end a session or set a cookie, and HEAD is safe.
func (p *pages) handle(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.Method == http.MethodHead {
			page.Guard(w.Header())
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(http.StatusOK)
			return nil
		}
		if err := h(w, r); err != nil {
			return p.fail(w, r, err)
		}
		return nil
	}
}

func (p *pages) fail(w http.ResponseWriter, r *http.Request, err error) error {
	if e, ok := err.(*redirectError); ok { //nolint:errorlint // never wrapped
		err = p.refuseClient(w, r, e)
	}
	if e, ok := err.(*typeCodeError); ok { //nolint:errorlint // never wrapped
		return redirect(w, http.StatusSeeOther, e.page)
	}
	var bad *clients.DocumentError
	if errors.As(err, &bad) {
		err = protocol.RefuseOnPage("client", bad.Reason)
	}
	switch e := err.(type) { //nolint:errorlint // never wrapped
	case nil:
		return nil
	case *company.UnknownError:
		return p.askCompany(w, r, e)
	case *audienceError:
		return p.askAudience(w, r, e.to)
	case *protocol.PageError:
		protocol.Note(r, e.Kind)
		return p.show(w, r, e.Status, page.Frame{Brand: e.Brand}, page.Message{Kind: e.Kind, Detail: e.Detail,
			Request: w.Header().Get(gateway.RequestHeader), Again: e.Again, SignIn: e.SignIn})
	}
	e := protocol.AsError(err)
	protocol.Note(r, e.Code)
	status := p.logged(w, r, e, err)
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", protocol.Seconds(e.RetryAfter))
	}
	if status == http.StatusServiceUnavailable {
		return p.show(w, r, status, page.Frame{}, tryAgain(r, w.Header().Get(gateway.RequestHeader)))
	}
	return p.show(w, r, status, page.Frame{}, page.Message{Kind: "failed", Detail: e.Description,
		Request: w.Header().Get(gateway.RequestHeader)})
}

// logged returns the status of a response with the error, and logs a 5xx with its cause.
func (p *pages) logged(w http.ResponseWriter, r *http.Request, e *protocol.Error, err error) int {
	status := max(e.Status, http.StatusBadRequest)
	if status >= http.StatusInternalServerError && r.Context().Err() == nil {
		p.log.ErrorContext(r.Context(), "request failed", named(r.Context(), w), "path",
			r.URL.Path, "error", err)
	}
	return status
}

// tryAgain returns the page for a request that failed because the table was
// unavailable. It shows the form again with what the person typed, except the
// password, or a link to the same page. tryAgain does not read the table. The
// form keeps its CSRF token, which is still valid.
func tryAgain(r *http.Request, requestID string) page.Content {
	const busy = "busy"
	form, again := r.PostForm, path.Base(r.URL.Path)
	if r.URL.RawQuery != "" {
		// A colon would make the page's template take the address for one of
		// another scheme.
		again += "?" + strings.ReplaceAll(r.URL.RawQuery, ":", "%3A")
	}
	if r.Method == http.MethodPost && form.Get("csrf") != "" {
		switch path.Base(r.URL.Path) {
		case "signin":
			return page.SignIn{Action: again, CSRF: form.Get("csrf"), Email: form.Get("email"), Problem: busy}
		case "forgot":
			return page.Forgot{Action: again, CSRF: form.Get("csrf"), Email: form.Get("email"), Problem: busy}
		case "password":
			return page.Password{Action: again, CSRF: form.Get("csrf"), Account: form.Get("username"), Problem: busy,
				Least: password.Shortest, Named: form.Has("given"), Given: form.Get("given"), Family: form.Get("family"),
				Agree: form.Get("agree")}
		case signUpForm:
			return page.Forgot{Action: again, CSRF: form.Get("csrf"), Email: form.Get("email"), Problem: busy, SignUp: true}
		}
	}
	return page.Message{Kind: busy, Again: again, Request: requestID}
}

// readForm parses a form-encoded body. tryAgain finds it in r.PostForm.
func readForm(r *http.Request) (url.Values, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if r.PostForm, err = url.ParseQuery(string(body)); err != nil {
		return nil, protocol.RefuseOnPage("request", "the form is malformed")
	}
	return r.PostForm, nil
}

// askAudience shows the page that asks as what the person signs in. The choice that was
// last made in this browser for this client comes first.
func (p *pages) askAudience(w http.ResponseWriter, r *http.Request, a *authorization) error {
	c := page.Audience{Client: a.client.Name}
	last := p.sessions.Audience(r, a.client.ID)
	for _, audience := range authz.Audiences {
		if !slices.Contains(a.client.Audiences, audience) {
			continue
		}
		query := maps.Clone(a.Query)
		query.Set(request.AudienceChosen, string(audience))
		choice := page.AudienceChoice{Audience: string(audience), To: "authorize?" + query.Encode()}
		at := len(c.Choices)
		if audience == last {
			at = 0
		}
		c.Choices = slices.Insert(c.Choices, at, choice)
	}
	return p.show(w, r, http.StatusOK, page.Frame{}, c)
}

// askCompany shows the page that asks for the company.
func (p *pages) askCompany(w http.ResponseWriter, r *http.Request, e *company.UnknownError) error {
	c := page.Company{Action: e.Action, Query: maps.Clone(e.Query), Slug: e.Query.Get("tenant_hint"),
		Driver: e.Audience == authz.Driver}
	status := http.StatusOK
	if c.Problem = c.Slug != ""; c.Problem {
		status = http.StatusBadRequest
	} else {
		c.Slug = p.sessions.Company(r)
	}
	c.Query.Del("tenant_hint")
	c.Query.Set(request.CompanyTyped, "chosen")
	return p.show(w, r, status, page.Frame{}, c)
}
