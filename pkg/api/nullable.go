package api

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Nullable is an object of an answer that may be null, which huma's tags
// cannot say of objects. A nil Value is null.
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

// Schema is the object's schema or null.
func (Nullable[T]) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{AnyOf: []*huma.Schema{r.Schema(reflect.TypeFor[T](), true, ""), {Type: "null"}}}
}
