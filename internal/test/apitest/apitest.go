package apitest

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/base/ids"
	"svc/pkg/base/phone/plans"
	"svc/pkg/data/table"
	"svc/pkg/edge/api"
)

// Stand is a test server for rows (declared endpoints, api.Row), over a table.
type Stand struct {
	DB     *table.DB
	Server *api.Server

	t      testing.TB
	mu     sync.Mutex
	now    time.Time
	tokens map[string]signing.Access
	seen   []api.Observation
}

// client is the id of the OAuth client of the stand's tokens.
const client = "cli_00000000000000000000000000"

// Start is the initial time of a stand's clock.
var Start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// New returns a stand that serves the rows over the table, and stores the OAuth
// client of the stand's tokens. The stand's clock is at Start.
func New(t testing.TB, db *table.DB, rows ...api.Row) *Stand {
	t.Helper()
	return NewAt(t, db, api.Config{BaseURL: "http://stand.example"}, rows...)
}

// NewAt is New with further configuration, such as the address and the sealer. It sets
// table, verifier, clock and logger itself.
func NewAt(t testing.TB, db *table.DB, config api.Config, rows ...api.Row) *Stand {
	t.Helper()
	s := &Stand{DB: db, t: t, now: Start, tokens: map[string]signing.Access{}}
	config.DB, config.Verifier, config.Now, config.Logger = db, s, s.Now, slog.New(slog.DiscardHandler)
	config.Observe = func(_ context.Context, o api.Observation) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen = append(s.seen, o)
	}
	config.Phones = plans.Read
	server, err := api.New(config, rows...)
	if err != nil {
		t.Fatal(err)
	}
	s.Server = server
	p := db.Platform("CLIENT")
	for n := range authz.Copies {
		s.load(p.Handle, table.Item{Key: authz.ClientKey(p, client, n), Type: "state",
			Attrs: map[string]any{"disabled": false}})
	}
	return s
}

// Now returns the time of the stand's clock.
func (s *Stand) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// Advance moves the clock forward by d.
func (s *Stand) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// Verify implements api.Verifier over the stand's tokens.
func (s *Stand) Verify(_ context.Context, raw string) (signing.Access, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if access, ok := s.tokens[raw]; ok {
		return access, nil
	}
	return signing.Access{}, signing.ErrToken
}

// load writes items to the table, whether they exist or not.
func (s *Stand) load(h table.Handle, items ...table.Item) {
	s.t.Helper()
	if err := h.Load(context.Background(), items...); err != nil {
		s.t.Fatal(err)
	}
}

// Tenant writes the flags of a new tenant and returns the tenant's handle. Both
// features are on. shards is the number of shards for reads and writes.
func (s *Stand) Tenant(currency string, shards int) table.Tenant {
	s.t.Helper()
	t := s.DB.Tenant(ids.New(ids.Tenant, Start))
	s.Flags(t, map[string]any{"taxiEnabled": true, "deliveryEnabled": true, "currency": currency, "readShards": shards,
		"writeShards": shards, authz.ZonesCovered: true})
	return t
}

// Flags writes all copies of the tenant's flags.
func (s *Stand) Flags(t table.Tenant, attrs map[string]any) {
	s.t.Helper()
	for n := range authz.Copies {
		s.load(t.Handle, table.Item{Key: authz.FlagsKey(t, n), Type: "flags", Attrs: attrs})
	}
}

// Token registers a valid token of an actor with every scope of the audience,
// and returns the text that a request sends as the token. For an operator,
// Token also writes the membership, with the permissions. The test must write
// the record of a rider or driver.
func (s *Stand) Token(t table.Tenant, audience authz.Audience, actor string, permissions ...string) string {
	s.t.Helper()
	access := signing.Access{Subject: actor, Audience: string(audience), ClientID: client, TenantID: t.ID(),
		Scopes: authz.Scopes(audience), ID: ids.New(ids.Token, Start), IssuedAt: Start, Expires: Start.Add(time.Hour)}
	items := []table.Item{
		{Key: authz.TokenKey(t, access.ID), Type: "token", Attrs: map[string]any{
			"revoked": false, "epoch": 1, "client": client, "actor": actor}},
		{Key: authz.GrantKey(t, client, actor), Type: "grant", Attrs: map[string]any{"epoch": 1}},
	}
	if audience == authz.Dashboard {
		items = append(items, table.Item{Key: authz.ActorKey(t, audience, actor), Type: "membership",
			Attrs: map[string]any{"permissions": permissions}})
	}
	s.load(t.Handle, items...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[access.ID] = access
	return access.ID
}

// Answer is a response.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Decode unmarshals the body into out.
func (a Answer) Decode(t testing.TB, out any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(a.Body))
	dec.UseNumber()
	if err := dec.Decode(out); err != nil {
		t.Fatalf("body %q: %v", a.Body, err)
	}
}

// Code returns the error member of the body.
func (a Answer) Code() string {
	var body struct{ Error string }
	_ = json.Unmarshal([]byte(a.Body), &body) // "" if the body is not JSON
	return body.Error
}

// Do sends one request. headers is a name, its value, the next name, and so on.
func (s *Stand) Do(method, path, token, body string, headers ...string) Answer {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.Server.ServeHTTP(w, r)
	return Answer{w.Code, w.Header(), w.Body.String()}
}

// Want is Do that fails the test unless the response has the status. It
// unmarshals the body into out unless out is nil.
func (s *Stand) Want(status int, out any, method, path, token, body string, headers ...string) Answer {
	s.t.Helper()
	a := s.Do(method, path, token, body, headers...)
	if a.Status != status {
		s.t.Fatalf("%s %s: got %d %s, want %d (%v)", method, path, a.Status, a.Body, status, s.Last().Cause)
	}
	if out != nil {
		a.Decode(s.t, out)
	}
	return a
}

// Last returns the observation of the last completed request.
func (s *Stand) Last() api.Observation {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) == 0 {
		return api.Observation{}
	}
	return s.seen[len(s.seen)-1]
}
