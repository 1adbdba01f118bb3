package clients

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/throttle"
	"svc/pkg/data/table"
)

const appURL = "https://app.example/client"

// publication is a document that changes its key. Several processes fetch it.
type publication struct {
	*testing.T
	db     *table.DB
	now    time.Time
	key    string // kid of the only key
	maxAge time.Duration
	held   func() // runs once, between a request and its response
}

func (p *publication) RoundTrip(r *http.Request) (*http.Response, error) {
	body := fmt.Sprintf(`{"client_id":%q,"redirect_uris":["https://app.example/cb"],"scope":"openid",`+
		`"token_endpoint_auth_method":"private_key_jwt","jwks":{"keys":[{"kty":"EC","crv":"P-256","kid":%q,`+
		`"x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}}`,
		appURL, p.key)
	header := http.Header{"Content-Type": {"application/json"},
		"Cache-Control": {fmt.Sprintf("max-age=%d", int(p.maxAge.Seconds()))}}
	if held := p.held; held != nil {
		p.held = nil
		held()
	}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader(body)),
		Request: r}, nil
}

// process returns a registry with its own cache.
func (p *publication) process() *Registry {
	now := func() time.Time { return p.now }
	return NewRegistry(p.db, Options{BaseURL: "https://id.example", Now: now, Limits: throttle.Limits{Documents: -1},
		Throttle: throttle.New(p.db, now, nil, slog.New(slog.DiscardHandler)), Documents: p,
		Log: slog.New(slog.DiscardHandler)})
}

// find returns the client as this process sees it.
func (p *publication) find(reg *Registry) Client {
	p.Helper()
	c, err := reg.Find(p.Context(), appURL)
	testkit.Must(p, err)
	return c
}

// renew fetches the document again, as a process does after an unknown key.
func (p *publication) renew(reg *Registry) Client {
	p.Helper()
	c, err := reg.renewed(p.Context(), p.find(reg), true)
	testkit.Must(p, err)
	return c
}

func (p *publication) keep(reg *Registry, c Client) {
	p.Helper()
	_, err := reg.Keep(p.Context(), c)
	testkit.Must(p, err)
}

// has fails the test unless the client has exactly the key.
func (p *publication) has(who string, c Client, key string) {
	p.Helper()
	if !strings.Contains(string(c.Keys), `"kid":"`+key+`"`) {
		p.Errorf("%s has the keys %s, not %s", who, c.Keys, key)
	}
}

func newPublication(t *testing.T) *publication {
	t.Helper()
	return &publication{T: t, db: testkit.Table(t), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), key: "old",
		maxAge: 24 * time.Hour}
}

// A process has cached a document for a day. Another process has stored a later
// document with a shorter lifetime. The first process does not restore the
// removed key.
func TestRemovedKeyStaysRemoved(t *testing.T) {
	t.Parallel()
	p := newPublication(t)
	first, second := p.process(), p.process()
	old := p.find(first)
	p.keep(first, old)
	p.now = p.now.Add(time.Minute)
	p.key, p.maxAge = "new", 5*time.Minute
	p.has("the process that fetched", p.renew(second), "new")
	p.keep(first, old) // of a consent that began before
	p.has("the stored record", p.find(p.process()), "new")
	p.now = p.now.Add(10 * time.Minute)
	p.has("the process with the old document", p.find(first), "new")
	p.has("the process that fetched", p.find(second), "new")
	p.keep(first, p.find(first))
	p.has("the stored record", p.find(p.process()), "new")
}

// A slow fetch does not replace a later one.
func TestSlowDocument(t *testing.T) {
	t.Parallel()
	p := newPublication(t)
	slow, fast := p.process(), p.process()
	p.keep(slow, p.find(slow))
	p.now = p.now.Add(time.Minute)
	p.held = func() { // the old document is under way
		p.now = p.now.Add(time.Second)
		p.key = "new"
		p.has("the faster process", p.renew(fast), "new")
		p.now = p.now.Add(time.Second)
	}
	p.has("the slower process", p.renew(slow), "new")
	p.has("the stored record", p.find(p.process()), "new")
	p.now = p.now.Add(24*time.Hour - time.Second) // the stored record has ended, the slow one has not
	p.key = "newer"
	p.has("the slower process, a day later", p.find(slow), "newer")
}

// A later document also stays in the cache.
func TestLaterDocumentStaysInMemory(t *testing.T) {
	t.Parallel()
	p := newPublication(t)
	reg := p.process()
	old := p.find(reg)
	p.now = p.now.Add(time.Minute)
	p.key = "new"
	reg.documents.drop(appURL)
	p.find(reg)
	reg.documents.put(old)
	p.has("the memory", p.find(reg), "new")
}

// A later document also takes effect if it expires sooner and has the same
// keys.
func TestLaterDocumentIsStored(t *testing.T) {
	t.Parallel()
	p := newPublication(t)
	reg := p.process()
	p.keep(reg, p.find(reg))
	p.now = p.now.Add(time.Minute)
	p.maxAge = 5 * time.Minute
	p.renew(reg)
	if got := p.find(p.process()).DocumentUntil; !got.Equal(p.now.Add(p.maxAge)) {
		t.Errorf("stored until %v, not %v", got, p.now.Add(p.maxAge))
	}
}

// Another machine's clock was a day fast when it stored a document. A renewed
// document replaces it at once.
func TestDocumentOfAFastClock(t *testing.T) {
	t.Parallel()
	p := newPublication(t)
	reg := p.process()
	p.now = p.now.Add(24 * time.Hour)
	p.keep(reg, p.find(reg))
	p.now = p.now.Add(-24 * time.Hour)
	p.key = "new"
	p.has("the other process", p.renew(p.process()), "new")
	p.has("the stored record", p.find(p.process()), "new")
}
