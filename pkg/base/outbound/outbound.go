// Package outbound reaches addresses that strangers named: the documents of OAuth
// clients, and the routing engines of companies. Its transport connects to the
// public Internet only, so nobody can make the service call an internal address.
package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// stepTime bounds each step of a request: the TLS handshake, and the wait for the
// response's header.
const stepTime = 5 * time.Second

// ErrNotPublic means that a host has an address that is not public.
var ErrNotPublic = errors.New("the host has an address that is not public")

// Guarded returns a transport that speaks TLS to public addresses only. It
// resolves the name once and dials the address that it checked, so a second DNS
// response cannot redirect it (DNS rebinding). It ignores proxy settings of the
// environment.
func Guarded(lookup func(ctx context.Context, host string) ([]netip.Addr, error),
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
				if !IsPublic(at) {
					return nil, ErrNotPublic
				}
			}
			return dialFirst(ctx, found, dial)
		},
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    stepTime,
		ResponseHeaderTimeout:  stepTime,
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

// Public returns a transport of Guarded that uses the machine's resolver and network.
func Public() *http.Transport {
	lookup := func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
	dialer := &net.Dialer{Timeout: 2 * time.Second}
	return Guarded(lookup, func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		return dialer.DialContext(ctx, "tcp", to.String())
	})
}

// notPublic lists special-purpose ranges of the IANA registries. Either no
// public host is in such a range, or its addresses can encode another
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

// prefixes parses IP ranges in CIDR notation. It panics if one is not valid.
func prefixes(all ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(all))
	for i, one := range all {
		out[i] = netip.MustParsePrefix(one)
	}
	return out
}

// IsPublic reports whether an address is publicly reachable on the Internet.
func IsPublic(at netip.Addr) bool {
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
