package oauth_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/base/ids"
	"svc/pkg/oauth"
	"svc/pkg/oauth/clients"
	"svc/pkg/oauth/flow"
)

// publisher serves documents in place of the Internet.
type publisher struct {
	mu      sync.Mutex
	pages   map[string]string // address → body; a missing address gets a 404
	fetched map[string]int
	header  string // Cache-Control
	fetch   func() // called at each fetch; nil for none
}

func (p *publisher) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fetched[r.URL.String()]++
	if p.fetch != nil {
		p.fetch()
	}
	res := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
	body, ok := p.pages[r.URL.String()]
	if !ok {
		res.StatusCode = http.StatusNotFound
	}
	if p.header != "" {
		res.Header.Set("Cache-Control", p.header)
	}
	res.Body = io.NopCloser(strings.NewReader(body))
	return res, nil
}

func (p *publisher) times(address string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fetched[address]
}

func newPublisher() *publisher {
	return &publisher{pages: map[string]string{}, fetched: map[string]int{}}
}

const plannerAt = "https://planner.example/oauth/client.json"

// publish puts a document at the address; changes are pairs, and nil removes a
// member.
func (p *publisher) publish(address string, changes ...any) {
	doc := map[string]any{"client_id": address, "client_name": "Planner",
		"redirect_uris": []string{"https://planner.example/cb", "http://127.0.0.1/cb"},
		"scope":         "openid rider.trips:read rider.wallet:read", "token_endpoint_auth_method": "none"}
	for i := 0; i+1 < len(changes); i += 2 {
		if doc[changes[i].(string)] = changes[i+1]; changes[i+1] == nil {
			delete(doc, changes[i].(string))
		}
	}
	body, _ := json.Marshal(doc)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pages[address] = string(body)
}

// documented is the whole service with a publisher, one rider, and the rider's
// browser.
type documented struct {
	*apptest.Service
	*publisher
	rider apptest.Actor
}

func newDocumented(t *testing.T, limits oauth.Limits) *documented {
	t.Helper()
	p := newPublisher()
	d := &documented{apptest.With(t, apptest.Options{Documents: p, Limits: limits}), p, apptest.Actor{}}
	d.rider = d.Rider(t, "metro", "rosa")
	return d
}

func (d *documented) options(client string) flow.Options {
	return flow.Options{BaseURL: d.URL, Tenant: "metro", Audience: "rider", Email: d.rider.Email, Password: password,
		ClientID: client,
		Scope:    "openid rider.trips:read", RedirectURI: "https://planner.example/cb"}
}

func (d *documented) query(client string) url.Values {
	return url.Values{"response_type": {"code"}, "client_id": {client}, "redirect_uri": {"https://planner.example/cb"},
		"scope":          {"openid rider.trips:read"},
		"code_challenge": {challengeOf(verifier)}, "code_challenge_method": {"S256"}, "tenant_hint": {"metro"}}
}

