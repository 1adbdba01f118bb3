package oauth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/base/ids"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/person"
	"svc/pkg/domain/tenant"
	"svc/pkg/oauth"
)

const (
	baseURL  = "https://id.platform.example"
	novaURL  = "https://ride.nova.example" // nova's own domain
	verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	password = apptest.Password // password of every person
)

// keyRing contains the signing keys of every fixture.
var keyRing testkit.KeyRing

// fixture is the authorization server with its own table and some people: Ana
// has memberships in metro and nova, Bob in metro; Rita rides with metro and
// nova, Dan drives for metro. Nova has a custom domain.
type fixture struct {
	t       testing.TB
	wire    *testkit.Wire
	db      *table.DB
	keys    *signing.Keys
	server  *oauth.Server
	handler http.Handler
	client  *http.Client // without cookies; follows no redirect

	mu   sync.Mutex
	time time.Time
	from string // address of the caller, "" for unknown

	metro, nova tenant.Tenant
	tenant      table.Tenant // metro's data
	ana, bob    person.Person
	rita, dan   string
	actors      map[authz.Audience]string // Ana, Rita and Dan
	emails      map[authz.Audience]string
	browsers    map[authz.Audience]*browser
}

// newFixture starts a server. Its limits of registrations and of failed token
// requests are off, unless a change sets them.
func newFixture(t testing.TB, changes ...func(*oauth.Config)) *fixture {
	t.Helper()
	wire := &testkit.Wire{}
	f := &fixture{t: t, wire: wire, db: testkit.TableOnWire(t, wire), time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		from: "192.0.2.1", browsers: map[authz.Audience]*browser{}}
	f.keys = keyRing.SigningKeys(t, f.db, signing.Options{Issuer: baseURL, Now: f.now})
	c := oauth.Config{BaseURL: baseURL, Now: f.now, Address: f.address,
		Limits: oauth.Limits{Registrations: -1, TokenFailures: -1}}
	for _, change := range changes {
		change(&c)
	}
	f.serve(oauth.New(c, f.db, f.keys, nil))
	f.createPeople()
	return f
}

// serve makes the server handle all further requests.
func (f *fixture) serve(s *oauth.Server) {
	f.server, f.handler = s, s.Handler()
	f.client = &http.Client{Transport: directTransport{f.handler}, CheckRedirect: keepRedirect}
}

func keepRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

var passwordHash = sync.OnceValue(func() string { return testkit.PasswordHash(password) })

func (f *fixture) by() audit.By { return audit.By{Who: "svc:test", At: f.now()} }

func (f *fixture) createPeople() {
	ctx, t, by := context.Background(), f.t, f.by()
	store, people := tenant.Store{DB: f.db}, person.Store{DB: f.db}
	var err error
	f.metro, err = store.Create(ctx, by, tenant.Tenant{Slug: "metro", Name: "Metro Cabs", TaxiEnabled: true})
	testkit.Must(t, err)
	f.nova, err = store.Create(ctx, by, tenant.Tenant{Slug: "nova", Name: "Nova", CustomDomain: "ride.nova.example",
		TaxiEnabled: true, DeliveryEnabled: true})
	testkit.Must(t, err)
	metro, nova := f.db.Tenant(f.metro.ID), f.db.Tenant(f.nova.ID)
	f.ana, err = people.Create(ctx, by, person.Person{Email: "ana@metro.example", FirstName: "Ana", LastName: "Ruiz"},
		passwordHash())
	testkit.Must(t, err)
	f.bob, err = people.Create(ctx, by, person.Person{Email: "bob@metro.example", FirstName: "Bob"}, passwordHash())
	testkit.Must(t, err)
	for _, m := range []struct {
		in table.Tenant
		id string
	}{{metro, f.ana.ID}, {nova, f.ana.ID}, {metro, f.bob.ID}} {
		_, err = people.Join(ctx, m.in, by, m.id, "owner", []string{"VIEW_TRIPS", "VIEW_DRIVERS"})
		testkit.Must(t, err)
	}
	for _, in := range []table.Tenant{nova, metro} {
		r, err := customer.Store.Create(ctx, in, by, customer.Record{Customer: customer.Customer{
			FirstName: "Rita", LastName: "Sol", Email: "rita@home.example"}}, passwordHash())
		testkit.Must(t, err)
		f.rita = r.ID
	}
	d, err := driver.Create(ctx, metro, by, driver.Record{Driver: driver.Driver{FirstName: "Dan", LastName: "Vega",
		Email: "dan@home.example"}}, passwordHash())
	testkit.Must(t, err)
	f.dan, f.tenant = d.ID, metro
	f.actors = map[authz.Audience]string{authz.Dashboard: f.ana.ID, authz.Rider: f.rita, authz.Driver: f.dan}
	f.emails = map[authz.Audience]string{authz.Dashboard: "ana@metro.example", authz.Rider: "rita@home.example",
		authz.Driver: "dan@home.example"}
}

