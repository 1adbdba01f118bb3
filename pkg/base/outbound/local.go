package outbound

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
)

// Local returns a transport for a developer's machine: the names localhost, 127.0.0.1 and
// ::1 lead to the machine itself, by http or https and to any port. There it accepts any
// certificate, because nobody can intercept a connection within the machine. Requests to
// all other hosts use Public.
func Local() http.RoundTripper {
	dialer := &net.Dialer{Timeout: stepTime}
	return local{Public(), &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
			if err != nil {
				conn, err = dialer.DialContext(ctx, "tcp", net.JoinHostPort("::1", port))
			}
			return conn, err
		},
		TLSClientConfig:        &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // this machine only
		TLSHandshakeTimeout:    stepTime,
		ResponseHeaderTimeout:  stepTime,
		MaxResponseHeaderBytes: 16 << 10,
		DisableKeepAlives:      true,
	}}
}

// local sends requests to this machine with own, and all others with public.
type local struct{ public, own http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l local) RoundTrip(r *http.Request) (*http.Response, error) {
	switch r.URL.Hostname() {
	case "localhost", "127.0.0.1", "::1":
		return l.own.RoundTrip(r)
	}
	return l.public.RoundTrip(r)
}
