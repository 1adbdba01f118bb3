package api

import (
	"encoding/json"
	"net/http"

	"svc/pkg/signing"
)

// Peek is a request as it came, before it is validated: enough to name the
// items that its handler will want.
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
func (p Peek) Body(name string) string { return member[string](p, name) }

// Number gives a top-level member of a JSON body when it is a number, else "".
func (p Peek) Number(name string) json.Number {
	var raw json.RawMessage
	if raw = member[json.RawMessage](p, name); len(raw) == 0 || raw[0] == '"' {
		return ""
	}
	return member[json.Number](p, name)
}

// member is the zero value for what is absent or of another kind: validation
// will tell.
func member[T any](p Peek, name string) (value T) {
	var members map[string]json.RawMessage
	if json.Unmarshal(p.body, &members) != nil || json.Unmarshal(members[name], &value) != nil {
		var zero T
		return zero
	}
	return value
}
