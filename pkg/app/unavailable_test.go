package app_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/oauth/flow"
)

// outages are the ways in which a table can fail.
var outages = map[string]func(*testkit.Wire){
	"throttled":   func(w *testkit.Wire) { w.Refuse(400, "ProvisionedThroughputExceededException") },
	"failing":     func(w *testkit.Wire) { w.Refuse(500, "InternalServerError") },
	"unreachable": func(w *testkit.Wire) { w.Break() },
}

// TestUnavailable: while the table fails, every response only says to retry.
// No earlier response is served unchecked. A request made meanwhile can be
// repeated later.
func TestUnavailable(t *testing.T) {
	testkit.Long(t)
	t.Parallel() // it waits for time limits
	s := newSuite(t)
	rider := s.actors[authz.Rider]
	token, fleet := s.Token(t, rider), s.Token(t, s.actors[authz.Dashboard])
	client, err := flow.Register(t.Context(), flow.Options{BaseURL: s.URL, Audience: "rider"})
	testkit.Must(t, err)
	first := s.Do(t, keyed(token, "/api/v1/me/trips", ride, "before")).Must(t, 201)
	for name, begin := range outages {
		t.Run(name, func(t *testing.T) {
			tokens := s.SignIn(t, rider)
			refresh := posted("/oauth/token", "grant_type", "refresh_token", "refresh_token", tokens.RefreshToken, "client_id",
				tokens.ClientID)
			begin(s.Wire)
			var group sync.WaitGroup
			for _, r := range []apptest.Request{
				{Method: "GET", Path: "/api/v1/me", Token: token},
				{Method: "GET", Path: "/api/v1/trips?status=PENDING", Token: fleet},
				{Method: "GET", Path: "/oauth/userinfo", Token: token},
				keyed(token, "/api/v1/me/trips", ride, name),
				keyed(token, "/api/v1/me/trips", ride, "before"),
				refresh,
				posted("/oauth/revoke", "token", tokens.AccessToken, "client_id", tokens.ClientID),
				posted("/oauth/token", "grant_type", "authorization_code", "code", strings.Repeat("c", 43), "client_id", client.ID,
					"redirect_uri", flow.Redirect,
					"code_verifier", strings.Repeat("v", 43)),
			} {
				group.Go(func() { unavailable(t, r, s.Do(t, r)) })
			}
			group.Wait()
			page := s.Get(t, "", "/oauth/authorize?"+url.Values{"client_id": {client.ID}, "redirect_uri": {flow.Redirect},
				"response_type": {"code"}}.Encode())
			if page.Status != 503 || page.Header.Get("Retry-After") == "" || page.Header.Get("Location") != "" || leaks(page) {
				t.Errorf("authorize: %d %v %s", page.Status, page.Header, page.Body)
			}
			s.Wire.Restore()
			s.Do(t, refresh).Must(t, 200) // it was not used up
			s.Get(t, tokens.AccessToken, "/api/v1/me").Must(t, 200)
			if a := s.Do(t, keyed(token, "/api/v1/me/trips", ride, name)).Must(t,
				201); a.Header.Get("Idempotent-Replayed") != "" {
				t.Errorf("the outage's answer was kept: %s", a.Body)
			}
			if a := s.Do(t, keyed(token, "/api/v1/me/trips", ride, "before")).Must(t,
				201); string(a.Body) != string(first.Body) {
				t.Errorf("%s became %s", first.Body, a.Body)
			}
		})
	}
}

// TestKeySetOutOfReach: while the key set cannot be read, no token is issued.
// The code or refresh token stays valid.
func TestKeySetOutOfReach(t *testing.T) {
	t.Parallel() // it waits for time limits
	s := newSuite(t)
	tokens := s.SignIn(t, s.actors[authz.Rider])
	refresh := posted("/oauth/token", "grant_type", "refresh_token", "refresh_token", tokens.RefreshToken, "client_id",
		tokens.ClientID)
	s.Drain(t)
	s.Clock.Advance(signing.Reread + time.Second)
	s.Wire.BreakAfter(1) // the grant is read, the keys are not
	unavailable(t, refresh, s.Do(t, refresh))
	jwks := apptest.Request{Method: "GET", Path: "/.well-known/jwks.json"}
	unavailable(t, jwks, s.Do(t, jwks))
	s.Wire.Restore()
	s.Do(t, jwks).Must(t, 200)
	s.Do(t, refresh).Must(t, 200)
}

// unavailable fails the test unless the response is the 503 that every endpoint sends
// while the table fails.
func unavailable(t *testing.T, r apptest.Request, a apptest.Answer) {
	t.Helper()
	var body map[string]string
	if err := json.Unmarshal(a.Body, &body); err != nil || len(body) != 2 || body["error_description"] == "" {
		t.Errorf("%s %s: body %s", r.Method, r.Path, a.Body)
	}
	if a.Status != http.StatusServiceUnavailable || a.Code() != "temporarily_unavailable" ||
		a.Header.Get("Retry-After") == "" || leaks(a) {
		t.Errorf("%s %s: %d %v %s", r.Method, r.Path, a.Status, a.Header, a.Body)
	}
}

// leaks reports whether a response reveals internal details.
func leaks(a apptest.Answer) bool {
	text := strings.ToLower(string(a.Body))
	for _, word := range []string{"wire", "dynamo", "throughput", "for the service", "internalserver", "batch",
		"exceeded"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

func posted(path string, pairs ...string) apptest.Request {
	fields := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		fields.Set(pairs[i], pairs[i+1])
	}
	return apptest.Request{Method: "POST", Path: path, Body: fields.Encode(),
		Header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}
}
