package oauth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/pkg/audit"
	"svc/pkg/authz"
	"svc/pkg/customer"
	"svc/pkg/driver"
	"svc/pkg/ids"
	"svc/pkg/local/testkit"
	"svc/pkg/oauth/flow"
	"svc/pkg/password"
	"svc/pkg/person"
	"svc/pkg/signing"
	"svc/pkg/table"
	"svc/pkg/tenant"
)

const (
	houseBase   = "https://id.platform.example"
	secretWords = "correct horse battery"
	callback    = "https://planner.example/cb"
)

// house is the authorization server on a table of its own, with people in it:
// Ana has memberships in metro and nova, Bob in metro; Rita rides with metro
// and nova, Dan drives for metro. Nova has a custom domain.
type house struct {
	t      *testing.T
	wire   *testkit.Wire
	db     *table.DB
	server *Server
	client *http.Client // without cookies and without following redirects

	mu   sync.Mutex
	now  time.Time
	from string // the address of who asks

	metro, nova    tenant.Tenant
	ana, bob       person.Person
	rita, dan, roy string
}

func newHouse(t *testing.T) *house {
	t.Helper()
	wire := &testkit.Wire{}
	h := &house{t: t, wire: wire, db: testkit.TableOnWire(t, wire), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), from: "192.0.2.1"}
	ctx := context.Background()
	keys := signing.Open(h.db, signing.Options{Issuer: houseBase, Sealer: signing.NewSealer(), Now: h.clock})
	must(t, keys.Rotate(ctx))
	h.server = New(Config{BaseURL: houseBase, Now: h.clock, Address: h.address}, h.db, keys, nil)
	h.client = &http.Client{Transport: direct{h.server.Handler()}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	h.people(ctx)
	return h
}

var hashed = sync.OnceValue(func() string { return password.Hash(secretWords) })

func (h *house) people(ctx context.Context) {
	t, by := h.t, audit.By{Who: "test", At: h.now}
	store := tenant.Store{DB: h.db}
	var err error
	h.metro, err = store.Create(ctx, by, tenant.Tenant{Slug: "metro", Name: "Metro Cabs", TaxiEnabled: true})
	must(t, err)
	h.nova, err = store.Create(ctx, by, tenant.Tenant{Slug: "nova", Name: "Nova", CustomDomain: "ride.nova.example", TaxiEnabled: true, DeliveryEnabled: true})
	must(t, err)
	metro, nova, people := h.db.Tenant(h.metro.ID), h.db.Tenant(h.nova.ID), person.Store{DB: h.db}
	h.ana, err = people.Create(ctx, by, person.Person{Email: "ana@metro.example", FirstName: "Ana", LastName: "Ruiz"}, hashed())
	must(t, err)
	h.bob, err = people.Create(ctx, by, person.Person{Email: "bob@metro.example", FirstName: "Bob"}, hashed())
	must(t, err)
	for _, m := range []struct {
		t  table.Tenant
		id string
	}{{metro, h.ana.ID}, {nova, h.ana.ID}, {metro, h.bob.ID}} {
		_, err = people.Join(ctx, m.t, by, m.id, "owner", []string{"VIEW_TRIPS", "VIEW_DRIVERS"})
		must(t, err)
	}
	rider := func(in table.Tenant, email string) string {
		r, err := customer.Create(ctx, in, by, customer.Record{Customer: customer.Customer{FirstName: "Rita", LastName: "Sol", Email: email}}, hashed())
		must(t, err)
		return r.ID
	}
	h.rita, h.roy = rider(metro, "rita@home.example"), rider(nova, "rita@home.example")
	d, err := driver.Create(ctx, metro, by, driver.Record{Driver: driver.Driver{FirstName: "Dan", LastName: "Vega", Email: "dan@home.example"}}, hashed())
	must(t, err)
	h.dan = d.ID
}

func (h *house) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *house) address(context.Context) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.from
}

func (h *house) move(address string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.from = address
}

func (h *house) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// direct carries a request to a handler without a network.
type direct struct{ handler http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	in.RequestURI, in.Host = r.URL.RequestURI(), r.Host
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	rec := httptest.NewRecorder()
	d.handler.ServeHTTP(rec, in)
	res := rec.Result()
	res.Request = r
	return res, nil
}

// planner stores a client without going through registration.
func (h *house) planner(change func(*Client)) Client {
	h.t.Helper()
	c := Client{ID: ids.New(ids.Client, h.clock()), Name: "Planner", RedirectURIs: []string{callback}, AuthMethod: authNone, ApplicationType: "web",
		Audiences: []authz.Audience{authz.Dashboard}, Scopes: authz.Scopes(authz.Dashboard), IDTokenAlg: signing.RS256, CreatedAt: h.clock(),
		LogoutURIs: []string{"https://planner.example/bye"}}
	if change != nil {
		change(&c)
	}
	tx := h.server.p.Write()
	tx.Create(table.Item{Key: h.server.clientKey(c.ID), Type: "client", Version: 1, Doc: c, Attrs: map[string]any{"disabled": c.Disabled}})
	for n := range authz.Copies {
		tx.Create(table.Item{Key: authz.ClientKey(h.server.p, c.ID, n), Type: "state", Attrs: map[string]any{"disabled": c.Disabled}})
	}
	must(h.t, tx.Commit(context.Background()))
	return c
}

func riders(c *Client) {
	c.Audiences, c.Scopes = []authz.Audience{authz.Rider}, authz.Scopes(authz.Rider)
}

