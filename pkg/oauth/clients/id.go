package clients

import (
	"net/netip"
	"net/url"
	"strings"

	"svc/pkg/base/ids"
)

// longestDocumentURL is the maximum length of a client_id that is an address, in
// characters. The address is part of keys of the table.
const longestDocumentURL = 400

// documentURL parses a client_id that is the address of a document. The host
// must be a domain name and the port the default of https. Each address has
// exactly one accepted spelling.
func documentURL(id string) (*url.URL, bool) {
	if len(id) > longestDocumentURL || !strings.HasPrefix(id, "https://") || strings.ContainsAny(id, "?#%") {
		return nil, false
	}
	u, err := parseURI(id)
	if err != nil || u.User != nil || u.Opaque != "" || u.Path == "" || u.Path == "/" || u.Port() != "" ||
		strings.Contains(u.Host, ":") || dotted(u) {
		return nil, false
	}
	if !domainName(u.Host) || u.String() != id {
		return nil, false
	}
	return u, true
}

// domainName reports whether a host is a lower-case domain name of at least two
// labels whose last label is not a number. This excludes every spelling of an
// IP address.
func domainName(host string) bool {
	labels := strings.Split(host, ".")
	if len(host) > 253 || len(labels) < 2 {
		return false
	}
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	top := labels[len(labels)-1]
	return strings.Trim(top, "0123456789") != "" && !strings.HasPrefix(top, "0x")
}

// ValidID reports whether a client_id is CommandLine, or has the form of a registered
// client's id or of a document's address. Only a valid id may become part of a key.
func ValidID(id string) bool {
	if ids.Valid(ids.Client, id) || id == CommandLine {
		return true
	}
	_, ok := documentURL(id)
	return ok
}

// Host returns the host of the address that names a document's client, or ""
// for a registered client. The host is the only verified fact about who such a client is.
func (c Client) Host() string {
	if u, ok := documentURL(c.ID); ok {
		return u.Host
	}
	return ""
}
