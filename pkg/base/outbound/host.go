package outbound

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// CheckHost returns what is wrong with the host and port of an address that a
// stranger typed, "" if nothing is. It resolves no name, because the response would
// then reveal which internal names exist. The transport resolves and checks the name
// at each request.
func CheckHost(u *url.URL) string {
	if message := CheckPort(u); message != "" {
		return message
	}
	if internal(u.Hostname()) {
		return "expected a public host"
	}
	return ""
}

// CheckPort returns what is wrong with the port of an address, "" if nothing is.
func CheckPort(u *url.URL) string {
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "expected a port from 1 to 65535"
		}
	}
	return ""
}

// IsLoopback reports whether a host is this machine: localhost, 127.0.0.1 or ::1.
func IsLoopback(host string) bool {
	return host == "127.0.0.1" || host == "::1" || strings.EqualFold(host, "localhost")
}

// reserved lists last labels (top-level domains) of names outside the public DNS.
var reserved = []string{"localhost", "local", "internal", "home", "arpa", "lan", "test", "invalid", "onion"}

// internal reports whether a host is certainly not public. It is also true for an IP
// address in an unusual notation, such as 0x7f.1, 2130706433 or digits that resolvers
// map to ASCII (UTS 46), such as ①.
func internal(host string) bool {
	if at, err := netip.ParseAddr(host); err == nil {
		return !IsPublic(at)
	}
	host, err := idna.Lookup.ToASCII(host)
	if err != nil {
		return true
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if at, err := netip.ParseAddr(host); err == nil {
		return !IsPublic(at)
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	numeric := last != "" && strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")
	return numeric || !strings.Contains(host, ".") || slices.Contains(reserved, last)
}