// ask gives the parameters of an authorization request; changes are pairs of
// names and values, "" for taking one away.
func ask(c Client, changes ...string) url.Values {
	q := url.Values{"response_type": {"code"}, "client_id": {c.ID}, "redirect_uri": {c.RedirectURIs[0]}, "scope": {"openid tenant.trips:read"},
		"state": {"s-1"}, "code_challenge": {strings.Repeat("a", 43)}, "code_challenge_method": {"S256"}, "tenant_hint": {"metro"}}
	for i := 0; i+1 < len(changes); i += 2 {
		if q.Set(changes[i], changes[i+1]); changes[i+1] == "" {
			q.Del(changes[i])
		}
	}
	return q
}

// visitor is a person with a browser.
type visitor struct {
	h      *house
	client *http.Client
	host   string // by which the server is reached
}

func (h *house) visitor() *visitor {
	jar, _ := cookiejar.New(nil)
	client := *h.client
	client.Jar = jar
	return &visitor{h: h, client: &client, host: houseBase}
}

// seen is what the browser got.
type seen struct {
	status   int
	location string
	answer   url.Values // parameters of a redirect to a client
	header   http.Header
	body     string
	at       *url.URL
	cookies  []*http.Cookie
}

func (v *visitor) do(method, address string, form url.Values, header ...string) seen {
	v.h.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = v.host + address
	}
	var body io.Reader = http.NoBody
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequest(method, address, body)
	must(v.h.t, err)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if req.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	res, err := v.client.Do(req)
	must(v.h.t, err)
	text, err := io.ReadAll(res.Body)
	must(v.h.t, err)
	out := seen{status: res.StatusCode, location: cmp.Or(res.Header.Get("Location"), strings.TrimPrefix(res.Header.Get("Refresh"), "0;url=")), header: res.Header, body: string(text), at: req.URL, cookies: res.Cookies()}
	if u, err := url.Parse(out.location); err == nil {
		out.answer = u.Query()
	}
	return out
}

func (v *visitor) get(address string, header ...string) seen {
	v.h.t.Helper()
	return v.do(http.MethodGet, address, nil, header...)
}

func (v *visitor) authorize(q url.Values) seen {
	v.h.t.Helper()
	return v.follow(v.get("/oauth/authorize?" + q.Encode()))
}

// follow follows redirects on the server itself.
func (v *visitor) follow(s seen) seen {
	v.h.t.Helper()
	for range 5 {
		if s.location == "" || strings.Contains(s.location, "://") || strings.HasPrefix(s.location, "com.") {
			return s
		}
		next, err := s.at.Parse(s.location)
		must(v.h.t, err)
		s = v.get(next.String())
	}
	v.h.t.Fatal("redirects without end")
	return seen{}
}

var (
	formAction = regexp.MustCompile(`<form method="post" action="([^"]*)"`)
	formCSRF   = regexp.MustCompile(`name="csrf" value="([^"]*)"`)
)

// form gives action and token of the first form of the page.
func (s seen) form(t *testing.T) (action, csrf string) {
	t.Helper()
	a, c := formAction.FindStringSubmatch(s.body), formCSRF.FindStringSubmatch(s.body)
	if a == nil || c == nil {
		t.Fatalf("no form on the page (%d): %s", s.status, s.text())
	}
	return html.UnescapeString(a[1]), html.UnescapeString(c[1])
}

var tags = regexp.MustCompile(`(?s)<style>.*?</style>|<[^>]*>`)

func (s seen) text() string {
	return s.location + " " + strings.Join(strings.Fields(tags.ReplaceAllString(s.body, " ")), " ")
}

// post fills in the page's first form.
func (v *visitor) post(s seen, pairs ...string) seen {
	v.h.t.Helper()
	action, csrf := s.form(v.h.t)
	to, err := s.at.Parse(action)
	must(v.h.t, err)
	form := url.Values{"csrf": {csrf}}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return v.do(http.MethodPost, to.String(), form)
}

// enter signs in on the page and goes on.
func (v *visitor) enter(s seen, email string) seen {
	v.h.t.Helper()
	return v.follow(v.post(s, "email", email, "password", secretWords))
}

func (v *visitor) allow(s seen) seen {
	v.h.t.Helper()
	return v.follow(v.post(s, "decision", "allow"))
}

// through goes through sign-in and consent and gives the answer to the client.
func (v *visitor) through(q url.Values, email string) seen {
	v.h.t.Helper()
	s := v.authorize(q)
	if strings.Contains(s.body, `name="password"`) {
		s = v.enter(s, email)
	}
	if strings.Contains(s.body, `value="allow"`) {
		s = v.allow(s)
	}
	if s.answer.Get("code") == "" {
		v.h.t.Fatalf("no code: %d %s", s.status, s.text())
	}
	return s
}

// page says which page is shown, by what it asks for.
func (s seen) page() string {
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

func TestFlow(t *testing.T) {
	h := newHouse(t)
	for _, o := range []flow.Options{
		{Tenant: "metro", Email: "ana@metro.example", Scope: "openid profile tenant.trips:read"},
		{Email: "bob@metro.example"},
		{Tenant: "metro", Audience: "rider", Email: "rita@home.example"},
		{Tenant: "metro", Audience: "driver", Email: "dan@home.example"},
	} {
		o.BaseURL, o.Password, o.HTTPClient = houseBase, secretWords, h.client
		tokens, err := flow.Token(context.Background(), o)
		if err != nil {
			t.Errorf("%s as %q: %v", o.Email, o.Audience, err)
			continue
		}
		if tokens.AccessToken == "" || tokens.RefreshToken == "" || tokens.IDToken == "" || tokens.ExpiresIn != 3600 {
			t.Errorf("%s as %q: %+v", o.Email, o.Audience, tokens.Scope)
		}
	}
}

var hiddenInput = regexp.MustCompile(`<input type="hidden" name="([a-z_]+)" value="([^"]*)"`)

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
