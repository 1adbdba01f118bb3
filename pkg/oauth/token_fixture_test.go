package oauth_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/pkg/authz"
	"svc/pkg/ids"
	"svc/pkg/local/testkit"
	"svc/pkg/oauth"
	"svc/pkg/signing"
	"svc/pkg/table"
)

const (
	baseURL  = "https://svc.example"
	verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	callback = "https://app.example/callback"
)

// tick is a clock that tests move.
type tick struct {
	mu sync.Mutex
	t  time.Time
}

func (c *tick) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *tick) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// world is a server on a real table with one tenant, one operator, one rider
// and one driver.
type world struct {
	t       testing.TB
	db      *table.DB
	p       table.Platform
	clock   *tick
	keys    *signing.Keys
	server  *oauth.Server
	handler http.Handler
	tenant  table.Tenant
	actors  map[authz.Audience]string
}

func newWorld(t testing.TB, changes ...func(*oauth.Config)) *world {
	t.Helper()
	db := testkit.Table(t)
	w := &world{t: t, db: db, p: db.Platform("CLIENT", "CODE", "THROTTLE"), clock: &tick{t: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}}
	w.keys = signing.Open(db, signing.Options{Issuer: baseURL, Sealer: signing.NewSealer(), Now: w.clock.now})
	if err := w.keys.Rotate(context.Background()); err != nil {
		t.Fatal(err)
	}
	c := oauth.Config{BaseURL: baseURL, Now: w.clock.now}
	for _, change := range changes {
		change(&c)
	}
	w.server = oauth.New(c, db, w.keys, nil)
	w.handler = w.server.Handler()
	now := w.clock.now()
	w.tenant = db.Tenant(ids.New(ids.Tenant, now))
	w.actors = map[authz.Audience]string{authz.Dashboard: ids.New(ids.Person, now), authz.Rider: ids.New(ids.Customer, now), authz.Driver: ids.New(ids.Driver, now)}
	items := []table.Item{
		{Key: w.actorKey(authz.Dashboard), Type: "membership", Attrs: map[string]any{"permissions": []string{"VIEW_TRIPS", "VIEW_DRIVERS"}}},
		{Key: w.actorKey(authz.Rider), Type: "customer", Attrs: map[string]any{"disabled": false}},
		{Key: w.actorKey(authz.Driver), Type: "driver", Attrs: map[string]any{"disabled": false}},
	}
	for n := range authz.Copies {
		items = append(items, table.Item{Key: authz.FlagsKey(w.tenant, n), Type: "flags",
			Attrs: map[string]any{"taxiEnabled": true, "deliveryEnabled": true, "currency": "USD", "readShards": 1, "writeShards": 1}})
	}
	w.load(items...)
	return w
}

