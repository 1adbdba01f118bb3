package api

import (
	"strings"

	"svc/pkg/data/table"
)

// mostBytes is the maximum size of a list's documents in the function's
// response, in bytes. Lambda accepts a response of at most 6 MB.
const mostBytes = 5 << 20

// Fitting returns how many of the items, at least one if there is any, fit into
// the function's response: their documents as JSON inside a JSON string.
func Fitting(items []table.Item) int {
	size := 0
	for _, it := range items {
		size += len(it.Raw())
	}
	if 2*size <= mostBytes { // they fit even if every character gets a backslash
		return len(items)
	}
	size = 0
	for i, it := range items {
		doc := it.Raw()
		size += len(doc) + strings.Count(doc, `"`) + strings.Count(doc, `\`)
		if size > mostBytes && i > 0 {
			return i
		}
	}
	return len(items)
}
