package api

import (
	"encoding/json"
	"net/http"

	"svc/pkg/signing"
)

// Peek is a request as it came, before it is validated: enough to name the
// items that its handler will want. What is absent or of another kind is "":
// validation will tell.
type Peek struct {
	r     *http.Request
	actor signing.Access
	body  []byte
}

// Path gives a path parameter.
func (p Peek) Path(name string) string { return p.r.PathValue(name) }

// Query gives a query parameter, "" where it is absent.
func (p Peek) Query(name string) string { return p.r.URL.Query().Get(name) }

// Actor is who calls.
func (p Peek) Actor() signing.Access { return p.actor }

// Body gives a top-level member of a JSON body when it is a string, else "".
func (p Peek) Body(name string) (text string) {
	if raw := member(p.body, name); len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// Number gives a top-level member of a JSON body when it is a number, else "".
func (p Peek) Number(name string) json.Number {
	raw := member(p.body, name)
	if len(raw) == 0 || raw[0] != '-' && !digit(raw[0]) {
		return ""
	}
	return json.Number(raw)
}
