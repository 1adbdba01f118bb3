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

	"svc/pkg/app/apptest"
)

// get asks the handler for a page.
func (w *world) get(path string) reply {
	w.t.Helper()
	r, err := http.NewRequest(http.MethodGet, path, http.NoBody)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.do(r)
}

// surfer is a person with a browser on the whole service.
type surfer struct {
	t      testing.TB
	base   string
	client *http.Client
}

func newSurfer(t testing.TB, s *apptest.Service) *surfer {
	jar, _ := cookiejar.New(nil)
	return &surfer{t, s.URL, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// sight is what the browser got.
type sight struct {
	status int
	header http.Header
	body   string
	at     *url.URL
	to     string     // where it leads
	answer url.Values // the parameters of the redirect
}

func (b *surfer) do(method, address string, form url.Values, header ...string) sight {
	b.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.base + address
	}
	var body io.Reader = http.NoBody
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, address, body)
	if err != nil {
		b.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if req.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	res, err := b.client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	out := sight{status: res.StatusCode, header: res.Header, body: string(text), at: req.URL, to: leadsTo(res.Header)}
	if u, err := url.Parse(out.to); err == nil {
		out.answer = u.Query()
	}
	return out
}

// leadsTo is where an answer sends a browser, by a redirect or as a page that goes
// on by itself.
func leadsTo(h http.Header) string {
	if to := h.Get("Location"); to != "" {
		return to
	}
	return strings.TrimPrefix(h.Get("Refresh"), "0;url=")
}

func (b *surfer) get(address string, header ...string) sight {
	b.t.Helper()
	return b.do(http.MethodGet, address, nil, header...)
}

// follow follows redirects on the service itself.
func (b *surfer) follow(s sight) sight {
	b.t.Helper()
	for range 6 {
		next, err := s.at.Parse(s.to)
		if s.to == "" || err != nil || next.Host != s.at.Host {
			return s
		}
		s = b.get(next.String())
	}
	b.t.Fatal("redirects without end")
	return s
}

var (
	postedTo  = regexp.MustCompile(`<form method="post" action="([^"]*)"`)
	postedKey = regexp.MustCompile(`name="csrf" value="([^"]*)"`)
)

// form gives address and token of the page's first form.
func (s sight) form(t testing.TB) (address, csrf string) {
	t.Helper()
	to, key := postedTo.FindStringSubmatch(s.body), postedKey.FindStringSubmatch(s.body)
	if to == nil || key == nil {
		t.Fatalf("no form on the page: %d %s", s.status, s.body)
	}
	at, err := s.at.Parse(html.UnescapeString(to[1]))
	if err != nil {
		t.Fatal(err)
	}
	return at.String(), html.UnescapeString(key[1])
}

// post fills in the page's first form.
func (b *surfer) post(s sight, pairs ...string) sight {
	b.t.Helper()
	to, csrf := s.form(b.t)
	return b.do(http.MethodPost, to, formOf(append([]string{"csrf", csrf}, pairs...)...))
}

// enter signs in on the page and goes on.
func (b *surfer) enter(s sight, email string) sight {
	b.t.Helper()
	return b.follow(b.post(s, "email", email, "password", apptest.Password))
}

// through goes through whatever pages come and gives the answer to the client.
func (b *surfer) through(q url.Values, email string) sight {
	b.t.Helper()
	s := b.follow(b.get("/oauth/authorize?" + q.Encode()))
	if s.page() == "sign-in" {
		s = b.enter(s, email)
	}
	if s.page() == "consent" {
		s = b.follow(b.post(s, "decision", "allow"))
	}
	return s
}

// page says what is shown, or what the client is told.
func (s sight) page() string {
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
	return s.to
}
