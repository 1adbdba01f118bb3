package wire_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"svc/pkg/data/wire"
)

// TestAddresses: Transport connects to the port of the address, or to the default
// port of its scheme.
func TestAddresses(t *testing.T) {
	for url, want := range map[string]string{
		"http://table.example":          "table.example:80",
		"https://table.example":         "table.example:443",
		"https://table.example:8443/":   "table.example:8443",
		"http://[2001:db8::1]":          "[2001:db8::1]:80",
		"https://[2001:db8::1]":         "[2001:db8::1]:443",
		"http://[2001:db8::1]:8000/a?b": "[2001:db8::1]:8000",
	} {
		got := ""
		transport := &wire.Transport{Dial: func(_ context.Context, _, address string) (net.Conn, error) {
			got = address
			return nil, io.EOF
		}}
		if _, err := post(t.Context(), transport, url, ""); got != want || !errors.Is(err, io.EOF) || !isUnsent(err) {
			t.Errorf("%s: %s, %v", url, got, err)
		}
	}
}

// TestTLS: the server must have a certificate for the host from a known
// authority, and support TLS 1.2 or later. Otherwise Transport sends nothing.
func TestTLS(t *testing.T) {
	start := func(version uint16) *httptest.Server {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(w, r.Body)
		}))
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.TLS = &tls.Config{MaxVersion: version, MinVersion: tls.VersionTLS10} // the client must reject the old ones
		s.StartTLS()
		t.Cleanup(s.Close)
		return s
	}
	now, old := start(tls.VersionTLS13), start(tls.VersionTLS11)
	roots := x509.NewCertPool()
	roots.AddCert(now.Certificate())
	trusting := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	transport := &wire.Transport{TLS: trusting}
	for range 3 {
		if got, err := post(t.Context(), transport, now.URL, "text"); got != "200 text" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	unknown := x509.UnknownAuthorityError{}
	if _, err := post(t.Context(), &wire.Transport{}, now.URL, ""); !errors.As(err, &unknown) || !isUnsent(err) {
		t.Errorf("an unknown authority: %v", err)
	}
	wrong := x509.HostnameError{}
	other := &wire.Transport{TLS: trusting, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, now.Listener.Addr().String())
	}}
	if _, err := post(t.Context(), other, "https://table.invalid", ""); !errors.As(err, &wrong) || !isUnsent(err) {
		t.Errorf("another host's certificate: %v", err)
	}
	for _, transport := range []*wire.Transport{transport, {}} {
		if _, err := post(t.Context(), transport, old.URL, ""); err == nil || !isUnsent(err) {
			t.Errorf("TLS 1.1: %v", err)
		}
	}
}

// TestNoConnection: a request without a connection was not sent, whatever the
// reason.
func TestNoConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	_ = listener.Close()
	if _, err := post(t.Context(), &wire.Transport{}, "http://"+closed, ""); !isUnsent(err) {
		t.Errorf("refused: %v", err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it accepts, but does no handshake
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	transport := &wire.Transport{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		defer cancel()
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	_, err = post(ctx, transport, "https://"+silent.Addr().String(), "")
	if !isUnsent(err) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled in the handshake: %v", err)
	}
}

// kept keeps a request.
type kept struct{ request *http.Request }

func (k *kept) RoundTrip(r *http.Request) (*http.Response, error) {
	k.request = r
	return nil, io.EOF
}

// TestProxy: requests for a proxy go to net/http, with their body in memory.
// net/http reads the environment once in a process, so the test runs in its own.
func TestProxy(t *testing.T) {
	const inside = "SVC_TEST_OF_A_PROXY"
	if os.Getenv(inside) == "" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProxy$")
		again.Env = append(os.Environ(), inside+"=1", "HTTPS_PROXY=http://proxy.example:3128", "NO_PROXY=direct.example",
			"HTTP_PROXY=", "https_proxy=", "no_proxy=")
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	by, dialled := &kept{}, ""
	transport := &wire.Transport{Proxied: by, Dial: func(_ context.Context, _, address string) (net.Conn, error) {
		dialled = address
		return nil, io.ErrClosedPipe
	}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://table.example", struct{ io.Reader }{
		strings.NewReader("text")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := transport.RoundTrip(req); !errors.Is(err, io.EOF) || dialled != "" {
		t.Fatalf("%v, %s", err, dialled)
	}
	body, err := wire.ReadBody(by.request.Body, by.request.ContentLength)
	if err != nil || string(body) != "text" || by.request.ContentLength != 4 || by.request.URL.Host != "table.example" {
		t.Errorf("%q, %v, %d bytes", body, err, by.request.ContentLength)
	}
	if _, err := post(t.Context(), transport, "https://direct.example", ""); dialled != "direct.example:443" {
		t.Errorf("%v, %s", err, dialled)
	}
}
