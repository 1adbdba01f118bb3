package page

import (
	"net/url"
	"regexp"
	"strings"
)

// schemes matches the scheme of an address, and hosts its host with an optional port.
var (
	schemes = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)
	hosts   = regexp.MustCompile(`^[a-z0-9.-]+(:[0-9]{1,5})?$`)
)

// formSource returns the source expression (CSP level 3, section 2.3.1) that
// permits a form's response to redirect to the address, or "" if there is none.
// For http and https, the expression is the origin. But for an IPv6 address, which
// CSP cannot express as a host, the expression is the scheme alone. So it is for a
// private-use scheme (RFC 8252 section 7.1).
func formSource(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	switch {
	case !schemes.MatchString(scheme) || scheme == "javascript" || scheme == "data":
		return ""
	case scheme != "http" && scheme != "https":
		return scheme + ":"
	case hosts.MatchString(host):
		return scheme + "://" + host
	case !strings.HasPrefix(host, "["):
		return ""
	}
	return scheme + ":"
}
