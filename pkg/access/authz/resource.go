package authz

import (
	"regexp"
	"slices"
	"strings"
)

// API is the path of the protected resource that a token is for if the request
// for the token named none.
const API = "/api/v1"

// Resource is a protected resource (RFC 8707, RFC 9728). An address of the MCP
// server determines the token's audience and, for riders and drivers, its
// tenant.
type Resource struct {
	Path     string   // after the service's address: "/api/v1", "/mcp/rider/metro"
	Audience Audience // "" for the API, which serves all audiences
	Tenant   string   // slug; "" for the API and for operators
	Slash    string   // "/" if a client wrote the address with a slash at its end
}

// agents matches the paths of the MCP server. Its groups are the audience and the
// slug of the tenant, both empty for operators.
var agents = regexp.MustCompile(`^/mcp(?:/(rider|driver)/([a-z0-9][a-z0-9-]{0,39}))?$`)

// ParseResource returns the resource with the path, and false if there is none.
// An address of the MCP server may end with a slash. ParseResource does not check
// that the tenant exists.
func ParseResource(path string) (Resource, bool) {
	if path == API {
		return Resource{Path: path}, true
	}
	path, slashed := strings.CutSuffix(path, "/")
	m := agents.FindStringSubmatch(path)
	if m == nil {
		return Resource{}, false
	}
	r := Resource{Path: path, Audience: Audience(m[1]), Tenant: m[2]}
	if slashed {
		r.Slash = "/"
	}
	if r.Audience == "" {
		r.Audience = Dashboard
	}
	return r, true
}

// MCP reports whether the resource is an address of the MCP server.
func (r Resource) MCP() bool { return r.Audience != "" }

// Metadata returns the address of the resource's metadata (RFC 9728 section
// 3.1). It ends in a slash if the resource's address does, because clients compare the resource
// in the metadata with the address that they asked for (section 3.3).
func (r Resource) Metadata(baseURL string) string {
	const document = "/.well-known/oauth-protected-resource"
	if !r.MCP() {
		return baseURL + document
	}
	return baseURL + document + r.Path + r.Slash
}

// Resources returns the paths in the form of an audit record's attribute
// resource: sorted, and separated by blanks. It returns "" if the API is the
// only path. It sorts paths in place.
func Resources(paths []string) string {
	slices.Sort(paths)
	paths = slices.Compact(paths)
	if slices.Equal(paths, []string{API}) {
		return ""
	}
	return strings.Join(paths, " ")
}

// For reports whether the token was issued for the resource with the path
// resource. A token whose audit record has no attribute resource was issued for
// the API.
func (l Live) For(resource string) bool {
	given := l.Token.Text("resource")
	if given == "" {
		return resource == API
	}
	for path := range strings.FieldsSeq(given) {
		if path == resource {
			return true
		}
	}
	return false
}
