package oauth_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/pkg/base/ids"
)

// service is the whole service over HTTP, with a rider who is signed in and three
// clients: public, with client_secret_basic, and with client_secret_post.
type service struct {
	*apptest.Service
	rider               apptest.Actor
	browser             *browser // the rider's
	public, basic, post registration
}

func newService(t *testing.T) *service {
	t.Helper()
	return newServiceWith(t, apptest.Options{})
}

func newServiceWith(t *testing.T, o apptest.Options) *service {
	t.Helper()
	s := &service{Service: apptest.With(t, o)}
	s.rider = s.Rider(t, "metro", "rosa")
	s.browser = newServiceBrowser(t, s.Service)
	s.public = s.client(t, "token_endpoint_auth_method", "none")
	s.basic = s.client(t, "token_endpoint_auth_method", "client_secret_basic")
	s.post = s.client(t, "token_endpoint_auth_method", "client_secret_post")
	s.code(t, s.public) // signs her in
	return s
}

// client registers a rider's client; changes are pairs of a name and a value.
func (s *service) client(t testing.TB, changes ...any) registration {
	t.Helper()
	a := s.register(t, changes...)
	a.Must(t, http.StatusCreated)
	body := apptest.JSON[map[string]any](t, a)
	text := func(name string) string { v, _ := body[name].(string); return v }
	return registration{text("client_id"), text("client_secret"), text("registration_access_token")}
}

// register sends a registration; changes are pairs, nil removes a member.
func (s *service) register(t testing.TB, changes ...any) apptest.Answer {
	t.Helper()
	body := map[string]any{"client_name": "Planner", "redirect_uris": []string{callback}, "audiences": []string{"rider"}}
	for i := 0; i+1 < len(changes); i += 2 {
		if body[changes[i].(string)] = changes[i+1]; changes[i+1] == nil {
			delete(body, changes[i].(string))
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return s.Post(t, "", "/oauth/register", string(text))
}

// authorization returns the parameters of an authorization request; changes are
// pairs, and "" removes one.
func (s *service) authorization(a registration, changes ...string) url.Values {
	q := url.Values{"response_type": {"code"}, "client_id": {a.id}, "redirect_uri": {callback},
		"scope": {"openid rider.trips:read"}, "state": {"s-1"},
		"code_challenge": {challengeOf(verifier)}, "code_challenge_method": {"S256"}, "tenant_hint": {"metro"}}
	for i := 0; i+1 < len(changes); i += 2 {
		if q.Set(changes[i], changes[i+1]); changes[i+1] == "" {
			q.Del(changes[i])
		}
	}
	return q
}

// answer sends an authorization request in the rider's browser, and signs in and
// consents if necessary. It returns the last response: the redirect to the client,
// or a page.
func (s *service) answer(t testing.TB, a registration, changes ...string) response {
	t.Helper()
	b := *s.browser
	b.t = t
	return b.finish(s.authorization(a, changes...), s.rider.Email)
}

// code returns a fresh authorization code for the rider.
func (s *service) code(t testing.TB, a registration, changes ...string) string {
	t.Helper()
	got := s.answer(t, a, changes...)
	if got.page() != "code" {
		t.Fatalf("no code: %s %d %s", got.page(), got.status, got.body)
	}
	return got.answer.Get("code")
}

// form posts a form, authenticated by the client's own method.
func (s *service) form(t testing.TB, a registration, path string, pairs ...string) apptest.Answer {
	t.Helper()
	header := []string{}
	switch a.id {
	case "":
	case s.basic.id:
		header = []string{"Authorization", basicHeader(a.id, a.secret)}
	case s.post.id:
		pairs = append([]string{"client_id", a.id, "client_secret", a.secret}, pairs...)
	default:
		pairs = append([]string{"client_id", a.id}, pairs...)
	}
	return s.send(t, path, formOf(pairs...).Encode(), header...)
}

// send posts a form's text with further headers.
func (s *service) send(t testing.TB, path, body string, header ...string) apptest.Answer {
	t.Helper()
	h := map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	for i := 0; i+1 < len(header); i += 2 {
		h[header[i]] = header[i+1]
	}
	return s.Do(t, apptest.Request{Method: http.MethodPost, Path: path, Body: body, Header: h})
}

func basicHeader(id, secret string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(id)+":"+url.QueryEscape(secret)))
}

