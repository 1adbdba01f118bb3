package clients

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc/pkg/base/outbound"
)

func TestDocumentURL(t *testing.T) {
	for id, want := range map[string]bool{
		"https://app.example/client":                      true,
		"https://app.example/client.json":                 true,
		"https://a.b-c.example/x/y":                       true,
		"https://xn--bcher-kva.example/c":                 true,
		"https://app.example/" + strings.Repeat("a", 400): false,
		"http://app.example/client":                       false,
		"HTTPS://app.example/client":                      false,
		"https://app.example":                             false,
		"https://app.example/":                            false,
		"https://app.example/a/../b":                      false,
		"https://app.example/./b":                         false,
		"https://app.example/%2e%2e/b":                    false,
		"https://app.example/c#f":                         false,
		"https://app.example/c#":                          false,
		"https://app.example/c?x=1":                       false,
		"https://app.example/c?":                          false,
		"https://user@app.example/c":                      false,
		"https://user:secret@app.example/c":               false,
		"https://app.example:443/c":                       false,
		"https://app.example:8443/c":                      false,
		"https://app.example:/c":                          false,
		"https://APP.example/c":                           false,
		"https://app.example./c":                          false,
		"https://app..example/c":                          false,
		"https://-app.example/c":                          false,
		"https://localhost/c":                             false,
		"https://127.0.0.1/c":                             false,
		"https://127.1/c":                                 false,
		"https://0x7f.0.0.0x1/c":                          false,
		"https://2130706433/c":                            false,
		"https://[::1]/c":                                 false,
		"https://[::ffff:127.0.0.1]/c":                    false,
		"https://app.example\\@evil.example/c":            false,
		"https://app.example/c d":                         false,
		"https://bücher.example/c":                        false,
		"https:app.example/c":                             false,
		"https:///c":                                      false,
		"file:///etc/passwd":                              false,
		"cli_01J00000000000000000000000":                  false,
		"":                                                false,
	} {
		if _, got := documentURL(id); got != want {
			t.Errorf("%q: %v, want %v", id, got, want)
		}
	}
}

func TestPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"8.8.8.8": true, "192.0.1.1": true, "172.32.0.1": true, "100.128.0.1": true, "2606:4700::1111": true,
		"2a00:1450::1": true, "::ffff:8.8.8.8": true,
		"0.0.0.0": false, "0.1.2.3": false, "10.1.2.3": false, "100.64.0.1": false, "127.0.0.1": false,
		"127.255.255.254": false,
		"169.254.169.254": false, "169.254.170.2": false, "172.16.0.1": false, "172.31.255.255": false, "192.0.0.170": false,
		"192.0.2.1":   false,
		"192.88.99.1": false, "192.168.1.1": false, "198.18.0.1": false, "198.19.255.255": false, "198.51.100.1": false,
		"203.0.113.1": false,
		"224.0.0.1":   false, "239.255.255.250": false, "240.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::127.0.0.1": false,
		"64:ff9b::7f00:1": false, "64:ff9b:1::1": false,
		"100::1": false, "2001::1": false, "2001:db8::1": false, "2002:7f00:1::": false, "3fff::1": false, "5f00::1": false,
		"fc00::1": false, "fd00:ec2::254": false,
		"fe80::1": false, "fe80::1%eth0": false, "2606:4700::1%eth0": false, "fec0::1": false, "ff02::1": false,
	} {
		if got := outbound.IsPublic(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	if outbound.IsPublic(netip.Addr{}) {
		t.Error("no address at all is public")
	}
}

// remote is a web server of the test. Its name resolves to 8.8.8.8, or to the addresses
// that the test sets.
type remote struct {
	server    *httptest.Server
	transport *http.Transport
	names     []string // addresses to which the name resolves
	lookups   atomic.Int64
	dialled   []string
}

func newRemote(t *testing.T, handle http.HandlerFunc) *remote {
	t.Helper()
	r := &remote{server: httptest.NewTLSServer(handle), names: []string{"8.8.8.8"}}
	t.Cleanup(r.server.Close)
	lookup := func(context.Context, string) ([]netip.Addr, error) {
		r.lookups.Add(1)
		var out []netip.Addr
		for _, one := range r.names {
			out = append(out, netip.MustParseAddr(one))
		}
		return out, nil
	}
	r.transport = outbound.Guarded(lookup, func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		r.dialled = append(r.dialled, to.String())
		return (&net.Dialer{}).DialContext(ctx, "tcp", r.server.Listener.Addr().String())
	})
	r.transport.TLSClientConfig.RootCAs = r.server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	return r
}

