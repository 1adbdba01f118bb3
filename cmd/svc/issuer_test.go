package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/local/demo"
	"svc/pkg/local/folder"
	"svc/pkg/oauth/flow"
)

const proxied = "https://dev.example.test"

// proxyTo returns a client for whose requests a proxy with TLS is dev.example.test. The
// proxy leads to the address.
func proxyTo(t *testing.T, address string) *http.Client {
	t.Helper()
	to, err := url.Parse(address)
	testkit.Must(t, err)
	server := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
	}})
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	transport := server.Client().Transport.(*http.Transport).Clone()
	transport.TLSClientConfig.RootCAs, transport.TLSClientConfig.ServerName = roots, "example.com"
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}
	return &http.Client{Transport: transport}
}

// TestIssuer: behind a proxy with TLS of one's own, svc dev is the service at the proxy's
// address. Commands reach it on this machine.
func TestIssuer(t *testing.T) {
	t.Parallel()
	w := &world{T: t, data: demoFolder(t)}
	w.base, _, _ = devFor(t, w.data, hasDemo, "--issuer", proxied+"/")
	running, err := folder.Find(t.Context(), w.data)
	testkit.Must(t, err)
	if w.base != proxied || running.BaseURL != proxied || !strings.HasPrefix(running.Local, "http://127.0.0.1:") {
		t.Fatalf("%s, %+v", w.base, running)
	}
	client := proxyTo(t, running.Local)
	var metadata map[string]any
	read := func(path, token string) (status int) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, proxied+path, nil)
		testkit.Must(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		res, err := client.Do(r)
		testkit.Must(t, err)
		defer func() { _ = res.Body.Close() }()
		_ = json.NewDecoder(res.Body).Decode(&metadata) // only the metadata is read
		return res.StatusCode
	}
	read("/.well-known/openid-configuration", "")
	for _, name := range []string{"issuer", "authorization_endpoint", "token_endpoint", "jwks_uri",
		"end_session_endpoint"} {
		if address, _ := metadata[name].(string); !strings.HasPrefix(address, proxied) {
			t.Errorf("%s is %s", name, address)
		}
	}
	tokens, err := flow.Token(t.Context(), flow.Options{BaseURL: proxied, Tenant: "metro", Audience: "rider",
		Email: "rider1@metro.example", Password: demo.Password, HTTPClient: client})
	testkit.Must(t, err)
	ofCommand := w.token("driver", "driver1@metro.example")
	for _, token := range []string{tokens.AccessToken, ofCommand} {
		if got := read("/api/v1/me", token); got != http.StatusOK {
			t.Errorf("GET /me through the proxy: %d", got)
		}
	}
	w.ok("status")
	if got := read("/dev/mail", ""); got != http.StatusNotFound {
		t.Errorf("the outbox through the proxy: %d", got)
	}
	jar, err := cookiejar.New(nil)
	testkit.Must(t, err)
	client.Jar = jar
	read("/oauth/apps", "")
	at, _ := url.Parse(proxied)
	for _, cookie := range jar.Cookies(at) {
		if !strings.HasPrefix(cookie.Name, "__Host-") {
			t.Errorf("the cookie %s is not bound to the host", cookie.Name)
		}
	}
}

// Only the https address of a host is an issuer.
func TestIssuerIsAnAddress(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{"http://dev.example.test", "dev.example.test", "https://", "https://dev.example.test/x",
		"https://dev.example.test?x=1", "https://a@dev.example.test", "https://dev.example.test#x",
		"https://Dev.example.test", "https://dev.example.test:", "ftp://dev.example.test",
		"https://dev.example.test//", "https:// "} {
		var out, errs bytes.Buffer
		code := newCLI(&out, &errs).Run(t.Context(), []string{"dev", "--data", t.TempDir(), "--issuer", wrong})
		if code != 2 || !strings.Contains(errs.String(), "https://dev.example.test") {
			t.Errorf("%q: %d %s", wrong, code, errs.String())
		}
	}
}

// TestLocalKeys: svc dev takes a client whose keys are at an address of this machine, with any port.
func TestLocalKeys(t *testing.T) {
	t.Parallel()
	w := &world{T: t, data: demoFolder(t)}
	w.base, _, _ = devFor(t, w.data, hasDemo)
	register := func(uri string) int {
		body, err := json.Marshal(map[string]any{"client_name": "Suite", "redirect_uris": []string{"https://app.example/cb"},
			"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": uri})
		testkit.Must(t, err)
		res, err := http.Post(w.base+"/oauth/register", "application/json", bytes.NewReader(body)) //nolint:noctx // ends
		testkit.Must(t, err)
		defer func() { _ = res.Body.Close() }()
		return res.StatusCode
	}
	for uri, want := range map[string]int{"https://localhost:8443/jwks": 201, "http://localhost:8000/jwks": 201,
		"http://127.0.0.1:8000/jwks": 201, "https://[::1]:8443/jwks": 201, "https://keys.example/jwks": 201,
		"https://keys.example:8443/jwks": 400, "http://keys.example/jwks": 400, "https://localhost.example:8443/jwks": 400,
		"https://a@localhost:8443/jwks": 400, "file:///jwks": 400, "http://10.0.0.1:8000/jwks": 400,
		"http://localhost:8000/jwks#x": 400, "http://localhost:99999/jwks": 400, "http://localhost:0/jwks": 400} {
		if got := register(uri); got != want {
			t.Errorf("%s: %d, want %d", uri, got, want)
		}
	}
}