// ask returns the response to an authorization request of the client.
func (d *documented) ask(t *testing.T, client string) flow.Response {
	t.Helper()
	res, _, err := flow.NewBrowser(d.options(client)).Get(t.Context(), d.URL+"/oauth/authorize?"+d.query(client).Encode())
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// A client that nobody registered goes through the complete flow. After the
// first token it behaves like a registered client.
func TestDocumentClient(t *testing.T) {
	t.Parallel()
	d := newDocumented(t, apptest.Unthrottled)
	d.publish(plannerAt)
	early := d.Do(t, apptest.Request{Method: http.MethodPost, Path: "/oauth/token",
		Header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"},
		Body:   url.Values{"grant_type": {"refresh_token"}, "client_id": {plannerAt}, "refresh_token": {"x"}}.Encode()})
	if early.Must(t, 401).Code() != "invalid_client" || d.times(plannerAt) != 0 {
		t.Errorf("before anybody consented: %s, fetched %d times", early.Body, d.times(plannerAt))
	}
	tokens, err := flow.Token(t.Context(), d.options(plannerAt))
	if err != nil {
		t.Fatal(err)
	}
	if d.times(plannerAt) != 1 {
		t.Errorf("the document was fetched %d times for one sign-in", d.times(plannerAt))
	}
	access, err := d.Runtime.Keys().Verify(t.Context(), tokens.AccessToken)
	if err != nil || access.ClientID != plannerAt {
		t.Fatalf("client_id %q %v", access.ClientID, err)
	}
	d.Get(t, tokens.AccessToken, "/api/v1/me/trips").Must(t, 200)
	next, err := flow.Refresh(t.Context(), d.options(plannerAt), tokens.RefreshToken)
	if err != nil {
		t.Fatal(err)
	}
	d.Get(t, next.AccessToken, "/api/v1/me/trips").Must(t, 200)
	if err := d.Runtime.AuthorizationServer().DisableClient(t.Context(), plannerAt, true); err != nil {
		t.Fatal(err)
	}
	d.Get(t, next.AccessToken, "/api/v1/me/trips").Must(t, 401)
	if _, err := flow.Refresh(t.Context(), d.options(plannerAt), next.RefreshToken); err == nil {
		t.Error("a client that was switched off refreshes")
	}
	d.Clock.Advance(25 * time.Hour) // so that it would be fetched again
	if res := d.ask(t, plannerAt); res.StatusCode != 400 {
		t.Errorf("a client that was switched off may ask: %d", res.StatusCode)
	}
	if _, err := flow.Token(t.Context(), d.options(plannerAt)); err == nil {
		t.Error("a client that was switched off signs in")
	}
	if err := d.Runtime.AuthorizationServer().DisableClient(t.Context(), plannerAt, false); err != nil {
		t.Fatal(err)
	}
	if _, err := flow.Token(t.Context(), d.options(plannerAt)); err != nil {
		t.Errorf("switched on again: %v", err)
	}
}

// An invalid document leads to an error page and never to a redirect.
func TestDocumentFaults(t *testing.T) {
	t.Parallel()
	d := newDocumented(t, apptest.Unthrottled)
	for name, test := range map[string]struct {
		client  string
		changes []any
		status  int
		want    string
	}{
		"good":                          {plannerAt, nil, 200, "Sign in"},
		"without a name":                {plannerAt, []any{"client_name", nil}, 200, "planner.example"},
		"without an audience and scope": {plannerAt, []any{"scope", nil}, 200, "Sign in"},
		"without a method":              {plannerAt, []any{"token_endpoint_auth_method", nil}, 200, "Sign in"},
		"another client_id":             {plannerAt, []any{"client_id", "https://other.example/client"}, 400, "its own"},
		"no client_id":                  {plannerAt, []any{"client_id", nil}, 400, "own address"},
		"client_id of another spelling": {plannerAt, []any{"client_id", strings.ToUpper(plannerAt)}, 400, "own address"},
		"a secret":                      {plannerAt, []any{"client_secret", "x"}, 400, "secret"},
		"the expiry of a secret":        {plannerAt, []any{"client_secret_expires_at", 0}, 400, "secret"},
		"client_secret_basic": {plannerAt, []any{"token_endpoint_auth_method", "client_secret_basic"}, 400,
			"must be none"},
		"client_secret_post": {plannerAt, []any{"token_endpoint_auth_method", "client_secret_post"}, 400,
			"must be none"},
		"private_key_jwt": {plannerAt, []any{"token_endpoint_auth_method", "private_key_jwt"}, 400,
			"jwks"},
		"no redirect URIs": {plannerAt, []any{"redirect_uris", nil}, 400, "redirect_uris"},
		"a redirect URI in plain http": {plannerAt, []any{"redirect_uris", []string{"http://planner.example/cb"}}, 400,
			"loopback"},
		"a redirect URI with a fragment": {plannerAt, []any{"redirect_uris", []string{"https://planner.example/cb#x"}}, 400,
			"fragment"},
		"a redirect URI with a wildcard": {plannerAt, []any{"redirect_uris", []string{"https://*.planner.example/cb"}}, 400,
			"wildcard"},
		"another redirect URI": {plannerAt, []any{"redirect_uris", []string{"https://planner.example/other"}}, 400,
			"Unknown return address"},
		"the platform's name": {plannerAt, []any{"client_name", "SVC Support"}, 400, "client_name"},
		"unknown scopes among others": {plannerAt, []any{"scope", "offline_access openid rider.trips:read"}, 200,
			"Sign in"},
		"unknown scopes alone":  {plannerAt, []any{"scope", "everything"}, 400, "catalog"},
		"nothing there":         {"https://planner.example/nothing", nil, 400, "could not be fetched"},
		"no document's address": {"https://planner.example/?x=1", nil, 400, "not known"},
		"an address of an IP":   {"https://127.0.0.1/client", nil, 400, "not known"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.client == plannerAt { // so that no document is kept from another case
				address := "https://planner.example/" + ids.Secret()
				if len(test.changes) == 0 || test.changes[0] != "client_id" || test.changes[1] == nil {
					d.publish(address, test.changes...)
				} else {
					d.publish(address, "client_id", strings.Replace(test.changes[1].(string), strings.ToUpper(plannerAt),
						strings.ToUpper(address), 1))
				}
				test.client = address
			}
			res := d.ask(t, test.client)
			if res.StatusCode != test.status || res.Header.Get("Location") != "" {
				t.Errorf("%d to %q", res.StatusCode, res.Header.Get("Location"))
			}
			if !strings.Contains(res.Body, test.want) && test.want != "its own" {
				t.Errorf("the page does not say %q: %s", test.want, res.Body)
			}
		})
	}
}

