package clients

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Bounds of one fetch of a client's document or keys.
const (
	documentTime = 5 * time.Second // for DNS, connection, TLS, headers and body in total
	documentSize = 64 << 10        // bytes of body
)

// fetchError reports that a document or a key set could not be fetched. The
// caller of the endpoint must not learn the cause, because the causes would let
// an attacker map internal networks.
type fetchError struct{ cause error }

func (e *fetchError) Error() string { return "fetching from a client's address: " + e.cause.Error() }
func (e *fetchError) Unwrap() error { return e.cause }

// fetchDocument makes one request for a document or key set and follows no
// redirect. life is how long the response may be cached, or 0 (see freshness).
// The error is a *fetchError.
func fetchDocument(ctx context.Context, transport http.RoundTripper, address string) (body []byte, life time.Duration,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, documentTime)
	defer cancel()
	//nolint:gosec // the transport reaches public addresses only
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, 0, &fetchError{err}
	}
	req.Header.Set("Accept", "application/json")
	res, err := transport.RoundTrip(req) // RoundTrip follows no redirects and sends no cookies
	if err != nil {
		return nil, 0, &fetchError{err}
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, 0, &fetchError{fmt.Errorf("status %d", res.StatusCode)}
	}
	if !isJSON(res.Header.Get("Content-Type")) {
		return nil, 0, &fetchError{errors.New("the Content-Type is not JSON")}
	}
	if body, err = io.ReadAll(io.LimitReader(res.Body, documentSize+1)); err != nil {
		return nil, 0, &fetchError{err}
	}
	if len(body) > documentSize {
		return nil, 0, &fetchError{errors.New("the body is larger than 64 KiB")}
	}
	return body, freshness(res.Header), nil
}

// isJSON reports whether a media type is application/json or
// application/…+json.
func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "application/json" || (strings.HasPrefix(kind, "application/") &&
		strings.HasSuffix(kind, "+json")))
}

// freshness returns max-age (RFC 9111 section 5.2.2.1). It returns 0 if the
// response has no valid max-age, or has no-store or no-cache.
func freshness(h http.Header) time.Duration {
	var life time.Duration
	for directive := range strings.SplitSeq(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch strings.ToLower(name) {
		case "no-store", "no-cache":
			return 0
		case "max-age":
			if seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31); err == nil {
				life = time.Duration(seconds) * time.Second
			}
		}
	}
	return life
}

// guarded returns a transport that speaks TLS to public addresses only. It
// resolves the name once and dials the address that it checked, so a second DNS
// response cannot redirect it (DNS rebinding). It ignores proxy settings of the
// environment.
func guarded(lookup func(ctx context.Context, host string) ([]netip.Addr, error),
	dial func(ctx context.Context, to netip.AddrPort) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, fmt.Errorf("address: %w", err)
			}
			if port != "443" {
				return nil, fmt.Errorf("the port is %s, expected 443", port)
			}
			found, err := lookup(ctx, host)
			if err != nil {
				return nil, fmt.Errorf("resolving: %w", err)
			}
			if len(found) == 0 {
				return nil, errors.New("resolving: no address")
			}
			for _, at := range found { // a legitimate host never has public and private addresses
				if !public(at) {
					return nil, errors.New("the host has an address that is not public")
				}
			}
			return dialFirst(ctx, found, dial)
		},
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    documentTime,
		ResponseHeaderTimeout:  documentTime,
		MaxResponseHeaderBytes: 16 << 10,
		DisableKeepAlives:      true,
		DisableCompression:     true,
	}
}

// dialFirst tries at most three addresses and returns the first connection that
// succeeds.
func dialFirst(ctx context.Context, found []netip.Addr, dial func(context.Context, netip.AddrPort) (net.Conn,
	error)) (net.Conn, error) {
	var failed error
	for _, at := range found[:min(3, len(found))] {
		conn, err := dial(ctx, netip.AddrPortFrom(at.Unmap(), 443))
		if err == nil {
			return conn, nil
		}
		failed = err
	}
	return nil, fmt.Errorf("connecting: %w", failed)
}

// publicInternet returns the guarded transport with the machine's resolver and
// network.
func publicInternet() *http.Transport {
	lookup := func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
	dialer := &net.Dialer{Timeout: 2 * time.Second}
	return guarded(lookup, func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		return dialer.DialContext(ctx, "tcp", to.String())
	})
}

// notPublic lists special-purpose ranges of the IANA registries. Either no
// client's host is in such a range, or its addresses can encode another
// address, which may be private. Of IPv6, notPublic lists only ranges within
// globalUnicast.
var notPublic = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24",
	"192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",
	"198.51.100.0/24",
	"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
)

// globalUnicast is all IPv6 space allocated for global unicast. Addresses
// outside it (loopback, link-local, unique local, NAT64, multicast) are not
// public.
var globalUnicast = netip.MustParsePrefix("2000::/3")

func prefixes(all ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(all))
	for i, one := range all {
		out[i] = netip.MustParsePrefix(one)
	}
	return out
}

// public reports whether an address is publicly reachable on the Internet.
func public(at netip.Addr) bool {
	at = at.Unmap()
	if !at.IsValid() || at.Zone() != "" || (at.Is6() && !globalUnicast.Contains(at)) {
		return false
	}
	for _, p := range notPublic {
		if p.Contains(at) {
			return false
		}
	}
	return true
}
