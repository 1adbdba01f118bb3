package protocol

import (
	"net/url"
	"strings"

	"svc/pkg/access/authz"
)

// ParseResources parses resource indicators (RFC 8707 section 2). It allows only
// one address of the MCP server, which may be repeated. This address determines
// the token's audience and, for riders and drivers, the tenant. The error is
// invalid_target.
func ParseResources(base string, given []string) ([]authz.Resource, *Error) {
	var out []authz.Resource
	agents := ""
	for _, address := range given {
		path, ours := within(base, address)
		r, known := authz.ParseResource(path)
		if !ours || !known {
			return nil, Refuse("invalid_target", "resource must be %s%s or an address of the MCP server.", base, authz.API)
		}
		if r.MCP() {
			if agents != "" && agents != r.Path {
				return nil, Refuse("invalid_target", "resource names two addresses of the MCP server. A token is for one only.")
			}
			agents = r.Path
		}
		out = append(out, r)
	}
	return out, nil
}

// within returns what follows base in an address. Letter case in the scheme and
// the host, and the scheme's default port, make no difference (RFC 3986 section
// 6.2). An address of a resource has no user, query or fragment.
func within(base, address string) (path string, ok bool) {
	own, err := url.Parse(base)
	given, wrong := url.Parse(address)
	if err != nil || wrong != nil || strings.ContainsAny(address, "?#@") || own.Scheme != given.Scheme ||
		!strings.EqualFold(hostPort(own), hostPort(given)) {
		return "", false
	}
	return strings.CutPrefix(given.EscapedPath(), own.EscapedPath())
}

// hostPort returns the host and the port, without the scheme's default port.
func hostPort(u *url.URL) string {
	defaults := map[string]string{"http": ":80", "https": ":443"}
	return strings.TrimSuffix(u.Host, defaults[u.Scheme])
}
