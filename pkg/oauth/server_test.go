package oauth_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"svc/pkg/access/authz"
	"svc/pkg/access/signing"
	"svc/pkg/oauth"
)

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, tc := range []struct {
		method, path string
		status       int
		want, allow  string
	}{
		{"GET", "/oauth/nothing", 404, "not_found", ""},
		{"GET", "/oauth//token", 404, "not_found", ""},
		{"GET", "/oauth/token/", 404, "not_found", ""},
		{"GET", "/oauth/register/", 404, "not_found", ""},
		{"GET", "/oauth/register/a/b", 404, "not_found", ""},
		{"POST", "/oauth/../oauth/token", 404, "not_found", ""},
		{"PATCH", "/oauth/token", 405, "method_not_allowed", "POST"},
		{"POST", "/oauth/register/cli_x", 405, "method_not_allowed", "DELETE, GET, HEAD, PUT"},
		{"POST", "/.well-known/jwks.json", 405, "method_not_allowed", "GET, HEAD"},
	} {
		t.Run(tc.method+" "+tc.path, func(t *testing.T) {
			r := httptest.NewRequest(tc.method, "/", nil)
			r.URL.Path = tc.path
			got := f.do(r)
			f.expect(got, tc.status, tc.want)
			if got.header.Get("Allow") != tc.allow {
				t.Errorf("Allow: %q", got.header.Get("Allow"))
			}
		})
	}
}

// A second process with the same sealer continues the first one's work: no
// state exists only in memory.
func TestRestart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sealer := signing.NewSealer()
	open := func() {
		f.keys = signing.Open(f.db, signing.Options{Issuer: baseURL, Sealer: sealer, Now: f.now})
		f.server = oauth.New(oauth.Config{BaseURL: baseURL, Now: f.now}, f.db, f.keys, nil)
		f.handler = f.server.Handler()
	}
	keys, err := f.keys.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys { // sealed by another sealer
		if err := f.keys.Revoke(t.Context(), key.KID); err != nil {
			t.Fatal(err)
		}
	}
	open()
	if err := f.keys.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := f.register(nil)
	first := f.tokens(a, authz.Rider, "rider.trips:read")
	open()
	if !f.alive(first.text("access_token")) {
		t.Error("the access token died")
	}
	second := f.refresh(a, first.text("refresh_token"))
	if second.status != http.StatusOK {
		t.Fatal(second.raw)
	}
	open()
	f.expect(f.refresh(a, first.text("refresh_token")), 400, "invalid_grant") // RFC 9700 section 4.14.2
	if f.alive(second.text("access_token")) {
		t.Error("reuse after a restart is not seen")
	}
}

// For every 4xx the log gets one line: request id, method, route, status, code.
// The line contains no path, query or body of the caller.
func TestRefusalsAreLogged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var log bytes.Buffer
	server := oauth.New(oauth.Config{BaseURL: baseURL, Now: f.now}, f.db, f.keys, slog.New(slog.NewJSONHandler(&log, nil)))
	for _, tc := range []struct {
		method, path, route string
		status              int
		code                string
	}{
		{"GET", "/oauth/secret-path", "unknown", 404, "not_found"},
		{"GET", "/oauth/token", "/oauth/token", 405, "method_not_allowed"},
		{"POST", "/oauth/token", "/oauth/token", 400, "invalid_request"},
		{"GET", "/oauth/register/cli_secret", "/oauth/register/{client_id}", 401, "invalid_token"},
		{"GET", "/oauth/authorize", "/oauth/authorize", 400, "request"},
		{"GET", "/.well-known/jwks.json", "", 200, ""},
	} {
		log.Reset()
		r := httptest.NewRequest(tc.method, tc.path+"?code=secret", strings.NewReader("token=secret"))
		r.Header.Set("X-Request-Id", "req-1")
		r.Header.Set("Authorization", "Bearer secret")
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, r)
		if strings.Contains(log.String(), "secret") {
			t.Errorf("%s %s: the log has the caller's input: %s", tc.method, tc.path, log.String())
		}
		if tc.status < http.StatusBadRequest {
			if log.Len() > 0 {
				t.Errorf("%s %s: %s", tc.method, tc.path, log.String())
			}
			continue
		}
		var line struct {
			ID     string `json:"request_id"`
			Path   string
			Status int
			Error  string
		}
		if err := json.Unmarshal(log.Bytes(), &line); err != nil || w.Code != tc.status || line.ID != "req-1" ||
			line.Path != tc.route || line.Status != tc.status || line.Error != tc.code {
			t.Errorf("%s %s: %d, %s", tc.method, tc.path, w.Code, log.String())
		}
	}
}
