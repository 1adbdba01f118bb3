package protocol

import (
	_ "embed" // for the list of scopes
	"slices"
	"strings"
)

// offeredList lists the scopes that some endpoint of the API needs. This package
// does not import the declarations of the endpoints. Therefore `make golden`
// writes the list from them.
//
//go:embed offered_scopes.txt
var offeredList string

// offered are the scopes of offeredList.
var offered = strings.Fields(offeredList)

// SplitOffered splits scopes into those that some endpoint needs now, and the others. A
// client can do nothing with the others until such an endpoint exists. They can be granted
// because the specification has them; metadata, challenges and the MCP server omit them.
func SplitOffered(scopes []string) (now, later []string) {
	for _, scope := range scopes {
		if slices.Contains(offered, scope) {
			now = append(now, scope)
		} else {
			later = append(later, scope)
		}
	}
	return now, later
}
