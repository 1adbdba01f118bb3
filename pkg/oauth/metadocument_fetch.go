package oauth

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

// Bounds of one fetch of a client's document.
const (
	documentTime = 5 * time.Second // name, connection, TLS, headers and body together
	documentSize = 64 << 10        // bytes of body
)

// documentError is a document that could not be had. What a caller is told does
// not depend on why: an answer that did would map networks for whoever asks.
type documentError struct{ cause error }

func (e *documentError) Error() string { return "client metadata document: " + e.cause.Error() }
func (e *documentError) Unwrap() error { return e.cause }

// fetchDocument reads the document at the address, once and without following
// anything. life is how long the answer may be kept, 0 where it does not say.
func fetchDocument(ctx context.Context, transport http.RoundTripper, address string) (body []byte, life time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, documentTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil) //nolint:gosec // what the transport is for: it reaches public addresses alone
	if err != nil {
		return nil, 0, &documentError{err}
	}
	req.Header.Set("Accept", "application/json")
	res, err := transport.RoundTrip(req) // which follows no redirect, and knows no cookies
	if err != nil {
		return nil, 0, &documentError{err}
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, 0, &documentError{fmt.Errorf("status %d", res.StatusCode)}
	}
	if !isJSON(res.Header.Get("Content-Type")) {
		return nil, 0, &documentError{errors.New("the type is not application/json")}
	}
	if body, err = io.ReadAll(io.LimitReader(res.Body, documentSize+1)); err != nil {
		return nil, 0, &documentError{err}
	}
	if len(body) > documentSize {
		return nil, 0, &documentError{errors.New("larger than 64 KiB")}
	}
	return body, freshness(res.Header), nil
}

// isJSON says whether a media type is application/json or a kind of it.
func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "application/json" || (strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")))
}

// freshness reads max-age (RFC 9111 section 5.2.2.1), 0 where there is none or
// the answer should not be kept.
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

// guarded gives a transport that speaks TLS to public addresses alone. The name
// is resolved once and the address that was looked at is the one dialled, so
// that no second answer of a name server can lead elsewhere; no proxy of the
// environment is asked.
func guarded(lookup func(ctx context.Context, host string) ([]netip.Addr, error), dial func(ctx context.Context, to netip.AddrPort) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, fmt.Errorf("address: %w", err)
			}
			if port != "443" {
				return nil, fmt.Errorf("port %s is not that of https", port)
			}
			found, err := lookup(ctx, host)
			if err != nil {
				return nil, fmt.Errorf("resolving: %w", err)
			}
			if len(found) == 0 {
				return nil, errors.New("resolving: no address")
			}
			for _, at := range found { // one that is not public spoils all: nobody has both
				if !public(at) {
					return nil, errors.New("not a public address")
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

// dialFirst connects to the first address that answers, of three at most.
func dialFirst(ctx context.Context, found []netip.Addr, dial func(context.Context, netip.AddrPort) (net.Conn, error)) (net.Conn, error) {
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

// onInternet is guarded with the machine's resolver and network.
func onInternet() *http.Transport {
	lookup := func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
	dialer := &net.Dialer{Timeout: 2 * time.Second}
	return guarded(lookup, func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		return dialer.DialContext(ctx, "tcp", to.String())
	})
}

// notPublic lists what of the address space is not reachable for everybody, or
// is another way to write an address that might not be (the IANA registries of
// special-purpose addresses).
var notPublic = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
)

// globalUnicast is all of IPv6 that is given out: what is outside of it
// (loopback, link-local, unique local, NAT64, multicast) is not public.
var globalUnicast = netip.MustParsePrefix("2000::/3")

func prefixes(all ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(all))
	for i, one := range all {
		out[i] = netip.MustParsePrefix(one)
	}
	return out
}

// public says whether an address is one of the Internet's.
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
