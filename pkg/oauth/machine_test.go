package oauth_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/pkg/oauth"
)

// works is the whole service with a machine of metro and its maker.
type works struct {
	*service
	boss string
	m    apptest.Program
}

func newWorks(t *testing.T, o apptest.Options) works {
	t.Helper()
	s := &service{Service: apptest.With(t, o)}
	w := works{service: s, boss: s.Token(t, s.Operator(t, "metro", "olga"))}
	w.m = s.Machine(t, w.boss, "VIEW_EVENTS", "VIEW_TRIPS")
	return w
}

// TestMachineGrant: a machine gets an access token of 15 minutes and nothing else, with the
// scopes that it asks for and its permissions allow.
func TestMachineGrant(t *testing.T) {
	t.Parallel()
	w := newWorks(t, apptest.Options{})
	for name, tt := range map[string]struct {
		scope, want string
		status      int
	}{
		"all": {"", "tenant.events:read tenant.trips:read", 200}, "one": {"tenant.trips:read", "tenant.trips:read", 200},
		"more than it may have": {"tenant.trips:read tenant.trips:delete", "tenant.trips:read", 200},
		"a person's":            {"openid profile email tenant.trips:read", "tenant.trips:read", 200},
		"nothing that it may":   {"tenant.trips:delete", "", 400}, "only a person's": {"openid", "", 400},
		"another audience's": {"rider.trips:read", "", 400},
	} {
		got := w.Ask(t, w.m.ClientID, w.m.Secret, "scope", tt.scope)
		body := apptest.JSON[map[string]any](t, got)
		if tt.status != 200 {
			refused(t, got, tt.status, "invalid_scope")
			continue
		}
		if body["scope"] != tt.want || body["expires_in"] != 900.0 || body["token_type"] != "Bearer" || len(body) != 4 {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
	post := w.Form(t, "/oauth/token", nil, "grant_type", "client_credentials", "client_id", w.m.ClientID, "client_secret",
		w.m.Secret).Must(t, 200)
	token := apptest.JSON[granted](t, post).Access
	claims, err := w.Runtime.Keys().Verify(t.Context(), token)
	if err != nil || claims.Subject != w.m.ID || claims.ClientID != w.m.ClientID || claims.Audience != "dashboard" ||
		claims.TenantID != w.Tenant("metro").ID() || claims.ID == "" ||
		claims.Expires.Sub(claims.IssuedAt) != 15*time.Minute {
		t.Errorf("%+v, %v", claims, err)
	}
	if a := w.Get(t, token, "/oauth/userinfo"); a.Status != 403 {
		t.Errorf("userinfo of a machine: %d %s", a.Status, a.Body)
	}
	w.Clock.Advance(15 * time.Minute)
	w.Get(t, token, "/api/v1/trips").Must(t, 401)
}

// TestOnlyMachinesHaveTheGrant: a registered client has no token without a person, and a
// machine none of a person.
func TestOnlyMachinesHaveTheGrant(t *testing.T) {
	t.Parallel()
	w := newWorks(t, apptest.Options{})
	app := w.client(t, "token_endpoint_auth_method", "client_secret_basic", "audiences", []string{"dashboard"},
		"grant_types", []string{"authorization_code", "client_credentials"})
	refused(t, w.Ask(t, app.id, app.secret), 400, "unauthorized_client")
	for _, pairs := range [][]string{{"grant_type", "refresh_token", "refresh_token", "x"},
		{"grant_type", "authorization_code", "code", "x", "redirect_uri", callback}} {
		refused(t, w.send(t, "/oauth/token", formOf(pairs...).Encode(), "Authorization", basicHeader(w.m.ClientID,
			w.m.Secret)), 400, "invalid_grant")
	}
	other := strings.Replace(w.m.ClientID, w.Tenant("metro").ID(), w.Tenant("harbor").ID(), 1)
	for _, client := range []string{other, w.m.ID, w.m.ClientID + ".x", w.Tenant("metro").ID() + ".", "." + w.m.ID,
		strings.ToLower(w.m.ClientID)} {
		refused(t, w.Ask(t, client, w.m.Secret), 401, "invalid_client")
	}
	refused(t, w.Form(t, "/oauth/token", nil, "grant_type", "client_credentials", "client_id", w.m.ClientID), 401,
		"invalid_client")
}

// TestMachinesOwnTokens: the endpoints of tokens take those of a machine, from itself only,
// and end the one alone that is named.
func TestMachinesOwnTokens(t *testing.T) {
	t.Parallel()
	w := newWorks(t, apptest.Options{})
	other := w.Machine(t, w.boss, "VIEW_TRIPS")
	first, second := w.Works(t, w.m), w.Works(t, w.m)
	about := func(p apptest.Program, path, token string) apptest.Answer {
		return w.send(t, path, formOf("token", token).Encode(), "Authorization", basicHeader(p.ClientID, p.Secret))
	}
	active := func(p apptest.Program, token string) any {
		return apptest.JSON[map[string]any](t, about(p, "/oauth/introspect", token).Must(t, 200))["active"]
	}
	if active(w.m, first) != true || active(other, first) != false {
		t.Error("introspection")
	}
	refused(t, about(other, "/oauth/revoke", first), 400, "unauthorized_client")
	about(w.m, "/oauth/revoke", first).Must(t, 200)
	about(w.m, "/oauth/revoke", first).Must(t, 200)
	w.Get(t, first, "/api/v1/trips").Must(t, 401)
	w.Get(t, second, "/api/v1/trips").Must(t, 200)
	if active(w.m, first) != false || active(w.m, second) != true {
		t.Error("introspection after the revocation")
	}
	claims, err := w.Runtime.Keys().Verify(t.Context(), second)
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := w.Runtime.AuthorizationServer().Tokens(t.Context(), w.Tenant("metro"), "", 100)
	found := false
	for _, one := range list {
		found = found || one.ID == claims.ID && one.Actor == w.m.ID
	}
	if !found || err != nil {
		t.Errorf("the token is not listed: %v", err)
	}
	for range 2 { // the second changes nothing
		if err := w.Runtime.AuthorizationServer().RevokeToken(t.Context(), w.Tenant("metro"), w.By(), claims.ID); err != nil {
			t.Fatal(err)
		}
	}
	w.Get(t, second, "/api/v1/trips").Must(t, 401)
}

// TestMachineKeys: a machine signs in by a key of its set, each assertion once, also when
// its requests come at once, and by no other algorithm.
func TestMachineKeys(t *testing.T) {
	t.Parallel()
	w := newWorks(t, apptest.Options{})
	k, next := newClientKey(t), newClientKey(t)
	ask := func(assertion string, pairs ...string) apptest.Answer {
		return asserted(t, w.Service, "/oauth/token", assertion, append([]string{"grant_type", "client_credentials"},
			pairs...)...)
	}
	sign := func(k clientKey, changes ...any) string {
		return k.assertion(w.m.ClientID, w.URL, w.Clock.Now(), changes...)
	}
	refused(t, ask(sign(k)), 401, "invalid_client")
	w.Patch(t, w.boss, "/api/v1/machines/"+w.m.ID, `{"jwks":`+k.text()+`}`).Must(t, 200)
	one := sign(k)
	var all sync.WaitGroup
	answers := make([]apptest.Answer, 8)
	for n := range answers {
		all.Go(func() { answers[n] = ask(one) })
	}
	all.Wait()
	good := 0
	for _, a := range answers {
		if a.Status == http.StatusOK {
			good++
			w.Get(t, apptest.JSON[granted](t, a).Access, "/api/v1/trips").Must(t, 200)
		} else {
			refused(t, a, 401, "invalid_client")
		}
	}
	if good != 1 {
		t.Errorf("%d of %d requests with one assertion got a token", good, len(answers))
	}
	w.Ask(t, w.m.ClientID, w.m.Secret).Must(t, 200) // the secret is good beside the key
	spent := sign(k)
	asserted(t, w.Service, "/oauth/revoke", spent, "token", "x").Must(t, 200)
	refused(t, ask(spent), 401, "invalid_client") // used at another endpoint
	for name, bad := range map[string]string{
		"another key": sign(next), "another server": sign(k, "aud", "https://other.example"),
		"two servers": sign(k, "aud", []string{w.URL, "https://other.example"}),
		"no jti":      sign(k, "jti", nil), "an hour": sign(k, "exp", w.Clock.Now().Add(time.Hour).Unix()),
		"another machine": k.assertion(w.Machine(t, w.boss, "VIEW_TRIPS").ClientID, w.URL, w.Clock.Now()),
		"none":            forged(t, sign(k), "none", ""), "HS256": forged(t, sign(k), "HS256", w.m.Secret),
		"HS256 with the public key": forged(t, sign(k), "HS256", k.text()),
		"another kid":               clientKey{t, next.kid, k.private}.assertion(w.m.ClientID, w.URL, w.Clock.Now()),
	} {
		if a := ask(bad); a.Status != 401 || a.Code() != "invalid_client" {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	mixed := w.send(t, "/oauth/token", formOf("grant_type", "client_credentials", "client_assertion_type", jwtBearer,
		"client_assertion", sign(k)).Encode(), "Authorization", basicHeader(w.m.ClientID, ""))
	refused(t, mixed, 400, "invalid_request")
}

// TestShortKeysOfAMachine: a machine gets no key that is too short, and none that is secret.
func TestShortKeysOfAMachine(t *testing.T) {
	t.Parallel()
	w := newWorks(t, apptest.Options{})
	encode := base64.RawURLEncoding.EncodeToString
	short := make([]byte, 128)
	short[0], short[127] = 0x80, 1
	for name, key := range map[string]string{
		"RSA of 1,024 bits": `{"kty":"RSA","e":"AQAB","n":"` + encode(short) + `"}`,
		"a shared secret":   `{"kty":"oct","k":"` + encode(short) + `"}`,
	} {
		if a := w.Patch(t, w.boss, "/api/v1/machines/"+w.m.ID, `{"jwks":{"keys":[`+key+`]}}`); a.Status != 400 {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
}

// forged replaces the algorithm of a JWT, and signs it with the secret if there is one.
func forged(t *testing.T, token, alg, secret string) string {
	t.Helper()
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"`+alg+`"}`)) + "." + strings.Split(token, ".")[1]
	if secret == "" {
		return text + "."
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return text + "." + encode(mac.Sum(nil))
}

// redirecting answers each fetch with a redirect to a set of good keys.
type redirecting struct{ to http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r redirecting) RoundTrip(q *http.Request) (*http.Response, error) {
	if strings.HasSuffix(q.URL.Path, "/moved") {
		return r.to.RoundTrip(q)
	}
	return &http.Response{StatusCode: http.StatusFound, Request: q, Body: http.NoBody,
		Header: http.Header{"Location": {q.URL.String() + "/moved"}, "Content-Type": {"application/json"}}}, nil
}

// TestMachineKeysAtAnAddress: a machine's keys are fetched, and fetched again when another
// one signs.
func TestMachineKeysAtAnAddress(t *testing.T) {
	t.Parallel()
	const at = "https://keys.metro.example/jwks.json"
	p, k, next := newPublisher(), newClientKey(t), newClientKey(t)
	w := newWorks(t, apptest.Options{Documents: p})
	w.Patch(t, w.boss, "/api/v1/machines/"+w.m.ID, `{"jwksUri":"`+at+`"}`).Must(t, 200)
	ask := func(k clientKey) apptest.Answer {
		return asserted(t, w.Service, "/oauth/token", k.assertion(w.m.ClientID, w.URL, w.Clock.Now()), "grant_type",
			"client_credentials")
	}
	refused(t, ask(k), 401, "invalid_client") // nothing is there
	for _, one := range []clientKey{k, next} {
		p.mu.Lock()
		p.pages[at] = one.text()
		p.mu.Unlock()
		w.Clock.Advance(time.Minute)
		ask(one).Must(t, 200)
	}
	refused(t, ask(k), 401, "invalid_client")
}

// TestKeysThatRedirect: the server follows no redirect of a machine's keys.
func TestKeysThatRedirect(t *testing.T) {
	t.Parallel()
	p, k := newPublisher(), newClientKey(t)
	const at = "https://keys.metro.example/jwks.json"
	p.pages[at+"/moved"] = k.text()
	w := newWorks(t, apptest.Options{Documents: redirecting{p}})
	w.Patch(t, w.boss, "/api/v1/machines/"+w.m.ID, `{"jwksUri":"`+at+`"}`).Must(t, 200)
	refused(t, asserted(t, w.Service, "/oauth/token", k.assertion(w.m.ClientID, w.URL, w.Clock.Now()), "grant_type",
		"client_credentials"), 401, "invalid_client")
	if p.times(at+"/moved") != 0 {
		t.Error("the redirect was followed")
	}
	for _, bad := range []string{"http://keys.metro.example/x", "https://169.254.169.254/keys",
		"https://a:b@keys.example/x", "https://keys.metro.example:8443/x", "file:///etc/passwd"} {
		w.Patch(t, w.boss, "/api/v1/machines/"+w.m.ID, `{"jwksUri":"`+bad+`"}`).Must(t, 400)
	}
}

// TestWrongSecretsOfAMachine: whoever guesses is slowed, and the good secret is not.
func TestWrongSecretsOfAMachine(t *testing.T) {
	t.Parallel()
	w := newWorks(t, apptest.Options{Limits: oauth.Limits{Registrations: -1, TokenFailures: 3, Documents: -1}})
	w.Clock.Hold()
	for n := range 20 {
		a := w.Ask(t, w.m.ClientID, "svc_sk_live_"+strings.Repeat("A", 49))
		if n < 3 {
			refused(t, a, 401, "invalid_client")
		} else {
			refused(t, a, 429, "rate_limited")
		}
		w.Ask(t, w.m.ClientID, w.m.Secret).Must(t, 200)
	}
}

// TestMachineTokenBudget: a token is one read and one write, also by a key, and also when it
// notes the hour.
func TestMachineTokenBudget(t *testing.T) {
	t.Parallel()
	w := newWorks(t, apptest.Options{})
	k := newClientKey(t)
	w.Patch(t, w.boss, "/api/v1/machines/"+w.m.ID, `{"jwks":`+k.text()+`}`).Must(t, 200)
	w.Works(t, w.m)
	w.Still(t)
	for _, by := range []string{"secret", "key"} {
		for _, hour := range []time.Duration{0, time.Hour} {
			w.Clock.Advance(hour)
			w.Get(t, "", "/.well-known/jwks.json").Must(t, 200) // the process reads its signing keys again
			before := w.Wire.Sent()
			if by == "secret" {
				w.Works(t, w.m)
			} else {
				asserted(t, w.Service, "/oauth/token", k.assertion(w.m.ClientID, w.URL, w.Clock.Now()), "grant_type",
					"client_credentials").Must(t, 200)
			}
			if n := w.Wire.Sent() - before; n > 2 {
				t.Errorf("by a %s, %v later: %d requests to the table", by, hour, n)
			}
		}
	}
}
