package api

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/base/fault"
	"svc/pkg/base/jsonscan"
)

// Limits of a walk: a depth above that of any schema, a useful number of
// faults, and the length of a field's path in bytes. Without these limits, a
// body of brackets or nulls would cost quadratic time, and so would nested
// members with long names.
const (
	deepest      = 32
	mostFaults   = 100
	longestField = 200
)

// walk compares a JSON body with its schema and finds what decoding hides:
// malformed or trailing text, nesting that is too deep, text that is not UTF-8,
// unpaired surrogates, duplicate members, and null where the schema does not
// allow it. It also applies the rules of the method text, and finds numbers out
// of the range of a float64.
//
// With optionalNull, an optional member may be null. Such a member counts as
// absent.
func walk(body []byte, schema *huma.Schema, registry huma.Registry, optionalNull bool) []fault.Detail {
	refuse := func(message string) []fault.Detail { return []fault.Detail{{Field: "body", Message: message}} }
	if !utf8.Valid(body) { // decoding would replace the invalid bytes (RFC 8259 section 8.1)
		return refuse("malformed JSON: not UTF-8")
	}
	w := &walker{Scanner: jsonscan.New(body, deepest), registry: registry, optionalNull: optionalNull}
	w.value(schema)
	switch {
	case w.TooDeep():
		return refuse("nested too deeply")
	case w.Failed():
		return refuse("malformed JSON")
	case !w.End():
		return refuse("malformed JSON: more follows its end")
	}
	return w.found
}

// member returns the JSON of a top-level member of a body. If the name is
// repeated, it returns the last one. It returns nil if there is no such member
// or the body is not JSON.
func member(body []byte, name string) (value []byte) {
	s := jsonscan.New(body, deepest)
	s.Object(func(given jsonscan.Text) {
		if found := s.Value(); given.Is(name) {
			value = found
		}
	})
	if !s.End() {
		return nil
	}
	return value
}

type walker struct {
	jsonscan.Scanner
	registry huma.Registry

	optionalNull bool

	found   []fault.Detail
	path    [deepest]step // from the body to the current value
	scratch []byte
}

// step is a member's name or, if the name is nil, an index.
type step struct {
	name  []byte
	index int
}

func (w *walker) blame(message string) {
	if len(w.found) < mostFaults {
		w.found = append(w.found, fault.Detail{Field: w.where(), Message: message})
	}
}

// where returns the path of the current value.
func (w *walker) where() string {
	path := "body"
	for _, at := range w.path[:w.Depth()] {
		if at.name == nil {
			path += "[" + strconv.Itoa(at.index) + "]"
		} else {
			path = within(path, string(at.name))
		}
	}
	return path
}

func (w *walker) value(schema *huma.Schema) {
	if schema != nil && schema.Ref != "" {
		schema = w.registry.SchemaFromRef(schema.Ref)
	}
	switch c := w.Peek(); {
	case c == '{':
		w.object(schema)
	case c == '[':
		w.array(schema)
	case c == '"':
		w.text(schema, w.paired(w.Text()))
	case c == 'n':
		if w.Null(); !w.Failed() && schema != nil && !schema.Nullable && schema.Type != "" {
			w.blame("expected " + schema.Type + ", not null")
		}
	case c == '-' || digit(c):
		if outOfRange(w.Number()) {
			w.blame("number out of range")
		}
	default:
		w.Value()
	}
}

// paired rejects an unpaired surrogate, because decoding would replace it (RFC
// 8259 section 8.2). It returns the string, which is valid until the next call.
func (w *walker) paired(text jsonscan.Text) []byte {
	if !text.Escaped {
		return text.Raw
	}
	var paired bool
	if w.scratch, paired = text.Append(w.scratch[:0]); !paired {
		w.Fail()
	}
	return w.scratch
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// outOfRange reports whether a number is out of the range of a float64. Without
// an exponent, such a number has more than three hundred digits.
func outOfRange(number []byte) bool {
	if len(number) < 300 && bytes.IndexByte(number, 'e') < 0 && bytes.IndexByte(number, 'E') < 0 {
		return false
	}
	_, err := strconv.ParseFloat(string(number), 64)
	return err != nil
}

func (w *walker) object(schema *huma.Schema) {
	var seen names
	w.Object(func(text jsonscan.Text) {
		name := w.paired(text)
		if text.Escaped {
			name = bytes.Clone(name)
		}
		w.path[w.Depth()-1] = step{name: name}
		if !seen.add(name) {
			w.blame("given more than once")
		}
		var member *huma.Schema
		if schema != nil {
			member = schema.Properties[string(name)]
			if w.optionalNull && w.Peek() == 'n' && !slices.Contains(schema.Required, string(name)) {
				member = nil
			}
		}
		w.value(member)
	})
}

func (w *walker) array(schema *huma.Schema) {
	var items *huma.Schema
	if schema != nil {
		items = schema.Items
	}
	w.Array(func(index int) {
		w.path[w.Depth()-1] = step{index: index}
		w.value(items)
	})
}

// names is the set of names of an object's members. It searches a few names
// linearly and many by hash.
type names struct {
	few  [12][]byte
	n    int
	many map[string]bool
}

// add adds the name and reports whether it was new.
func (s *names) add(name []byte) bool {
	if s.many == nil {
		for _, known := range s.few[:s.n] {
			if bytes.Equal(known, name) {
				return false
			}
		}
		if s.n < len(s.few) {
			s.few[s.n] = name
			s.n++
			return true
		}
		s.many = make(map[string]bool, 2*s.n)
		for _, known := range s.few {
			s.many[string(known)] = true
		}
	}
	if s.many[string(name)] {
		return false
	}
	s.many[string(name)] = true
	return true
}

// within returns the path of the member name in the object at path. It returns
// a path that was already shortened unchanged.
func within(path, name string) string {
	if len(path) > longestField {
		return path
	}
	return shortened(path + "." + name)
}

// shortened truncates a path longer than longestField.
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
