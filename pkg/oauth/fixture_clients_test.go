package oauth_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/oauth/clients"
	"svc/pkg/oauth/flow"
)

const (
	callback        = "https://app.example/callback" // redirect URI of clients that register
	plannerCallback = "https://planner.example/cb"   // redirect URI of clients that the test stores
)

type client = clients.Client

// storeClient stores a public client for operators, without the checks of a
// registration.
func (f *fixture) storeClient(change func(*client)) client {
	f.t.Helper()
	c := client{ID: ids.New(ids.Client, f.now()), Name: "Planner", RedirectURIs: []string{plannerCallback},
		AuthMethod: "none", ApplicationType: "web", Audiences: []authz.Audience{authz.Dashboard},
		Scopes: authz.Scopes(authz.Dashboard), IDTokenAlg: signing.RS256, CreatedAt: f.now(),
		LogoutURIs: []string{"https://planner.example/bye"}}
	if change != nil {
		change(&c)
	}
	p := f.db.Platform("CLIENT")
	tx := p.Write()
	tx.Create(table.Item{Key: p.Key("CLIENT", c.ID, "CLIENT"), Type: "client", Version: 1, Doc: c,
		Attrs: map[string]any{"disabled": c.Disabled}})
	for n := range authz.Copies {
		tx.Create(table.Item{Key: authz.ClientKey(p, c.ID, n), Type: "state", Attrs: map[string]any{"disabled": c.Disabled}})
	}
	testkit.Must(f.t, tx.Commit(context.Background()))
	return c
}

// storedClient reads the stored record of a client.
func (f *fixture) storedClient(id string) table.Item {
	f.t.Helper()
	p := f.db.Platform("CLIENT")
	it, err := p.Get(context.Background(), p.Key("CLIENT", id, "CLIENT"))
	testkit.Must(f.t, err)
	return it
}

// forRiders changes a client into one for riders.
func forRiders(c *client) {
	c.Audiences, c.Scopes = []authz.Audience{authz.Rider}, authz.Scopes(authz.Rider)
}

// authorization returns the parameters of a client's authorization request for
// metro. Changes are pairs of names and values; the value "" removes a parameter.
func authorization(c client, changes ...string) url.Values {
	return authorizationOf(c.ID, c.RedirectURIs[0], "openid tenant.trips:read", changes...)
}

func authorizationOf(clientID, redirectURI, scope string, changes ...string) url.Values {
	q := url.Values{"response_type": {"code"}, "client_id": {clientID}, "redirect_uri": {redirectURI}, "scope": {scope},
		"state": {"s-1"}, "code_challenge": {challengeOf(verifier)}, "code_challenge_method": {"S256"},
		"tenant_hint": {"metro"}}
	for i := 0; i+1 < len(changes); i += 2 {
		if q.Set(changes[i], changes[i+1]); changes[i+1] == "" {
			q.Del(changes[i])
		}
	}
	return q
}

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func formOf(pairs ...string) url.Values {
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return form
}

func formRequest(path string, form url.Values) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

// registration is the response to a client's registration.
type registration struct{ id, secret, management string }

// register registers a public client of every audience; changes replace members.
func (f *fixture) register(changes map[string]any) registration {
	f.t.Helper()
	body := map[string]any{"client_name": "Test client", "redirect_uris": []string{callback},
		"token_endpoint_auth_method": "none", "audiences": []string{"dashboard", "rider", "driver"}}
	for name, value := range changes {
		body[name] = value
	}
	r := f.sendJSON(http.MethodPost, "/oauth/register", "", body)
	if r.status != http.StatusCreated {
		f.t.Fatalf("registration: %d %s", r.status, r.raw)
	}
	return registration{r.text("client_id"), r.text("client_secret"), r.text("registration_access_token")}
}

// code returns an authorization code of the audience's actor, who signs in and
// consents if necessary.
func (f *fixture) code(a registration, audience authz.Audience, scope string, changes ...string) string {
	f.t.Helper()
	b := f.browsers[audience]
	if b == nil {
		b = f.newBrowser()
		f.browsers[audience] = b
	}
	return b.obtainCode(authorizationOf(a.id, callback, scope, changes...), f.emails[audience]).answer.Get("code")
}

// redeem exchanges a code for tokens.
func (f *fixture) redeem(a registration, code string, more ...string) reply {
	f.t.Helper()
	return f.postForm("/oauth/token", append([]string{"grant_type", "authorization_code", "client_id", a.id, "code", code,
		"redirect_uri", callback, "code_verifier", verifier}, more...)...)
}

// tokens redeems a new code of the audience's actor. It returns the response with
// the tokens.
func (f *fixture) tokens(a registration, audience authz.Audience, scope string) reply {
	f.t.Helper()
	r := f.redeem(a, f.code(a, audience, scope))
	if r.status != http.StatusOK {
		f.t.Fatalf("token: %d %s", r.status, r.raw)
	}
	return r
}

func (f *fixture) refresh(a registration, token string, more ...string) reply {
	f.t.Helper()
	return f.postForm("/oauth/token", append([]string{"grant_type", "refresh_token", "client_id", a.id,
		"refresh_token", token}, more...)...)
}

// alive reports whether an access token of metro passes the access checks of an
// endpoint that needs no scope, permission or feature.
func (f *fixture) alive(raw string) bool {
	f.t.Helper()
	a, err := f.keys.Verify(context.Background(), raw)
	if err != nil {
		return false
	}
	p := f.db.Platform("CLIENT")
	items, err := table.Join(f.tenant.Handle, p.Handle).Batch(context.Background(), authz.LiveKeys(f.tenant, p, a)...)
	testkit.Must(f.t, err)
	policy := authz.Policy{Scopes: map[authz.Audience]string{authz.Audience(a.Audience): ""}}
	return authz.Judge(policy, a, authz.LiveFrom(items), f.now()) == nil
}

// tokensBy returns tokens for a stored client, obtained with the person's
// browser.
func (f *fixture) tokensBy(b *browser, c client, email string, changes ...string) flow.Tokens {
	f.t.Helper()
	verifier := ids.Secret()
	q := authorization(c, changes...)
	q.Set("code_challenge", challengeOf(verifier))
	s := b.obtainCode(q, email)
	out, err := flow.Exchange(context.Background(), flow.Options{BaseURL: baseURL, ClientID: c.ID,
		RedirectURI: q.Get("redirect_uri"), HTTPClient: f.client}, s.answer.Get("code"), verifier)
	testkit.Must(f.t, err)
	return out
}
