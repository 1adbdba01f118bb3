package protocol

import (
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
		path, ours := strings.CutPrefix(address, base)
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