func (f *fixture) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.time
}

// advance moves the clock.
func (f *fixture) advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.time = f.time.Add(d)
}

func (f *fixture) address(context.Context) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.from
}

// comeFrom sets the address of the caller of all further requests.
func (f *fixture) comeFrom(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.from = address
}

func (f *fixture) actorKey(a authz.Audience) table.Key {
	return authz.ActorKey(f.tenant, a, f.actors[a])
}

// set changes attributes of an item of metro.
func (f *fixture) set(key table.Key, attrs map[string]any) {
	f.t.Helper()
	tx := f.tenant.Write()
	tx.Update(key, table.Change{Set: attrs})
	testkit.Must(f.t, tx.Commit(context.Background()))
}

// setFlag changes all copies of metro's flags.
func (f *fixture) setFlag(name string, value bool) {
	f.t.Helper()
	for n := range authz.Copies {
		f.set(authz.FlagsKey(f.tenant, n), map[string]any{name: value})
	}
}

// stored reads the record that the server keeps under a secret: a CODE, a
// SESSION or a DEVICE.
func (f *fixture) stored(kind, secret string) table.Item {
	f.t.Helper()
	sort := kind
	if kind == "DEVICE" {
		sort = "SESSION"
	}
	p := f.db.Platform(kind, sort)
	it, err := p.Get(context.Background(), p.Key(sort, ids.Hash(secret), kind))
	testkit.Must(f.t, err)
	return it
}

// storedCode is what the server keeps of an authorization code.
type storedCode struct {
	Client      string
	RedirectURI string
	Tenant      string
	Actor       string
	Scopes      []string
	Nonce       string
	AuthTime    time.Time
}

func (f *fixture) storedCode(code string) storedCode {
	f.t.Helper()
	var out storedCode
	it := f.stored("CODE", code)
	testkit.Must(f.t, it.Decode(&out))
	return out
}

// reply is a response of an endpoint that programs use.
type reply struct {
	status int
	header http.Header
	body   map[string]any
	raw    string
}

func (r reply) text(name string) string { s, _ := r.body[name].(string); return s }

// do sends a request to the server, without cookies.
func (f *fixture) do(r *http.Request) reply {
	f.t.Helper()
	rec := httptest.NewRecorder()
	f.handler.ServeHTTP(rec, r)
	out := reply{status: rec.Code, header: rec.Header(), raw: rec.Body.String()}
	if rec.Body.Len() > 0 && strings.HasPrefix(rec.Header().Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(rec.Body.Bytes(), &out.body); err != nil {
			f.t.Fatalf("answer %q: %v", rec.Body, err)
		}
	}
	return out
}

// sendJSON sends a request. A body that is a string is sent unchanged; any other
// body is marshalled.
func (f *fixture) sendJSON(method, path, token string, body any) reply {
	f.t.Helper()
	raw, ok := body.(string)
	if !ok {
		text, err := json.Marshal(body)
		testkit.Must(f.t, err)
		raw = string(text)
	}
	r := httptest.NewRequest(method, path, bytes.NewReader([]byte(raw)))
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return f.do(r)
}

// postForm posts a form of names and values.
func (f *fixture) postForm(path string, pairs ...string) reply {
	f.t.Helper()
	return f.do(formRequest(path, formOf(pairs...)))
}

// expect fails the test unless the reply has the status and the error code, and
// forbids caching.
func (f *fixture) expect(r reply, status int, code string) {
	f.t.Helper()
	if r.status != status || r.text("error") != code {
		f.t.Errorf("got %d %s, want %d %s", r.status, r.raw, status, code)
	}
	if r.header.Get("Cache-Control") != "no-store" {
		f.t.Errorf("Cache-Control: %q", r.header.Get("Cache-Control"))
	}
}

// directTransport passes requests to a handler without a network.
type directTransport struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (d directTransport) RoundTrip(r *http.Request) (*http.Response, error) {
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
	if res.Body == nil {
		res.Body = io.NopCloser(http.NoBody)
	}
	res.Request = r
	return res, nil
}
