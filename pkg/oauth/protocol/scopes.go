package protocol

import (
	_ "embed" // for the list of scopes
	"slices"
	"strings"
)

// offeredList has the scopes that an operation of the service needs. This
// package does not import the rows of the API. Therefore `make golden` writes
// the list from these rows.
//
//go:embed offered_scopes.txt
var offeredList string

var offered = strings.Fields(offeredList)

// SplitOffered returns the scopes that an operation needs, and the others. A
// client can do nothing with the others until such an operation exists. They can be granted
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
