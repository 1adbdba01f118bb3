package oauth_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"svc/pkg/authz"
	"svc/pkg/oauth"
	"svc/pkg/signing"
)

func TestUnknownPathsAndMethods(t *testing.T) {
	w := newWorld(t)
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
			got := w.do(r)
			w.expect(got, tc.status, tc.want)
			if got.header.Get("Allow") != tc.allow {
				t.Errorf("Allow: %q", got.header.Get("Allow"))
			}
		})
	}
}

// What one process issued, another with the same sealer goes on with: nothing
// lives in memory alone.
func TestRestart(t *testing.T) {
	w := newWorld(t)
	sealer := signing.NewSealer()
	open := func() {
		w.keys = signing.Open(w.db, signing.Options{Issuer: baseURL, Sealer: sealer, Now: w.clock.now})
		w.server = oauth.New(oauth.Config{BaseURL: baseURL, Now: w.clock.now}, w.db, w.keys, nil)
		w.handler = w.server.Handler()
	}
	keys, err := w.keys.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys { // sealed by another sealer
		if err := w.keys.Revoke(t.Context(), key.KID); err != nil {
			t.Fatal(err)
		}
	}
	open()
	if err := w.keys.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := w.register(nil)
	first := w.signIn(a, authz.Rider, "rider.trips:read")
	open()
	if !w.alive(first.text("access_token")) {
		t.Error("the access token died")
	}
	second := w.refresh(a, first.text("refresh_token"))
	if second.status != http.StatusOK {
		t.Fatal(second.raw)
	}
	open()
	w.expect(w.refresh(a, first.text("refresh_token")), 400, "invalid_grant") // RFC 9700 section 4.14.2
	if w.alive(second.text("access_token")) {
		t.Error("reuse after a restart is not seen")
	}
}