func (w *world) load(items ...table.Item) {
	w.t.Helper()
	if err := w.tenant.Load(context.Background(), items...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) actorKey(a authz.Audience) table.Key {
	return authz.ActorKey(w.tenant, a, w.actors[a])
}

// set changes attributes of an item of the tenant.
func (w *world) set(key table.Key, attrs map[string]any) {
	w.t.Helper()
	tx := w.tenant.Write()
	tx.Update(key, table.Change{Set: attrs})
	if err := tx.Commit(context.Background()); err != nil {
		w.t.Fatal(err)
	}
}

// flag changes all copies of the tenant's flags.
func (w *world) flag(name string, value bool) {
	w.t.Helper()
	for n := range authz.Copies {
		w.set(authz.FlagsKey(w.tenant, n), map[string]any{name: value})
	}
}

// reply is an answer of the server.
type reply struct {
	status int
	header http.Header
	body   map[string]any
	raw    string
}

func (r reply) text(name string) string { s, _ := r.body[name].(string); return s }

func (w *world) do(r *http.Request) reply {
	w.t.Helper()
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	out := reply{status: rec.Code, header: rec.Header(), raw: rec.Body.String()}
	if rec.Body.Len() > 0 && strings.HasPrefix(rec.Header().Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(rec.Body.Bytes(), &out.body); err != nil {
			w.t.Fatalf("answer %q: %v", rec.Body, err)
		}
	}
	return out
}

func (w *world) json(method, path, token string, body any) reply {
	w.t.Helper()
	raw, ok := body.(string)
	if !ok {
		text, err := json.Marshal(body)
		if err != nil {
			w.t.Fatal(err)
		}
		raw = string(text)
	}
	r := httptest.NewRequest(method, path, bytes.NewReader([]byte(raw)))
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return w.do(r)
}

func formRequest(path string, form url.Values) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

func (w *world) form(path string, pairs ...string) reply {
	w.t.Helper()
	return w.do(formRequest(path, formOf(pairs...)))
}

func formOf(pairs ...string) url.Values {
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return form
}

// app is a registered client.
type app struct{ id, secret, management string }

func (w *world) register(changes map[string]any) app {
	w.t.Helper()
	body := map[string]any{"client_name": "Test client", "redirect_uris": []string{callback}, "token_endpoint_auth_method": "none",
		"audiences": []string{"dashboard", "rider", "driver"}}
	for name, value := range changes {
		body[name] = value
	}
	r := w.json(http.MethodPost, "/oauth/register", "", body)
	if r.status != http.StatusCreated {
		w.t.Fatalf("registration: %d %s", r.status, r.raw)
	}
	return app{r.text("client_id"), r.text("client_secret"), r.text("registration_access_token")}
}

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// code signs the audience's actor in and gives the code.
func (w *world) code(a app, audience authz.Audience, scope string, changes ...func(*oauth.AuthorizationCode)) string {
	w.t.Helper()
	c := oauth.AuthorizationCode{ClientID: a.id, RedirectURI: callback, Challenge: challengeOf(verifier), TenantID: w.tenant.ID(), Audience: audience,
		Actor: w.actors[audience], Scopes: strings.Fields(scope), Nonce: "n-0S6", AuthTime: w.clock.now().Add(-time.Minute)}
	for _, change := range changes {
		change(&c)
	}
	grant, err := w.tenant.Get(context.Background(), authz.GrantKey(w.tenant, c.ClientID, c.Actor))
	if err != nil {
		w.t.Fatal(err)
	}
	actor, err := w.tenant.Get(context.Background(), authz.ActorKey(w.tenant, c.Audience, c.Actor))
	if err != nil {
		w.t.Fatal(err)
	}
	c.Epoch, c.Since = grant.Int("epoch"), actor.Text("since")
	code, err := w.server.IssueCode(context.Background(), c)
	if err != nil {
		w.t.Fatal(err)
	}
	return code
}

func (w *world) redeem(a app, code string, more ...string) reply {
	w.t.Helper()
	return w.form("/oauth/token", append([]string{"grant_type", "authorization_code", "client_id", a.id, "code", code,
		"redirect_uri", callback, "code_verifier", verifier}, more...)...)
}

// signIn gives the tokens of a fresh sign-in.
func (w *world) signIn(a app, audience authz.Audience, scope string) reply {
	w.t.Helper()
	r := w.redeem(a, w.code(a, audience, scope))
	if r.status != http.StatusOK {
		w.t.Fatalf("token: %d %s", r.status, r.raw)
	}
	return r
}

func (w *world) refresh(a app, token string, more ...string) reply {
	w.t.Helper()
	return w.form("/oauth/token", append([]string{"grant_type", "refresh_token", "client_id", a.id, "refresh_token", token}, more...)...)
}

// alive says whether an access token passes the checks of every request.
func (w *world) alive(raw string) bool {
	w.t.Helper()
	a, err := w.keys.Verify(context.Background(), raw)
	if err != nil {
		return false
	}
	items, err := table.Join(w.tenant.Handle, w.p.Handle).Batch(context.Background(), authz.LiveKeys(w.tenant, w.p, a)...)
	if err != nil {
		w.t.Fatal(err)
	}
	policy := authz.Policy{Scopes: map[authz.Audience]string{authz.Audience(a.Audience): ""}}
	return authz.Judge(policy, a, items, w.clock.now()) == nil
}

func (w *world) expect(r reply, status int, code string) {
	w.t.Helper()
	if r.status != status || r.text("error") != code {
		w.t.Errorf("got %d %s, want %d %s", r.status, r.raw, status, code)
	}
	if r.header.Get("Cache-Control") != "no-store" {
		w.t.Errorf("Cache-Control: %q", r.header.Get("Cache-Control"))
	}
}
