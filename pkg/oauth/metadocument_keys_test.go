package oauth_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/oauth"
	"svc/pkg/oauth/flow"
)

const plannerKeys = "https://keys.planner.example/jwks.json"

// publishKeys publishes any body at plannerKeys.
func (p *publisher) publishKeys(body string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pages[plannerKeys] = body
}

// keyedAt registers a client whose keys are at the address, and publishes its
// keys.
func (d *documented) keyedAt(t *testing.T, k clientKey, address string) registration {
	t.Helper()
	d.mu.Lock()
	d.pages[address] = k.text()
	d.mu.Unlock()
	return (&service{Service: d.Service}).client(t, "token_endpoint_auth_method", "private_key_jwt", "jwks_uri", address)
}

// keyedPlanner publishes a document whose client authenticates by the key, and
// returns a code for the rider.
func (d *documented) keyedPlanner(t *testing.T, changes ...any) string {
	t.Helper()
	d.publish(plannerAt, append([]any{"token_endpoint_auth_method", "private_key_jwt"}, changes...)...)
	code, err := flow.NewBrowser(d.options(plannerAt)).Authorize(t.Context(), d.query(plannerAt))
	if err != nil {
		t.Fatal(err)
	}
	return code.Get("code")
}

// prove sends a form that the key authenticates for the planner.
func (d *documented) prove(t *testing.T, k clientKey, path string, pairs ...string) apptest.Answer {
	t.Helper()
	return asserted(t, d.Service, path, k.assertion(plannerAt, d.URL, d.Clock.Now()), pairs...)
}

// A client that publishes its keys signs in and changes its keys. After that,
// only the new keys are accepted.
func TestDocumentKeys(t *testing.T) {
	t.Parallel()
	d := newDocumented(t, apptest.Unthrottled)
	d.Clock.Hold()
	k, next := newClientKey(t), newClientKey(t)
	d.publishKeys(k.text())
	code := d.keyedPlanner(t, "jwks_uri", plannerKeys)
	unproven := (&service{Service: d.Service}).send(t, "/oauth/token", formOf(append(redeemed(code,
		"https://planner.example/cb"), "client_id", plannerAt)...).Encode())
	refused(t, unproven, 401, "invalid_client")
	got := apptest.JSON[granted](t, d.prove(t, k, "/oauth/token", redeemed(code, "https://planner.example/cb")...).Must(t,
		200))
	d.Get(t, got.Access, "/api/v1/me/trips").Must(t, 200)
	for range 5 { // invented keys cost no fetch
		refused(t, d.prove(t, newClientKey(t), "/oauth/revoke", "token", "x"), 401, "invalid_client")
	}
	if d.times(plannerKeys) != 1 {
		t.Errorf("the keys were fetched %d times", d.times(plannerKeys))
	}
	d.publishKeys(next.text(k))
	d.Clock.Advance(time.Minute)
	d.prove(t, next, "/oauth/revoke", "token", "x").Must(t, 200)
	d.prove(t, k, "/oauth/revoke", "token", "x").Must(t, 200)
	d.publishKeys(next.text())
	d.Clock.Advance(time.Hour)
	refused(t, d.prove(t, k, "/oauth/revoke", "token", "x"), 401, "invalid_client")
	if d.prove(t, next, "/oauth/revoke", "token", "x").Must(t, 200); d.times(plannerKeys) != 3 {
		t.Errorf("the keys were fetched %d times", d.times(plannerKeys))
	}
}

// changedKeys returns the service with a planner that has got tokens with the
// first key, and has then published the second key in its document.
func changedKeys(t *testing.T) (d *documented, k, next clientKey, got granted) {
	t.Helper()
	d = newDocumented(t, apptest.Unthrottled)
	d.Clock.Hold()
	k, next = newClientKey(t), newClientKey(t)
	code := d.keyedPlanner(t, "jwks", k.set())
	got = apptest.JSON[granted](t, d.prove(t, k, "/oauth/token", redeemed(code, "https://planner.example/cb")...).Must(t,
		200))
	d.publish(plannerAt, "token_endpoint_auth_method", "private_key_jwt", "jwks", next.set())
	return d, k, next, got
}

// Keys in the document itself change with the document.
func TestDocumentOwnKeys(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	d, k, next, got := changedKeys(t)
	d.prove(t, next, "/oauth/token", "grant_type", "refresh_token", "refresh_token", got.Refresh).Must(t, 200)
	refused(t, d.prove(t, k, "/oauth/revoke", "token", "x"), 401, "invalid_client")
}

