package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/oauth/flow"
	"svc/pkg/oauth/link"
)

// audited is a page that Lighthouse audits.
type audited struct {
	Name    string            `json:"name"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	holds   string            // text that proves that the intended page was audited
	session string            // the session cookie, "" for none
	faulty  bool              // a page of the client, which has faults
}

// verdict is Lighthouse's result for one page.
type verdict struct {
	Name    string
	Score   int // 0 to 100
	Trouble string
	Failed  []failed
}

// failed is one audit that lowered the score.
type failed struct {
	ID    string
	Title string
	Nodes []string // the HTML elements that it found
}

// Lighthouse scores every page 100 for accessibility, and a page with faults
// lower.
func TestLighthouse(t *testing.T) {
	testkit.Long(t)
	s := newStand(t)
	client := s.register(t, "dashboard")
	link, err := link.New(t.Context(), s.db, s.server.URL, authz.Rider, s.metro.ID, "rita@home.example", time.Now())
	testkit.Must(t, err)
	session := s.session(t, client)
	pages := []audited{
		{Name: "sign-in", URL: s.authorize(client), holds: `id="password"`},
		{Name: "tenant picker", URL: s.authorize(client, "tenant_hint", ""), session: session, holds: `value="harbor"`},
		{Name: "consent", URL: s.authorize(client, "prompt", "consent"), session: session, holds: `value="allow"`},
		{Name: "error", URL: s.authorize(client, "redirect_uri", "https://elsewhere.example/cb"), holds: "<h1>"},
		{Name: "connected apps", URL: s.server.URL + "/oauth/apps", session: session, holds: `class="app"`},
		{Name: "sign-out", URL: s.server.URL + "/oauth/logout", session: session, holds: `name="csrf"`},
		{Name: "forgotten password", URL: s.server.URL + "/oauth/forgot?audience=rider&tenant_hint=metro",
			holds: `id="email"`},
		{Name: "password", URL: link, holds: `id="new"`},
		{Name: "faulty", URL: s.client.URL + "/?error=none", faulty: true},
	}
	for i, v := range lighthouse(t, pages) {
		p := pages[i]
		switch {
		case v.Name != p.Name:
			t.Fatalf("the audit of %q came where %q was due", v.Name, p.Name)
		case v.Trouble != "":
			t.Errorf("%s: Lighthouse did not come to an end: %s", p.Name, v.Trouble)
		case p.faulty:
			if v.Score == 100 || !slices.ContainsFunc(v.Failed, func(f failed) bool { return f.ID == "html-has-lang" }) {
				t.Errorf("Lighthouse gives %d to a page without language and finds %v", v.Score, v.Failed)
			}
		case v.Score < 100 || len(v.Failed) > 0:
			t.Errorf("%s: %d of 100: %+v", p.Name, v.Score, v.Failed)
		}
		if !p.faulty && !strings.Contains(s.shown(p.Name), p.holds) {
			t.Errorf("%s: another page was audited: %s", p.Name, heading(s.shown(p.Name)))
		}
	}
}

// lighthouse audits the pages and returns one verdict per page.
func lighthouse(t *testing.T, pages []audited) []verdict {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Fatal("node is missing: install Node.js 20 or later (Debian: apt-get install nodejs npm)")
	}
	if _, err := os.Stat("node_modules/lighthouse"); err != nil {
		t.Fatal("lighthouse is missing: make npm-tests fetches it")
	}
	for i := range pages {
		pages[i].Headers = map[string]string{pageHeader: pages[i].Name, cookieHeader: pages[i].session}
	}
	order, err := json.Marshal(map[string]any{"chrome": testkit.Chrome(t), "pages": pages})
	testkit.Must(t, err)
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "node", "lighthouse.mjs")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // its browser ends with it
	cmd.WaitDelay = 30 * time.Second
	var out, complaints bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(order), &out, &complaints
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), complaints.String())
	}
	var verdicts []verdict
	for d := json.NewDecoder(&out); d.More(); {
		var v verdict
		testkit.Must(t, d.Decode(&v))
		verdicts = append(verdicts, v)
	}
	if len(verdicts) != len(pages) {
		t.Fatalf("%d verdicts on %d pages\n%s", len(verdicts), len(pages), complaints.String())
	}
	return verdicts
}

// session signs the operator in, consents to the client, and returns the
// session's cookie.
func (s *stand) session(t *testing.T, client string) string {
	t.Helper()
	jar := &cookies{}
	b := flow.NewBrowser(flow.Options{BaseURL: s.server.URL, Tenant: "metro", Email: "ana@metro.example", Password: words,
		HTTPClient: &http.Client{Transport: jar}})
	at, err := url.Parse(s.authorize(client))
	testkit.Must(t, err)
	answer, err := b.Authorize(t.Context(), at.Query())
	testkit.Must(t, err)
	if answer.Get("code") == "" || jar.session == "" {
		t.Fatalf("signing in gave %v and the session %q", answer, jar.session)
	}
	return jar.session
}

// cookies is a transport that remembers the session's cookie.
type cookies struct{ session string }

// RoundTrip implements http.RoundTripper.
func (c *cookies) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	for _, cookie := range res.Cookies() {
		if cookie.Name == "svc-session" {
			c.session = cookie.Name + "=" + cookie.Value
		}
	}
	return res, nil
}

// Headers that Lighthouse sends: the name of the page, and the session cookie.
// A browser ignores a Cookie header that it is told to send, so the cookie has
// its own header.
const (
	pageHeader   = "X-Page"
	cookieHeader = "X-Cookie"
)

// recorder stores the last document of each named page.
type recorder struct {
	mu    sync.Mutex
	pages map[string]string
}

// shown returns the document that was last sent as the named page.
func (c *recorder) shown(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pages[name]
}

// over records what the handler sends.
func (c *recorder) over(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.Header.Get(pageHeader)
		if name == "" || !strings.HasPrefix(r.URL.Path, "/oauth/") {
			next.ServeHTTP(w, r)
			return
		}
		if cookie := r.Header.Get(cookieHeader); cookie != "" {
			r.Header.Add("Cookie", cookie)
		}
		copied := &copier{ResponseWriter: w}
		next.ServeHTTP(copied, r)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.pages == nil {
			c.pages = map[string]string{}
		}
		c.pages[name] = copied.text.String()
	})
}

// heading returns the document's first heading.
func heading(document string) string {
	_, text, _ := strings.Cut(document, "<h1>")
	text, _, _ = strings.Cut(text, "</h1>")
	return text
}

type copier struct {
	http.ResponseWriter
	text bytes.Buffer
}

func (c *copier) Write(p []byte) (int, error) {
	c.text.Write(p)
	return c.ResponseWriter.Write(p)
}