// A fetched document is cached for a limited time. A failure is not cached.
func TestDocumentCache(t *testing.T) {
	t.Parallel()
	d := newDocumented(t, apptest.Unthrottled)
	d.Clock.Hold()
	ask := func(address string, status, fetched int) {
		t.Helper()
		if res := d.ask(t, address); res.StatusCode != status || d.times(address) != fetched {
			t.Errorf("%s: %d, fetched %d times, want %d and %d", address, res.StatusCode, d.times(address), status, fetched)
		}
	}
	for name, test := range map[string]struct {
		header string
		life   time.Duration
	}{"nothing said": {"", time.Hour}, "no-store": {"no-store", time.Hour}, "short": {"max-age=1", 5 * time.Minute},
		"two hours": {"max-age=7200", 2 * time.Hour},
		"a year":    {"max-age=31536000", 24 * time.Hour}} {
		address := "https://planner.example/" + ids.Secret()
		d.publish(address)
		d.header = test.header
		ask(address, 200, 1)
		d.Clock.Advance(test.life - time.Second)
		ask(address, 200, 1)
		d.Clock.Advance(time.Second)
		ask(address, 200, 2)
		if t.Failed() {
			t.Fatal(name)
		}
	}
	later := "https://planner.example/later"
	ask(later, 400, 1)
	d.publish(later)
	ask(later, 200, 2)
	d.publish(later, "redirect_uris", []string{"https://planner.example/moved"})
	d.Clock.Advance(24 * time.Hour)
	ask(later, 400, 3) // the old address is no longer registered
}

// A changed document changes the stored client at the next sign-in. If it has
// fewer scopes, the client can do less.
func TestDocumentChanges(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	d := newDocumented(t, apptest.Unthrottled)
	d.publish(plannerAt)
	first, err := flow.Token(t.Context(), d.options(plannerAt))
	if err != nil {
		t.Fatal(err)
	}
	d.publish(plannerAt, "scope", "openid")
	d.Clock.Advance(25 * time.Hour)
	if _, err := flow.Token(t.Context(), d.options(plannerAt)); err != nil {
		t.Fatal(err)
	}
	next, err := flow.Refresh(t.Context(), d.options(plannerAt), first.RefreshToken)
	if err != nil || next.Scope != "openid" {
		t.Errorf("%q %v", next.Scope, err)
	}
}

