package clients

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"svc/pkg/base/outbound"
)

// loopback matches a redirect URI of a native application that listens on the
// device (RFC 8252 section 7.3, RFC 9700 section 2.1). Its groups are the scheme
// and name, the port, and the rest.
var loopback = regexp.MustCompile(
	`^(http://(?:127\.0\.0\.1|\[::1\]|localhost))(?::([0-9]{1,5}))?((?:[/?].*)?)$`)

// LoopbackIP reports whether a redirect URI has a loopback IP address. The name
// localhost does not count, because it may resolve to another address (RFC 8252
// section 8.3).
func LoopbackIP(uri string) bool {
	return loopback.MatchString(uri) && !strings.HasPrefix(uri, "http://localhost")
}

// RedirectAllowed reports whether the URI equals a registered one (RFC 9700
// section 4.1.3). The port of a loopback address may differ.
func RedirectAllowed(registered []string, uri string) bool {
	for _, one := range registered {
		if one == uri {
			return true
		}
		had, got := loopback.FindStringSubmatch(one), loopback.FindStringSubmatch(uri)
		if had == nil || got == nil || had[1] != got[1] || had[3] != got[3] {
			continue
		}
		if port, err := strconv.Atoi(got[2]); got[2] == "" || (err == nil && port >= 1 && port <= 65535) {
			return true
		}
	}
	return false
}

// RedirectTarget returns a text that names a redirect URI for a person: its
// host. local reports whether the URI has a private scheme or is on loopback, so
// that it leads to an application on the device. For a private scheme the
// text is only the scheme. The host in such an address means nothing, because
// the device hands the complete address to the application that claims the
// scheme.
func RedirectTarget(uri string) (target string, local bool) {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return uri, false
	case u.Scheme != "https" && u.Scheme != "http":
		return u.Scheme + ":", true
	}
	return u.Host, loopback.MatchString(uri)
}

// redirectFault returns what is wrong with a redirect URI, or "" if it may be
// registered (RFC 6749 section 3.1.2, RFC 8252 section 7). public reports whether the
// client is a public one, and kept whether the client has the address already.
func redirectFault(uri string, public, kept bool) string {
	u, err := parseURI(uri)
	switch {
	case err != nil:
		return err.Error()
	case strings.ContainsRune(uri, '#'):
		return "a fragment is not allowed"
	case strings.ContainsRune(uri, '*'):
		return "a wildcard is not allowed"
	case u.User != nil:
		return "user information is not allowed"
	case dotted(u):
		return "dot segments are not allowed"
	case outbound.CheckPort(u) != "" && !kept:
		return outbound.CheckPort(u)
	}
	for _, name := range ownParameters { // RFC 6749 section 3.1: no parameter occurs twice
		if u.Query().Has(name) {
			return "the parameter " + name + " is reserved for the authorization response"
		}
	}
	switch u.Scheme {
	case "https":
		if u.Hostname() == "" {
			return "it has no host"
		}
		return ""
	case "http":
		if !onLoopback(u) {
			return "http is for loopback addresses only"
		}
		return ""
	}
	return schemeFault(u, public, kept)
}

// schemeFault returns what is wrong with an address of a scheme other than http
// and https, or "". The scheme is a reversed domain name (RFC 8252 section 7.1), or that
// of a known application. Any application may claim a scheme without a dot, so only
// public clients, which have no secret to lose, may have one. The consent page names the
// scheme each time. kept reports whether the client has the address already.
func schemeFault(u *url.URL, public, kept bool) string {
	dot := strings.Contains(u.Scheme, ".")
	switch {
	case !dot && !public:
		return "it must be https, loopback http or a private scheme such as com.example.app " +
			"(other schemes are for token_endpoint_auth_method none only)"
	case kept:
		return ""
	case !isOwnScheme(u.Scheme) && !slices.Contains(knownApps, u.Scheme):
		return "the scheme " + u.Scheme + " is not that of one application (use https, loopback http or your reversed " +
			"domain name as in com.example.app:/callback)"
	case !dot && u.Host == "" && !strings.HasPrefix(u.Path, "/"):
		return "a slash must follow the scheme"
	}
	return ""
}

// ownScheme matches a reversed domain name. Its first label must have the form of a
// top-level domain. This excludes schemes of macOS and iOS such as
// x-apple.systempreferences.
var ownScheme = regexp.MustCompile(`^([a-z]{2,}|xn--[a-z0-9-]+)(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$`)

// systemSchemes begin the schemes of programs that belong to an operating system, such as
// microsoft.windows.camera. No client of this service owns such a domain.
var systemSchemes = []string{"microsoft.", "windows.", "com.microsoft.", "com.apple."}

// isOwnScheme reports whether a scheme is a reversed domain name that a client may own.
func isOwnScheme(scheme string) bool {
	of := func(prefix string) bool { return strings.HasPrefix(scheme, prefix) }
	return ownScheme.MatchString(scheme) && !slices.ContainsFunc(systemSchemes, of)
}

// knownApps are the schemes without a dot with which editors and agents' hosts receive
// their codes. Every other scheme without a dot may start anything on the device.
var knownApps = strings.Fields(`cherrystudio claude code-oss cursor goose kiro lmstudio raycast trae vscode
	vscode-insiders vscodium warp windsurf zed`)

// ownParameters are the parameters of an authorization response (RFC 6749
// sections 4.1.2 and 4.1.2.1, RFC 9207 section 2).
var ownParameters = []string{"code", "state", "iss", "error", "error_description", "error_uri"}

// plainHost matches a host in ASCII, with an optional port. Other letters could look like
// ASCII letters, so a person could take the host for another one.
var plainHost = regexp.MustCompile(`^(|[A-Za-z0-9._*-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]*)?$`)

// parseURI parses an absolute address of ASCII characters. The text of an error is safe to
// show.
func parseURI(uri string) (*url.URL, error) {
	if uri == "" || len(uri) > longestURI {
		return nil, fmt.Errorf("it must have 1 to %d characters", longestURI)
	}
	for _, r := range uri {
		if r <= ' ' || r >= 0x7f || r == '\\' || r == '"' || r == '<' || r == '>' {
			return nil, errors.New("a character is not allowed in an address")
		}
	}
	u, err := url.Parse(uri)
	if err != nil || u.Scheme == "" {
		return nil, errors.New("it is not an absolute address")
	}
	// url.Parse decodes escapes: "m%D0%B5tro.example" would be shown in Cyrillic.
	if !plainHost.MatchString(u.Host) {
		return nil, errors.New("the host must be an ASCII domain name or an IP address")
	}
	return u, nil
}

// onLoopback reports whether the host is a loopback address (RFC 8252 section
// 7.3) or the name localhost. Section 8.3 advises against localhost, but
// developers use it.
func onLoopback(u *url.URL) bool {
	host := u.Hostname()
	return host == "127.0.0.1" || host == "::1" || host == "localhost"
}

// dotted reports whether the path has a segment "." or "..".
func dotted(u *url.URL) bool {
	for segment := range strings.SplitSeq(u.Path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}
