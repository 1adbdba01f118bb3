package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/fault"
)

// Bounds of a walk: deeper than any schema, more faults than anybody reads, and
// of each as much of the caller's names, in bytes. Without them a body of
// brackets or nulls costs the square of its size, and so does one of nested
// members with long names.
const (
	deepest      = 32
	mostFaults   = 100
	longestField = 200
)

var errDeep = errors.New("nested too deeply")

// walk reads a JSON body token by token beside its schema and finds what
// decoding hides: malformed or trailing text, a member given twice, null where
// the schema has none, a number beyond any float.
func walk(body []byte, schema *huma.Schema, registry huma.Registry) []fault.Detail {
	if !utf8.Valid(body) { // decoding would put something else in its place (RFC 8259 section 8.1)
		return []fault.Detail{{Field: "body", Message: "malformed JSON: not UTF-8"}}
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	w := &walker{dec: dec, registry: registry}
	if err := w.value(schema, "body"); errors.Is(err, errDeep) {
		return []fault.Detail{{Field: "body", Message: "nested too deeply"}}
	} else if err != nil {
		return []fault.Detail{{Field: "body", Message: "malformed JSON"}}
	}
	if _, err := dec.Token(); err != io.EOF {
		return []fault.Detail{{Field: "body", Message: "malformed JSON: more follows its end"}}
	}
	return w.found
}

type walker struct {
	dec      *json.Decoder
	registry huma.Registry
	found    []fault.Detail
	depth    int
}

func (w *walker) blame(path, message string) {
	if len(w.found) < mostFaults {
		w.found = append(w.found, fault.Detail{Field: path, Message: message})
	}
}

func (w *walker) value(schema *huma.Schema, path string) error {
	if schema != nil && schema.Ref != "" {
		schema = w.registry.SchemaFromRef(schema.Ref)
	}
	token, err := w.dec.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case nil:
		if schema != nil && !schema.Nullable && schema.Type != "" {
			w.blame(path, "expected "+schema.Type+", not null")
		}
	case json.Number:
		if _, err := strconv.ParseFloat(string(t), 64); err != nil {
			w.blame(path, "number out of range")
		}
	case json.Delim:
		if w.depth++; w.depth > deepest {
			return errDeep
		}
		defer func() { w.depth-- }()
		if t == '{' {
			return w.object(schema, path)
		}
		return w.array(schema, path)
	}
	return nil
}

func (w *walker) object(schema *huma.Schema, path string) error {
	seen := map[string]bool{}
	for w.dec.More() {
		token, err := w.dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		at := within(path, name)
		if seen[name] {
			w.blame(at, "given more than once")
		}
		seen[name] = true
		var member *huma.Schema
		if schema != nil {
			member = schema.Properties[name]
		}
		if err := w.value(member, at); err != nil {
			return err
		}
	}
	_, err := w.dec.Token()
	return err
}

// within is the path of a member; one that was shortened already stays.
func within(path, name string) string {
	if len(path) > longestField {
		return path
	}
	return shortened(path + "." + name)
}

// shortened cuts a path of very long names.
func shortened(path string) string {
	if len(path) <= longestField {
		return path
	}
	end := longestField
	for !utf8.RuneStart(path[end]) {
		end--
	}
	return path[:end] + "…"
}

func (w *walker) array(schema *huma.Schema, path string) error {
	var items *huma.Schema
	if schema != nil {
		items = schema.Items
	}
	for i := 0; w.dec.More(); i++ {
		if err := w.value(items, path+"["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	_, err := w.dec.Token()
	return err
}