const remoteURL = "https://example.com/client" // the name in the certificate

func (r *remote) fetch(ctx context.Context, address string) (string, time.Duration, error) {
	body, life, err := fetchDocument(ctx, r.transport, address)
	return string(body), life, err
}

// The guard resolves a name once, checks the addresses and dials one that it
// checked.
func TestDocumentGuard(t *testing.T) {
	for _, test := range []struct {
		name, address string
		names         []string
		good          bool
	}{
		{"public", remoteURL, []string{"8.8.8.8"}, true},
		{"public, version 6", remoteURL, []string{"2606:4700::1111", "8.8.8.8"}, true},
		{"loopback", remoteURL, []string{"127.0.0.1"}, false},
		{"instance metadata", remoteURL, []string{"169.254.169.254"}, false},
		{"private among public", remoteURL, []string{"8.8.8.8", "10.0.0.1"}, false},
		{"mapped loopback", remoteURL, []string{"::ffff:127.0.0.1"}, false},
		{"no address", remoteURL, nil, false},
		{"another port", "https://example.com:8443/client", []string{"8.8.8.8"}, false},
		{"plain http", "http://example.com/client", []string{"8.8.8.8"}, false},
		{"an address in place of a name", "https://127.0.0.1/client", []string{"127.0.0.1"}, false},
		{"a certificate of another name", "https://other.example/client", []string{"8.8.8.8"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			asked := atomic.Int64{}
			r := newRemote(t, func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, "{}")
			})
			r.names = test.names
			body, _, err := r.fetch(t.Context(), test.address)
			if (err == nil) != test.good || (asked.Load() == 1) != test.good || (body == "{}") != test.good {
				t.Errorf("%q %v, asked %d times", body, err, asked.Load())
			}
			if r.lookups.Load() > 1 {
				t.Errorf("the name was resolved %d times: a second answer may differ", r.lookups.Load())
			}
			if test.good && r.dialled[0] != netip.AddrPortFrom(netip.MustParseAddr(test.names[0]), 443).String() {
				t.Errorf("dialled %v", r.dialled)
			}
			var failed *fetchError
			if !test.good && !errors.As(err, &failed) {
				t.Errorf("%v is not a document's error", err)
			}
		})
	}
	if outbound.Public().Proxy != nil {
		t.Error("a proxy of the environment would be asked")
	}
}

// Rules for the response of a server: no redirect is followed, the size is
// limited, the type is JSON.
func TestDocumentAnswers(t *testing.T) {
	plain := func(status int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "{}")
		}
	}
	sized := func(n int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, strings.Repeat(" ", n-2)+"{}")
		}
	}
	for _, test := range []struct {
		name   string
		handle http.HandlerFunc
		good   bool
		life   time.Duration
	}{
		{"plain", plain(200), true, 0},
		{"a kind of JSON", plain(200, "Content-Type", "application/oauth-client+json; charset=utf-8"), true, 0},
		{"for a minute", plain(200, "Cache-Control", "public, max-age=60"), true, time.Minute},
		{"not to be stored", plain(200, "Cache-Control", "max-age=60, no-store"), true, 0},
		{"for a text", plain(200, "Cache-Control", "max-age=1h"), true, 0},
		{"largest", sized(documentSize), true, 0},
		{"too large", sized(documentSize + 1), false, 0},
		{"HTML", plain(200, "Content-Type", "text/html"), false, 0},
		{"no type", plain(200, "Content-Type", ""), false, 0},
		{"created", plain(201), false, 0},
		{"moved", plain(301, "Location", "https://example.com/other"), false, 0},
		{"found", plain(302, "Location", "http://169.254.169.254/latest/meta-data/"), false, 0},
		{"see other", plain(303, "Location", remoteURL), false, 0},
		{"temporarily moved", plain(307, "Location", remoteURL), false, 0},
		{"not found", plain(404), false, 0},
		{"failed", plain(500), false, 0},
		{"large headers", plain(200, "X-Large", strings.Repeat("a", 100_000)), false, 0},
		{"cut off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "{}")
		}, false, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			asked := atomic.Int64{}
			r := newRemote(t, func(w http.ResponseWriter, req *http.Request) {
				asked.Add(1)
				test.handle(w, req)
			})
			_, life, err := r.fetch(t.Context(), remoteURL)
			if (err == nil) != test.good || life != test.life || asked.Load() > 1 {
				t.Errorf("%v, %v, asked %d times", life, err, asked.Load())
			}
		})
	}
}

