package oauth_test

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
)

// browser keeps cookies, follows redirects (see follow), and fills in forms.
type browser struct {
	t      testing.TB
	base   string // address of the server
	client *http.Client
}

// newBrowser returns a browser without cookies.
func (f *fixture) newBrowser() *browser {
	f.t.Helper()
	return newBrowser(f.t, baseURL, f.client.Transport)
}

// newServiceBrowser returns a browser without cookies on the whole service.
func newServiceBrowser(t testing.TB, s *apptest.Service) *browser {
	t.Helper()
	return newBrowser(t, s.URL, nil)
}

func newBrowser(t testing.TB, base string, transport http.RoundTripper) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	testkit.Must(t, err)
	return &browser{t, base, &http.Client{Jar: jar, Transport: transport, CheckRedirect: keepRedirect}}
}

// response is a response to the browser.
type response struct {
	status   int
	header   http.Header
	body     string
	at       *url.URL   // address of the request
	location string     // next address: of a redirect, or of a page that navigates by itself
	answer   url.Values // parameters of location
	cookies  []*http.Cookie
}

// do sends a request; headers are pairs of names and values.
func (b *browser) do(method, address string, form url.Values, header ...string) response {
	b.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.base + address
	}
	var body io.Reader = http.NoBody
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, address, body)
	testkit.Must(b.t, err)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if req.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	res, err := b.client.Do(req)
	testkit.Must(b.t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	testkit.Must(b.t, err)
	out := response{status: res.StatusCode, header: res.Header, body: string(text), at: req.URL,
		location: leadsTo(res.Header), cookies: res.Cookies()}
	if u, err := url.Parse(out.location); err == nil {
		out.answer = u.Query()
	}
	return out
}

func leadsTo(h http.Header) string {
	if to := h.Get("Location"); to != "" {
		return to
	}
	return strings.TrimPrefix(h.Get("Refresh"), "0;url=")
}

func (b *browser) get(address string, header ...string) response {
	b.t.Helper()
	return b.do(http.MethodGet, address, nil, header...)
}

// authorize sends an authorization request.
func (b *browser) authorize(q url.Values) response {
	b.t.Helper()
	return b.follow(b.get("/oauth/authorize?" + q.Encode()))
}

// follow follows redirects as long as they stay on the server and bring no code.
func (b *browser) follow(s response) response {
	b.t.Helper()
	for range 6 {
		next, err := s.at.Parse(s.location)
		if s.location == "" || err != nil || next.Host != s.at.Host || s.answer.Get("code") != "" {
			return s
		}
		s = b.get(next.String())
	}
	b.t.Fatal("redirects without end")
	return s
}

var (
	formAction  = regexp.MustCompile(`<form method="post" action="([^"]*)"`)
	formCSRF    = regexp.MustCompile(`name="csrf" value="([^"]*)"`)
	hiddenInput = regexp.MustCompile(`<input type="hidden" name="([a-z_]+)" value="([^"]*)"`)
)

// form returns the address and the CSRF token of the page's first form.
func (s response) form(t testing.TB) (address, csrf string) {
	t.Helper()
	action, token := formAction.FindStringSubmatch(s.body), formCSRF.FindStringSubmatch(s.body)
	if action == nil || token == nil {
		t.Fatalf("no form on the page: %d %s", s.status, s.text())
	}
	at, err := s.at.Parse(html.UnescapeString(action[1]))
	testkit.Must(t, err)
	return at.String(), html.UnescapeString(token[1])
}

// post fills in the page's first form and sends it.
func (b *browser) post(s response, pairs ...string) response {
	b.t.Helper()
	to, csrf := s.form(b.t)
	return b.do(http.MethodPost, to, formOf(append([]string{"csrf", csrf}, pairs...)...))
}

// signIn fills in the sign-in page and follows the redirects.
func (b *browser) signIn(s response, email string) response {
	b.t.Helper()
	return b.follow(b.post(s, "email", email, "password", password))
}

// consent agrees on the consent page and follows the redirects.
func (b *browser) consent(s response) response {
	b.t.Helper()
	return b.follow(b.post(s, "decision", "allow"))
}

// finish sends an authorization request, and signs in and consents if the pages ask
// for it. It returns the redirect to the client, or the last page.
func (b *browser) finish(q url.Values, email string) response {
	b.t.Helper()
	return b.pass(b.authorize(q), email)
}

// pass signs in and consents if the pages ask for it. It returns the redirect to the
// client, or the last page.
func (b *browser) pass(s response, email string) response {
	b.t.Helper()
	if s.page() == "sign-in" {
		s = b.signIn(s, email)
	}
	if s.page() == "consent" {
		s = b.consent(s)
	}
	return s
}

// obtainCode is finish for a request that must return a code.
func (b *browser) obtainCode(q url.Values, email string) response {
	b.t.Helper()
	s := b.finish(q, email)
	if s.answer.Get("code") == "" {
		b.t.Fatalf("no code: %d %s", s.status, s.text())
	}
	return s
}

// page names a response: by the error code for the client, "code" for a code, the
// kind or the heading of a page, or the location of another redirect.
func (s response) page() string {
	switch {
	case s.answer.Get("error") != "":
		return s.answer.Get("error")
	case s.answer.Get("code") != "":
		return "code"
	case strings.Contains(s.body, `name="password"`):
		return "sign-in"
	case strings.Contains(s.body, `value="allow"`):
		return "consent"
	case strings.Contains(s.body, `name="tenant"`):
		return "picker"
	case strings.Contains(s.body, "<h1>"):
		return s.body[strings.Index(s.body, "<h1>")+4 : strings.Index(s.body, "</h1>")]
	}
	return s.location
}

var tags = regexp.MustCompile(`(?s)<style>.*?</style>|<[^>]*>`)

// text returns the location and the text of the page.
func (s response) text() string {
	return s.location + " " + strings.Join(strings.Fields(tags.ReplaceAllString(s.body, " ")), " ")
}

// cookie returns a cookie that the response sets, nil for none.
func (s response) cookie(name string) *http.Cookie {
	for _, c := range s.cookies {
		if c.Name == name {
			return c
		}
	}
	return nil
}