// If the table fails while the server stores a client's new document, the client
// gets a 503. A retry then succeeds.
func TestDocumentKeysNotStored(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	d, _, next, _ := changedKeys(t)
	d.fetch = d.Wire.Break
	refused(t, d.prove(t, next, "/oauth/revoke", "token", "x"), 503, "temporarily_unavailable")
	d.fetch = nil
	d.Wire.Restore()
	d.prove(t, next, "/oauth/revoke", "token", "x").Must(t, 200)
}

// Agents publish their authentication methods in different ways; each is
// accepted.
func TestDocumentMethods(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	d := newDocumented(t, apptest.Unthrottled)
	k := newClientKey(t)
	many := []string{"none", "client_secret_basic", "private_key_jwt"}
	for name, test := range map[string]struct {
		changes       []any
		proof, public bool // which requests must succeed: with an assertion, without credentials
	}{
		"several without keys": {[]any{"token_endpoint_auth_method", nil, "token_endpoint_auth_methods_supported", many},
			false, true},
		"none beside several": {[]any{"token_endpoint_auth_method", "none", "token_endpoint_auth_methods_supported", many,
			"jwks", k.set()}, true, true},
		"keys first, none among several": {[]any{"token_endpoint_auth_method", "private_key_jwt",
			"token_endpoint_auth_methods_supported", many, "jwks", k.set()}, true, true},
		"keys only": {[]any{"token_endpoint_auth_method", nil, "token_endpoint_auth_methods_supported",
			[]string{"private_key_jwt"}, "jwks", k.set()}, true, false},
		"a secret elsewhere": {[]any{"token_endpoint_auth_method", "client_secret_post",
			"token_endpoint_auth_methods_supported", many, "jwks", k.set()}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			address := "https://planner.example/" + strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), ",", "")
			d.publish(address, test.changes...)
			if _, err := flow.NewBrowser(d.options(address)).Authorize(t.Context(), d.query(address)); err != nil {
				t.Fatal(err)
			}
			proof := asserted(t, d.Service, "/oauth/revoke", k.assertion(address, d.URL, d.Clock.Now()), "token", "x")
			public := (&service{Service: d.Service}).send(t, "/oauth/revoke", formOf("token", "x", "client_id",
				address).Encode())
			if (proof.Status == http.StatusOK) != test.proof || (public.Status == http.StatusOK) != test.public {
				t.Errorf("by proof %d, without %d", proof.Status, public.Status)
			}
		})
	}
}

// If an address returns something other than keys, authentication fails. The
// error does not reveal the cause, and the address is not fetched again at
// once.
func TestDocumentKeysFaults(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	d := newDocumented(t, apptest.Unthrottled)
	d.Clock.Hold()
	k := newClientKey(t)
	private, err := json.Marshal(map[string]any{"keys": []any{map[string]any{"kty": "oct", "k": "AAAA", "kid": k.kid}}})
	if err != nil {
		t.Fatal(err)
	}
	d.keyedPlanner(t, "jwks_uri", plannerKeys)
	said := ""
	for name, body := range map[string]string{"no keys": `{"keys":[]}`, "no JSON": "x", "a secret": string(private),
		"huge": `{"keys":[],"x":"` + strings.Repeat("x", 70_000) + `"}`, "another's": newClientKey(t).text()} {
		d.publishKeys(body)
		d.Clock.Advance(time.Hour)
		before := d.times(plannerKeys)
		for range 3 {
			got := d.prove(t, k, "/oauth/revoke", "token", "x")
			if refused(t, got, 401, "invalid_client"); said != "" && string(got.Body) != said {
				t.Errorf("%s: %s and %s", name, got.Body, said)
			}
			said = string(got.Body)
		}
		if got := d.times(plannerKeys) - before; got != 1 {
			t.Errorf("%s: fetched %d times", name, got)
		}
	}
	d.publishKeys(k.text())
	d.Clock.Advance(time.Minute)
	d.prove(t, k, "/oauth/revoke", "token", "x").Must(t, 200)
}