// expiring is a context whose deadline passes when the test closes over.
type expiring struct {
	context.Context
	over chan struct{}
}

func (e expiring) Done() <-chan struct{} { return e.over }

func (e expiring) Err() error {
	select {
	case <-e.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// A response that never ends is cut off at the deadline.
func TestDocumentDeadline(t *testing.T) {
	ctx, ended := expiring{t.Context(), make(chan struct{})}, make(chan struct{})
	r := newRemote(t, func(w http.ResponseWriter, req *http.Request) {
		defer close(ended)
		w.Header().Set("Content-Type", "application/json")
		for n := 0; req.Context().Err() == nil; n++ {
			if n == 3 { // the response is under way
				close(ctx.over)
			}
			_, _ = io.WriteString(w, " ")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	})
	if _, _, err := r.fetch(ctx, remoteURL); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	<-ended
	if documentTime > 5*time.Second {
		t.Errorf("a fetch may take %v", documentTime)
	}
}

// The cache is limited, and evicts first the document that expires first.
func TestDocumentsKept(t *testing.T) {
	d := newDocuments(http.DefaultTransport)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	name := func(i int) string { return fmt.Sprintf("https://app.example/%d", i) }
	for i := range 3 * mostDocuments {
		d.put(Client{ID: name(i), DocumentUntil: now.Add(time.Duration(i+1) * time.Second)})
	}
	if len(d.byID) != mostDocuments {
		t.Errorf("%d are kept", len(d.byID))
	}
	if _, ok := d.get(name(0), now, time.Time{}); ok {
		t.Error("the first to end is still kept")
	}
	last := 3*mostDocuments - 1
	if _, ok := d.get(name(last), now, time.Time{}); !ok {
		t.Error("the last is not kept")
	}
	if _, ok := d.get(name(last), now.Add(time.Duration(last+1)*time.Second), time.Time{}); ok {
		t.Error("a document outlives its time")
	}
}

func FuzzDocument(f *testing.F) {
	at, _ := url.Parse("https://app.example/client")
	f.Add([]byte(`{"client_id":"https://app.example/client","redirect_uris":["https://app.example/cb"]}`))
	f.Add([]byte(`{"client_id":"https://app.example/client","client_secret":null,"redirect_uris":["http://127.0.0.1/"],"scope":"openid rider.trips:read"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := parseDocument(body, at, Client{})
		if err != nil {
			return
		}
		if c.ID != at.String() || !c.Public() || c.SecretHash != "" || len(c.RedirectURIs) == 0 || len(c.Scopes) == 0 {
			t.Errorf("%q: %+v", body, c)
		}
	})
}

func FuzzDocumentURL(f *testing.F) {
	f.Add("https://app.example/client")
	f.Add("https://user@app.example:443/../c?x#y")
	f.Fuzz(func(t *testing.T, id string) {
		u, ok := documentURL(id)
		if !ok {
			return
		}
		again, err := url.Parse(id)
		if err != nil || again.Host != u.Host || again.User != nil || again.Scheme != "https" ||
			strings.ContainsAny(id, "#\\ ") || again.Port() != "" {
			t.Errorf("%q is accepted", id)
		}
		if _, err := netip.ParseAddr(u.Hostname()); err == nil {
			t.Errorf("%q is an address", id)
		}
	})
}