// The consent page shows the client's address. If any program on the device
// could use that address, the person is asked each time.
func TestDocumentConsent(t *testing.T) {
	t.Parallel()
	d := newDocumented(t, apptest.Unthrottled)
	d.publish(plannerAt, "client_name", "Bank of Everything")
	page := d.consentPage(t, plannerAt)
	for _, want := range []string{"planner.example", "Bank of Everything", "web address"} {
		if !strings.Contains(page, want) {
			t.Errorf("the consent page does not say %q: %s", want, page)
		}
	}
	local := d.options(plannerAt)
	local.RedirectURI = "http://127.0.0.1:5000/cb"
	b := flow.NewBrowser(local)
	q := d.query(plannerAt)
	q.Set("redirect_uri", local.RedirectURI)
	if _, err := b.Authorize(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	res, _, err := b.Get(t.Context(), d.URL+"/oauth/authorize?"+q.Encode())
	if err != nil || !strings.Contains(res.Body, `value="allow"`) {
		t.Errorf("the same again from the device: %d %v", res.StatusCode, err)
	}
	q = d.query(plannerAt)
	if _, err := b.Authorize(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if res, _, err = b.Get(t.Context(), d.URL+"/oauth/authorize?"+q.Encode()); err != nil ||
		res.StatusCode != http.StatusSeeOther {
		t.Errorf("the same again from the web: %d %v", res.StatusCode, err)
	}
}

// consentPage signs the rider in and returns the consent page.
func (d *documented) consentPage(t *testing.T, client string) string {
	t.Helper()
	b := newServiceBrowser(t, d.Service)
	s := b.signIn(b.get("/oauth/authorize?"+d.query(client).Encode()), d.rider.Email)
	if s.page() != "consent" {
		t.Fatalf("%s: %d %s", s.page(), s.status, s.body)
	}
	return s.body
}

// Fetches are limited per caller, and only one at a time goes to an address.
func TestDocumentThrottle(t *testing.T) {
	t.Parallel()
	limits := apptest.Unthrottled
	limits.Documents = 3
	d := newDocumented(t, limits)
	d.Clock.Hold() // within one window
	var all sync.WaitGroup
	d.publish(plannerAt)
	for range 10 {
		all.Go(func() {
			if res := d.ask(t, plannerAt); res.StatusCode != 200 {
				t.Errorf("%d", res.StatusCode)
			}
		})
	}
	all.Wait()
	if d.times(plannerAt) != 1 {
		t.Errorf("ten requests at once fetched %d times", d.times(plannerAt))
	}
	for i, want := range []int{400, 400, 429, 429} {
		address := "https://planner.example/" + ids.Secret()
		if res := d.ask(t, address); res.StatusCode != want {
			t.Errorf("fetch %d: %d, want %d", i+2, res.StatusCode, want)
		}
	}
	if res := d.ask(t, plannerAt); res.StatusCode != 200 {
		t.Errorf("what is kept: %d", res.StatusCode)
	}
	d.Clock.Advance(2 * time.Hour)
	if res := d.ask(t, plannerAt); res.StatusCode != 200 {
		t.Errorf("an hour later: %d", res.StatusCode)
	}
}

// Our own address is not accepted as a client's.
func TestDocumentOfOurselves(t *testing.T) {
	t.Parallel()
	p := newPublisher()
	f := newFixture(t, func(c *oauth.Config) { c.Documents = p })
	r := f.newBrowser().get("/oauth/authorize?" + url.Values{"client_id": {baseURL + "/oauth/client"},
		"redirect_uri": {callback}}.Encode())
	if r.status != 400 || len(p.fetched) != 0 {
		t.Errorf("%d, fetched %v", r.status, p.fetched)
	}
	if it := f.storedClient(baseURL + "/x"); it.Found() {
		t.Error("there is such a client")
	}
}

// A client that was disabled before its first token stays disabled, even after
// the time at which an unused client is deleted.
func TestDocumentClientStaysOff(t *testing.T) {
	t.Parallel()
	d := newDocumented(t, apptest.Unthrottled)
	d.publish(plannerAt)
	if _, err := flow.NewBrowser(d.options(plannerAt)).Authorize(t.Context(), d.query(plannerAt)); err != nil {
		t.Fatal(err)
	}
	if err := d.Runtime.AuthorizationServer().DisableClient(t.Context(), plannerAt, true); err != nil {
		t.Fatal(err)
	}
	d.Clock.Advance(2 * clients.UnusedLife)
	if res := d.ask(t, plannerAt); res.StatusCode != 400 {
		t.Errorf("it may ask again: %d", res.StatusCode)
	}
}
