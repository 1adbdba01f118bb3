package authz_test

import (
	"testing"

	"svc/pkg/access/authz"
)

// TestStricter: a value that this version does not know is the strictest, so
// that nothing is permitted by mistake.
func TestStricter(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"all", "all", "all"}, {"all", "confirm", "confirm"}, {"read", "confirm", "read"}, {"off", "read", "off"},
		{"newer", "off", "newer"}, {"", "all", ""},
	} {
		if got := authz.Stricter(c.a, c.b); got != c.want || authz.Stricter(c.b, c.a) != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestNamesAgents: an address of the MCP server counts beside the API's.
func TestNamesAgents(t *testing.T) {
	for resources, want := range map[string]bool{"": false, "/api/v1": false, "/mcp": true, "/mcp/rider/metro": true,
		"/api/v1 /mcp/driver/metro": true, "/mcpx": false} {
		if authz.NamesAgents(resources) != want {
			t.Errorf("%q: %v", resources, !want)
		}
	}
}
