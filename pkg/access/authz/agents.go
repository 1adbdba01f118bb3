package authz

import (
	"cmp"
	"slices"
	"strings"

	"svc/pkg/data/table"
)

// AgentActions is the name of an attribute. In a tenant's flags it says what the
// tenant lets agents do. In a consent, and in the audit record of an agent's
// token, it says what the tenant let agents do when the person consented.
const AgentActions = "agentActions"

// The values of AgentActions. The default is AgentsConfirm.
const (
	AgentsOff     = "off"     // nothing
	AgentsRead    = "read"    // only read
	AgentsConfirm = "confirm" // everything, but a person must confirm what moves people or money
	AgentsAll     = "all"     // everything
)

var agentModes = []string{AgentsOff, AgentsRead, AgentsConfirm, AgentsAll} // the strictest first

// AgentMode returns the item's AgentActions, AgentsConfirm if it has none.
func AgentMode(it table.Item) string { return cmp.Or(it.Text(AgentActions), AgentsConfirm) }

// Stricter returns the stricter of two values of AgentActions. An unknown value
// is stricter than all others.
func Stricter(a, b string) string {
	if slices.Index(agentModes, b) < slices.Index(agentModes, a) {
		return b
	}
	return a
}

// NamesAgents reports whether resources, in the form that Resources returns,
// contain an address of the MCP server.
func NamesAgents(resources string) bool {
	return slices.ContainsFunc(strings.Fields(resources), func(path string) bool {
		r, known := ParseResource(path)
		return known && r.MCP()
	})
}

// AgentMode returns what the token lets an agent do: the stricter of what the
// tenant allows now and what the person consented to. It returns "" if the token
// is not an agent's. A token is an agent's if its authorization named an address
// of the MCP server, even where the token is used for the API.
func (l Live) AgentMode() string {
	if !l.Token.Has(AgentActions) && !NamesAgents(l.Token.Text("resource")) { // a record of an earlier version
		return ""
	}
	return Stricter(AgentMode(l.Token), AgentMode(l.Flags))
}

// AgentsPath returns the path of the MCP server for an audience of the tenant
// with the slug.
func AgentsPath(audience Audience, slug string) string {
	if audience == Dashboard {
		return "/mcp"
	}
	return "/mcp/" + string(audience) + "/" + slug
}

// SignedIn is the attribute of a token's record with the time at which its person
// signed in, Unix seconds.
const SignedIn = "signedIn"