// A stranger's clients, whose keys the server fetches for false assertions, do
// not evict the keys of a client that authenticates.
func TestStrangersKeys(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	d := newDocumented(t, apptest.Unthrottled)
	d.Clock.Hold()
	s, k, wrong := &service{Service: d.Service}, newClientKey(t), newClientKey(t)
	a := d.keyedAt(t, k, plannerKeys)
	s.prove(t, k, a, "/oauth/revoke", "token", "x").Must(t, 200)
	d.mu.Lock()
	d.header = "max-age=86400"
	d.mu.Unlock()
	for n := range 260 { // more than the cache holds
		stranger := d.keyedAt(t, k, fmt.Sprintf("https://h%d.evil.example/jwks", n))
		refused(t, s.prove(t, wrong, stranger, "/oauth/revoke", "token", "x"), 401, "invalid_client")
	}
	if s.prove(t, k, a, "/oauth/revoke", "token", "x").Must(t, 200); d.times(plannerKeys) != 1 {
		t.Errorf("the client's keys were fetched %d times", d.times(plannerKeys))
	}
}

// strangers sends one false assertion for each of n new clients whose keys are
// at different hosts. It returns how often keys were fetched and the last
// response.
func (d *documented) strangers(t *testing.T, n int) (fetched int, last apptest.Answer) {
	t.Helper()
	k, wrong := newClientKey(t), newClientKey(t)
	for range n {
		address := fmt.Sprintf("https://%s.evil.example/jwks", strings.ToLower(rand.Text()))
		a := d.keyedAt(t, k, address)
		last = (&service{Service: d.Service}).prove(t, wrong, a, "/oauth/revoke", "token", "x")
		fetched += d.times(address)
	}
	return fetched, last
}

// For an address beyond its limit of failures nothing is fetched. A client whose
// keys are in memory is not affected.
func TestKeysBeyondTheFailures(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	d := newDocumented(t, oauth.Limits{Registrations: -1, TokenFailures: 3, Documents: -1})
	d.Clock.Hold()
	s, k := &service{Service: d.Service}, newClientKey(t)
	known, own := d.keyedAt(t, k, plannerKeys), s.keyed(t, k)
	s.prove(t, k, known, "/oauth/revoke", "token", "x").Must(t, 200)
	fetched, last := d.strangers(t, 6)
	if refused(t, last, 429, "rate_limited"); fetched != 3 {
		t.Errorf("%d fetches by an address that may fail 3 times", fetched)
	}
	for range 3 {
		s.prove(t, k, known, "/oauth/revoke", "token", "x").Must(t, 200)
		s.prove(t, k, own, "/oauth/revoke", "token", "x").Must(t, 200)
	}
	for _, a := range []registration{known, own} {
		refused(t, s.prove(t, newClientKey(t), a, "/oauth/revoke", "token", "x"), 429, "rate_limited")
	}
	if d.Clock.Advance(time.Minute); d.times(plannerKeys) != 1 {
		t.Errorf("the known client's keys were fetched %d times", d.times(plannerKeys))
	}
	refused(t, s.prove(t, newClientKey(t), known, "/oauth/revoke", "token", "x"), 401, "invalid_client")
}

// The fetches for clients that have never authenticated count for the caller's
// address, like those of documents. A client that has authenticated is not
// affected, and a fetch that the address may not cause does not delay that of
// another address.
func TestKeysOfAnAddress(t *testing.T) {
	t.Parallel()
	d := newDocumented(t, oauth.Limits{Registrations: -1, TokenFailures: -1, Documents: 3})
	d.Clock.Hold()
	now := d.Clock.Now()
	d.Clock.Advance(now.Truncate(time.Hour).Add(2*time.Hour - 15*time.Minute).Sub(now))
	s, k, next := &service{Service: d.Service}, newClientKey(t), newClientKey(t)
	known := d.keyedAt(t, k, plannerKeys)
	s.prove(t, k, known, "/oauth/revoke", "token", "x").Must(t, 200)
	fetched, last := d.strangers(t, 5)
	if refused(t, last, 429, "rate_limited"); fetched != 2 {
		t.Errorf("%d fetches by an address that has 2 left", fetched)
	}
	d.Clock.Advance(15*time.Minute - 10*time.Second)
	d.publishKeys(next.text())
	s.prove(t, next, known, "/oauth/revoke", "token", "x").Must(t, 200)
	fresh := d.keyedAt(t, k, "https://keys.fresh.example/jwks")
	refused(t, s.prove(t, k, fresh, "/oauth/revoke", "token", "x"), 429, "rate_limited")
	d.Clock.Advance(20 * time.Second) // the next hour
	s.prove(t, k, fresh, "/oauth/revoke", "token", "x").Must(t, 200)
}

// text returns the JWK set of the keys as a document.
func (k clientKey) text(others ...clientKey) string {
	k.t.Helper()
	out, err := json.Marshal(k.set(others...))
	if err != nil {
		k.t.Fatal(err)
	}
	return string(out)
}
