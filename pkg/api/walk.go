package api

import (
	"bytes"
	"encoding/json"
	"errors"
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

var (
	errDeep      = errors.New("nested too deeply")
	errMalformed = errors.New("malformed")
)

// walk reads a JSON body beside its schema and finds what decoding hides:
// malformed or trailing text, a member given twice, null where the schema has
// none, a number beyond any float.
func walk(body []byte, schema *huma.Schema, registry huma.Registry) []fault.Detail {
	if !utf8.Valid(body) { // decoding would put something else in its place (RFC 8259 section 8.1)
		return []fault.Detail{{Field: "body", Message: "malformed JSON: not UTF-8"}}
	}
	w := &walker{scan: scan{in: body}, registry: registry}
	if err := w.value(schema); errors.Is(err, errDeep) {
		return []fault.Detail{{Field: "body", Message: "nested too deeply"}}
	} else if err != nil {
		return []fault.Detail{{Field: "body", Message: "malformed JSON"}}
	}
	if w.next(); w.at < len(body) {
		return []fault.Detail{{Field: "body", Message: "malformed JSON: more follows its end"}}
	}
	return w.found
}

// member gives the JSON of a top-level member of a body, the last of its name;
// nil where there is none, and where the body is no JSON.
func member(body []byte, name string) []byte {
	w := &walker{scan: scan{in: body}, wanted: name}
	if w.value(nil) != nil {
		return nil
	}
	if w.next(); w.at < len(body) {
		return nil
	}
	return w.got
}

type walker struct {
	scan
	registry huma.Registry
	found    []fault.Detail
	path     [deepest]step // from the body to where the walk is
	depth    int

	wanted string // a top-level member
	got    []byte
}

// step is a member's name or, where that is nil, an index.
type step struct {
	name  []byte
	index int
}

func (w *walker) blame(message string) {
	if len(w.found) < mostFaults {
		w.found = append(w.found, fault.Detail{Field: w.where(), Message: message})
	}
}

// where is the path of the value that is walked.
func (w *walker) where() string {
	path := "body"
	for _, at := range w.path[:w.depth] {
		if at.name == nil {
			path += "[" + strconv.Itoa(at.index) + "]"
		} else {
			path = within(path, string(at.name))
		}
	}
	return path
}

func (w *walker) value(schema *huma.Schema) error {
	if schema != nil && schema.Ref != "" {
		schema = w.registry.SchemaFromRef(schema.Ref)
	}
	ok := false
	switch c := w.next(); c {
	case '{', '[':
		if w.depth == deepest {
			return errDeep
		}
		w.at++
		w.depth++
		defer func() { w.depth-- }()
		if c == '{' {
			return w.object(schema)
		}
		return w.array(schema)
	case '"':
		_, _, ok = w.text()
	case 't':
		ok = w.word("true")
	case 'f':
		ok = w.word("false")
	case 'n':
		if ok = w.word("null"); ok && schema != nil && !schema.Nullable && schema.Type != "" {
			w.blame("expected " + schema.Type + ", not null")
		}
	default:
		var raw []byte
		if raw, ok = w.number(); ok && outOfRange(raw) {
			w.blame("number out of range")
		}
	}
	if !ok {
		return errMalformed
	}
	return nil
}

// outOfRange says whether a number is beyond any float; one without an exponent
// takes more than three hundred digits to be.
func outOfRange(number []byte) bool {
	if len(number) < 300 && bytes.IndexByte(number, 'e') < 0 && bytes.IndexByte(number, 'E') < 0 {
		return false
	}
	_, err := strconv.ParseFloat(string(number), 64)
	return err != nil
}

func (w *walker) object(schema *huma.Schema) error {
	var seen names
	at := &w.path[w.depth-1]
	for first := true; !w.take('}'); first = false {
		if !first && !w.take(',') {
			return errMalformed
		}
		name, ok := w.name()
		if !ok || !w.take(':') {
			return errMalformed
		}
		*at = step{name: name}
		if !seen.add(name) {
			w.blame("given more than once")
		}
		var member *huma.Schema
		if schema != nil {
			member = schema.Properties[string(name)]
		}
		w.next()
		from := w.at
		if err := w.value(member); err != nil {
			return err
		}
		if w.wanted != "" && w.depth == 1 && string(name) == w.wanted {
			w.got = w.in[from:w.at]
		}
	}
	return nil
}

// name reads a member's name.
func (w *walker) name() ([]byte, bool) {
	w.next()
	from := w.at
	raw, escaped, ok := w.text()
	if !ok || !escaped {
		return raw, ok
	}
	var name string
	err := json.Unmarshal(w.in[from:w.at], &name)
	return []byte(name), err == nil
}

func (w *walker) array(schema *huma.Schema) error {
	var items *huma.Schema
	if schema != nil {
		items = schema.Items
	}
	at := &w.path[w.depth-1]
	for i := 0; !w.take(']'); i++ {
		if i > 0 && !w.take(',') {
			return errMalformed
		}
		*at = step{index: i}
		if err := w.value(items); err != nil {
			return err
		}
	}
	return nil
}

// names are those of an object's members: few are looked through, many hashed.
type names struct {
	few  [12][]byte
	n    int
	many map[string]bool
}

// add notes a name; false says that it was there.
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
