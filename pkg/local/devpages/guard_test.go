package devpages_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"svc/pkg/local/devpages"
)

// guarded returns a function that reports whether the guard passes a request on. A
// request that it does not pass on must be answered with 403.
func guarded(t *testing.T) func(method, path, host string, header ...string) bool {
	t.Helper()
	pages := &devpages.Pages{Hosts: []string{"demo.tunnel.example"},
		IsDomain: func(_ context.Context, host string) bool { return host == "ride.metro.example" }}
	passed := false
	gateway := pages.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true }))
	return func(method, path, host string, header ...string) bool {
		t.Helper()
		r := httptest.NewRequest(method, path, http.NoBody)
		r.Host = host
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		passed = false
		w := httptest.NewRecorder()
		gateway.ServeHTTP(w, r)
		if !passed && w.Code != http.StatusForbidden {
			t.Errorf("%s %s of %s: %d", method, path, host, w.Code)
		}
		return passed
	}
}

// A page of a foreign name or of another origin reaches neither the pages nor
// the API, and calls of other origins with a token pass.
func TestGuard(t *testing.T) {
	try := guarded(t)
	for host, want := range map[string]bool{"127.0.0.1:8080": true, "127.0.0.1": true, "LOCALHOST:8080": true,
		"localhost.:8080": true, "[::1]:8080": true, "[::1]": true, "app.localhost:3000": true, "192.168.1.7:8080": true,
		"svc:8080": true, "host.docker.internal:8080": true, "": true, "Ride.Metro.Example.": true,
		"demo.tunnel.example:443": true, "evil.example": false, "evil.example:8080": false, "evil.example.": false,
		"localhost.evil.example": false, "127.0.0.1.evil.example": false, "127.0.0.1.nip.io:8080": false,
		"evil.example:80:80": false, "x.demo.tunnel.example": false, "evil.localhost.example": false} {
		for _, path := range []string{"/api/v1/customers", "/mcp", "/oauth/token", "/docs", "//x", "/health"} {
			if got := try(http.MethodGet, path, host); got != want {
				t.Errorf("%s of %q passes: %v", path, host, got)
			}
		}
	}
	for name, c := range map[string]struct {
		method, path string
		header       []string
		want         bool
	}{
		"own form": {"POST", "/oauth/signin",
			[]string{"Origin", "null", "Sec-Fetch-Site", "same-origin"}, true},
		"own form, old browser": {"POST", "/oauth/consent", []string{"Origin", "http://127.0.0.1:8080"}, true},
		"program":               {"POST", "/oauth/signin", nil, true},
		"form of another site": {"POST", "/oauth/signin",
			[]string{"Origin", "null", "Sec-Fetch-Site", "cross-site"}, false},
		"form of another port":          {"POST", "/oauth/consent", []string{"Sec-Fetch-Site", "same-site"}, false},
		"form without a known origin":   {"POST", "/oauth/apps", []string{"Origin", "null"}, false},
		"form of another site, old":     {"POST", "/oauth/password", []string{"Origin", "http://evil.example"}, false},
		"link of another site":          {"GET", "/oauth/apps", []string{"Sec-Fetch-Site", "cross-site"}, true},
		"request posted by a client":    {"POST", "/oauth/authorize", []string{"Origin", "https://app.example"}, true},
		"sign-out posted by a client":   {"POST", "/oauth/logout", []string{"Sec-Fetch-Site", "cross-site"}, true},
		"token for a page":              {"POST", "/oauth/token", []string{"Origin", "http://localhost:3000"}, true},
		"registration by a page":        {"POST", "/oauth/register", []string{"Origin", "http://localhost:3000"}, true},
		"call of a page with a token":   {"PATCH", "/api/v1/branding", []string{"Origin", "http://localhost:3000"}, true},
		"preflight":                     {"OPTIONS", "/api/v1/branding", []string{"Origin", "http://localhost:3000"}, true},
		"call of an agent in a browser": {"POST", "/mcp", []string{"Origin", "https://inspector.example"}, true},
	} {
		if got := try(c.method, c.path, "127.0.0.1:8080", c.header...); got != c.want {
			t.Errorf("%s passes: %v", name, got)
		}
	}
	// A browser does not name the origin of a form to plain http, because the pages
	// send no referrer and Sec-Fetch-Site is for secure addresses and localhost. The
	// form's token protects it.
	for host, want := range map[string]bool{"192.168.1.7:8080": true, "svc:8080": true, "ride.metro.example": true,
		"localhost:8080": false, "app.localhost:8080": false, "[::1]:8080": false, "127.0.0.2:8080": false} {
		if got := try(http.MethodPost, "/oauth/signin", host, "Origin", "null"); got != want {
			t.Errorf("form without a known origin at %s passes: %v", host, got)
		}
		if try(http.MethodPost, "/oauth/signin", host, "Origin", "null", "Sec-Fetch-Site", "cross-site") ||
			try(http.MethodPost, "/oauth/signin", host, "Origin", "http://evil.example") {
			t.Errorf("a form of another site passes at %s", host)
		}
	}
}
