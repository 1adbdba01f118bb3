package api

import (
	"encoding/json"
	"net/http"

	"svc/pkg/access/signing"
	"svc/pkg/data/table"
)

// Peek is a request before its validation. An endpoint's row uses Peek to name the
// items that its handler needs. A value that is absent or of a different type is "".
type Peek struct {
	r     *http.Request
	actor signing.Access
	body  []byte
	form  string
	seen  *cache[table.Key, table.Item]
}

// Last returns the newest version of an item that this process has read for any
// request, however old. known is false if there is none. Use it only to guess what to
// read early, never to decide anything.
func (p Peek) Last(key table.Key) (it table.Item, known bool) { return p.seen.last(key) }

// Path returns the value of a path parameter.
func (p Peek) Path(name string) string { return p.r.PathValue(name) }

// Query returns the value of a query parameter, the first if it is repeated.
func (p Peek) Query(name string) string { return p.r.URL.Query().Get(name) }

// Actor returns the claims of the caller's token.
func (p Peek) Actor() signing.Access { return p.actor }

// Body returns a top-level member of a JSON body if it is a string, else "".
func (p Peek) Body(name string) (text string) {
	if raw := member(p.body, name); len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// Each returns the values of the member name of the objects in list, a top-level array
// of a JSON body. It skips values that are not strings.
func (p Peek) Each(list, name string) (out []string) {
	var all []map[string]any
	if json.Unmarshal(member(p.body, list), &all) != nil {
		return nil
	}
	for _, one := range all {
		if text, ok := one[name].(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// Number returns a top-level member of a JSON body if it is a number, else "".
func (p Peek) Number(name string) json.Number {
	raw := member(p.body, name)
	if len(raw) == 0 || raw[0] != '-' && !digit(raw[0]) {
		return ""
	}
	return json.Number(raw)
}