// redeem exchanges a code; the pairs in more override other parameters.
func (s *service) redeem(t testing.TB, a registration, code string, more ...string) apptest.Answer {
	t.Helper()
	fields := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {callback},
		"code_verifier": {verifier}}
	for i := 0; i+1 < len(more); i += 2 {
		if fields.Set(more[i], more[i+1]); more[i+1] == "" {
			fields.Del(more[i])
		}
	}
	var pairs []string
	for name := range fields {
		pairs = append(pairs, name, fields.Get(name))
	}
	return s.form(t, a, "/oauth/token", pairs...)
}

func (s *service) refresh(t testing.TB, a registration, token string, more ...string) apptest.Answer {
	t.Helper()
	return s.form(t, a, "/oauth/token", append([]string{"grant_type", "refresh_token", "refresh_token", token},
		more...)...)
}

// granted is a token response.
type granted struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	ID      string `json:"id_token"`
	Type    string `json:"token_type"`
	Expires int    `json:"expires_in"`
	Scope   string `json:"scope"`
}

// signIn returns the tokens of a fresh code.
func (s *service) signIn(t testing.TB, a registration, changes ...string) granted {
	t.Helper()
	return apptest.JSON[granted](t, s.redeem(t, a, s.code(t, a, changes...)).Must(t, http.StatusOK))
}

// lives reports whether the API accepts the access token.
func (s *service) lives(t testing.TB, access string) bool {
	t.Helper()
	return s.Get(t, access, "/api/v1/me/trips").Status == http.StatusOK
}

// refused fails the test unless the response has the status and the error.
func refused(t testing.TB, a apptest.Answer, status int, word string) {
	t.Helper()
	if a.Status != status || a.Code() != word {
		t.Errorf("%d %s, want %d %s", a.Status, a.Body, status, word)
	}
}

// claims decodes a JWT's header and claims. It does not verify the JWT.
func claims(t testing.TB, token string) (header, body map[string]any) {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("not a JWT: %q", token)
	}
	for i, into := range []*map[string]any{&header, &body} {
		raw, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, into); err != nil {
			t.Fatal(err)
		}
	}
	return header, body
}

// document reads a JSON document.
func (s *service) document(t testing.TB, path string) map[string]any {
	t.Helper()
	return apptest.JSON[map[string]any](t, s.Get(t, "", path).Must(t, http.StatusOK))
}

// rule is one requirement of a standard; its name begins with the section.
type rule struct {
	name string
	hold func(t *testing.T, s *service)
}

// TestRFC checks the requirements of the standards that the service follows.
func TestRFC(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for _, standard := range []struct {
		name  string
		rules []rule
	}{
		{"6749", rules6749}, {"7636", rules7636}, {"7009", rules7009}, {"7591", rules7591}, {"7592", rules7592},
		{"7523", rules7523}, {"7662", rules7662}, {"8252", rules8252},
		{"8414", rules8414}, {"8707", rules8707}, {"9068", rules9068}, {"9207", rules9207}, {"9728", rules9728},
		{"OIDC Core", rulesCore}, {"OIDC Discovery", rulesDiscovery},
		{"9700", rules9700}, // the last: it moves the clock by months
	} {
		t.Run(standard.name, func(t *testing.T) {
			for _, r := range standard.rules {
				t.Run(r.name, func(t *testing.T) { r.hold(t, s) })
			}
		})
	}
}

// unknown returns a token that nobody issued.
func unknown() string { return ids.Secret() }
