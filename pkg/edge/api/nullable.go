package api

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Nullable is an object of a response that may be null. huma's tags cannot
// declare that an object may be null. A nil Value becomes null.
type Nullable[T any] struct{ Value *T }

// MarshalJSON writes the object or null.
func (n Nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.Value) }

// UnmarshalJSON reads the object or null.
func (n *Nullable[T]) UnmarshalJSON(raw []byte) error {
	n.Value = nil
	if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return nil
	}
	n.Value = new(T)
	return json.Unmarshal(raw, n.Value)
}

// Schema returns the schema of the object or null.
func (Nullable[T]) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{r.Schema(reflect.TypeFor[T](), true, ""), {Type: "null"}}}
}

// Field is a text member of a request that may be absent, null or a text.
type Field struct {
	Set   bool // the member was present
	Value *string
}

// UnmarshalJSON reads the text or null.
func (f *Field) UnmarshalJSON(text []byte) error {
	f.Set = true
	return json.Unmarshal(text, &f.Value)
}

// Schema returns the schema of a text or null.
func (Field) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Nullable: true}
}
