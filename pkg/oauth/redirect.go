package oauth

import (
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"svc/pkg/oauth/page"
)

// loopback is a redirect URI of a native application that listens on the
// device (RFC 8252 section 7.3): scheme and address, port, the rest.
var loopback = regexp.MustCompile(`^(http://(?:127\.0\.0\.1|\[::1\]))(?::([0-9]{1,5}))?((?:[/?].*)?)$`)

// redirectAllowed says whether the URI is one of the registered: the same
// text (RFC 9700 section 4.1.3), but for the port of a loopback address.
func redirectAllowed(registered []string, uri string) bool {
	for _, one := range registered {
		if one == uri {
			return true
		}
		had, got := loopback.FindStringSubmatch(one), loopback.FindStringSubmatch(uri)
		if had == nil || got == nil || had[1] != got[1] || had[3] != got[3] {
			continue
		}
		if port, err := strconv.Atoi(got[2]); got[2] == "" || (err == nil && port >= 1 && port <= 65535) {
			return true
		}
	}
	return false
}

// hostAt gives what a person is told of a redirect URI: its host or private
// scheme, and whether it leads to an application on the device.
func hostAt(uri string) (host string, local bool) {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return uri, false
	case u.Host == "":
		return u.Scheme + ":", true
	}
	return u.Host, loopback.MatchString(uri)
}

// redirectError is an error that the client is told (RFC 6749 section 4.1.2.1).
type redirectError struct {
	to    *authorization
	cause *Error
}

func (e *redirectError) Error() string { return e.cause.Error() }
func (e *redirectError) Unwrap() error { return e.cause }

// answerClient sends the browser to the client's redirect URI with the
// parameters, the state, and the issuer (RFC 9207 section 2).
func (s *Server) answerClient(w http.ResponseWriter, r *http.Request, a *authorization, byForm bool, params url.Values) error {
	return s.leave(w, r, a.frame(), a.client, s.clientAddress(r, a, params), byForm)
}

// leave sends the browser to an address of the client. The status is 303, which
// never repeats a POST with its password (RFC 9700 section 4.12). After one of
// the server's forms it is a page that goes on by itself: Chromium and Safari
// hold the form's policy, which names nobody else, against every redirect up to
// the next page, also against those of the client.
func (s *Server) leave(w http.ResponseWriter, r *http.Request, f page.Frame, c Client, to string, byForm bool) error {
	if !byForm || taken(c, to) {
		return redirect(w, http.StatusSeeOther, to)
	}
	w.Header().Set("Refresh", "0;url="+to)
	host, _ := hostAt(to)
	return s.show(w, r, http.StatusOK, f, page.Message{Kind: "leave", Host: host, Back: template.URL(to)}) //nolint:gosec // registered: https or loopback
}

// taken says whether the device's system takes the address for a native
// application (RFC 8252 sections 7.1 and 7.2): it does so after a redirect, not
// when a page goes on by itself, and no redirect of a client's follows.
func taken(c Client, address string) bool {
	return !strings.HasPrefix(address, "http") || (c.ApplicationType == "native" && strings.HasPrefix(address, "https://"))
}

// formTo gives the addresses outside of the server to which the answer to one
// of its forms may redirect.
func formTo(c Client, address string) []string {
	if address == "" || !taken(c, address) {
		return nil
	}
	return []string{address}
}

func (s *Server) clientAddress(r *http.Request, a *authorization, params url.Values) string {
	if a.state != "" {
		params.Set("state", a.state)
	}
	params.Set("iss", s.base(r.Context()))
	separator := "?"
	if strings.Contains(a.redirectURI, "?") {
		separator = "&"
	}
	return a.redirectURI + separator + params.Encode()
}

// refuseClient tells the client an error. Anybody may register an address, and
// a faulty request would lead whoever follows a link to it there: so somebody
// who is not signed in is shown the fault, and the way to the client as a link
// (RFC 9700 section 4.11.2). A request that asks for no page gets none.
func (s *Server) refuseClient(w http.ResponseWriter, r *http.Request, e *redirectError) error {
	note(r, e.cause.Code)
	params := url.Values{"error": {e.cause.Code}, "error_description": {e.cause.Description}}
	if e.to.query.Get("prompt") == "none" {
		return s.answerClient(w, r, e.to, false, params)
	}
	n, err := s.session(r.Context(), r)
	if err != nil {
		return err
	}
	if n != nil {
		return s.answerClient(w, r, e.to, e.to.cameByForm(r, n), params)
	}
	host, _ := hostAt(e.to.redirectURI)
	return s.show(w, r, http.StatusBadRequest, page.Frame{}, page.Message{Kind: "request", Detail: e.cause.Code + ": " + e.cause.Description,
		Request: w.Header().Get(requestHeader), Host: host, Back: template.URL(s.clientAddress(r, e.to, params))}) //nolint:gosec // registered: https, loopback or a private scheme
}

// longestLocation is the longest address that is redirected to, in bytes: a
// gateway has room for 10,240 bytes of headers in an answer.
const longestLocation = 9000

// redirect answers with the location as it is, relative ones included: they
// hold wherever the service is mounted and by whatever host it was reached.
func redirect(w http.ResponseWriter, status int, location string) error {
	if len(location) > longestLocation {
		return refuse("invalid_request", "The request is too long.")
	}
	page.Guard(w.Header())
	w.Header().Set("Location", location)
	w.WriteHeader(status)
	return nil
}

// show sends a page in the language of the request.
func (s *Server) show(w http.ResponseWriter, r *http.Request, status int, f page.Frame, c page.Content) error {
	if f.Lang == "" {
		f.Lang = s.lang(r)
	}
	return page.Write(w, status, f, c)
}

// lang is the language of the request.
func (s *Server) lang(r *http.Request) page.Lang {
	return page.Choose(r.URL.Query().Get("ui_locales"), r.Header.Get("Accept-Language"))
}

// browser runs a handler whose caller is a person with a browser: an error of
// it is told by a page or, where the client may know, by a redirect.
func (s *Server) browser(w http.ResponseWriter, r *http.Request, handle func(http.ResponseWriter, *http.Request) error) error {
	err := handle(w, r)
	if e, ok := err.(*redirectError); ok { //nolint:errorlint // never wrapped
		err = s.refuseClient(w, r, e)
	}
	switch e := err.(type) { //nolint:errorlint // never wrapped
	case nil:
		return nil
	case *pageError:
		note(r, e.kind)
		return s.show(w, r, e.status, page.Frame{}, page.Message{Kind: e.kind, Detail: e.detail, Request: w.Header().Get(requestHeader)})
	}
	e := errorOf(err)
	note(r, e.Code)
	status := max(e.Status, http.StatusBadRequest)
	if status >= http.StatusInternalServerError && r.Context().Err() == nil {
		s.log.ErrorContext(r.Context(), "request failed", "request_id", w.Header().Get(requestHeader), "path", r.URL.Path, "error", err)
	}
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", seconds(e.RetryAfter))
	}
	return s.show(w, r, status, page.Frame{}, page.Message{Kind: "failed", Detail: e.Description, Request: w.Header().Get(requestHeader)})
}

// seconds writes a duration in whole seconds, rounded up.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
