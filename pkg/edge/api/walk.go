package api

import (
	"bytes"
	"errors"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"svc/pkg/base/codec"
	"svc/pkg/base/fault"
	"svc/pkg/base/money"
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
// allow it. It also applies the rules of the method checkText, and finds numbers out
// of range.
//
// With optionalNull, an optional member may be null. Such a member counts as
// absent.
//
// It also returns the body in which each integer that is written as 5.0 or 5e0 is 5.
// Both are integers in JSON Schema, but Go's decoders reject the longer forms.
func walk(body []byte, schema *huma.Schema, registry huma.Registry, optionalNull bool) ([]fault.Detail, []byte) {
	refuse := func(message string) ([]fault.Detail, []byte) {
		return []fault.Detail{{Field: "body", Message: message}}, body
	}
	if !utf8.Valid(body) { // decoding would replace the invalid bytes (RFC 8259 section 8.1)
		return refuse("malformed JSON: not UTF-8")
	}
	// A decoder that stopped at a duplicate member could not find the other faults.
	w := &walker{Decoder: jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true)),
		registry: registry, optionalNull: optionalNull, body: body}
	switch err := w.value(schema); {
	case errors.Is(err, errTooDeep):
		return refuse("nested too deeply")
	case err != nil:
		return refuse("malformed JSON")
	case codec.End(w.Decoder) != nil:
		return refuse("malformed JSON: more follows its end")
	}
	if w.copied == 0 {
		return w.found, body
	}
	return w.found, append(w.short, body[w.copied:]...)
}

// member returns the JSON of a top-level member of a body. If the name is
// repeated, it returns the last one. It returns nil if there is no such member
// or the body is not JSON.
func member(body []byte, name string) (value []byte) {
	err := codec.Members(body, func(given string, found jsontext.Value) {
		if given == name {
			value = bytes.Clone(found)
		}
	})
	if err != nil {
		return nil
	}
	return value
}

// walker is the state of one call of walk, which checks a JSON body.
type walker struct {
	*jsontext.Decoder
	registry huma.Registry

	optionalNull bool

	body    []byte
	short   []byte // the part of the body before copied, with short integers
	copied  int64  // offset in the body
	found   []fault.Detail
	scratch []byte
}

var errTooDeep = errors.New("nested too deeply")

// blame adds a fault of the value or name that was read last.
func (w *walker) blame(message string) {
	if len(w.found) < mostFaults {
		w.found = append(w.found, fault.Detail{Field: w.where(), Message: message})
	}
}

// where returns the path of the value or name that was read last.
func (w *walker) where() string {
	path, depth := "body", 0
	for token := range w.StackPointer().Tokens() {
		depth++
		if kind, _ := w.StackIndex(depth); kind == '[' {
			path += "[" + token + "]"
		} else {
			path = within(path, token)
		}
	}
	return path
}

// value checks the next value against the schema; nil allows anything.
func (w *walker) value(schema *huma.Schema) error {
	if schema != nil && schema.Ref != "" {
		schema = w.registry.SchemaFromRef(schema.Ref)
	}
	kind := w.PeekKind()
	if kind == '{' || kind == '[' {
		if w.StackDepth() == deepest {
			return errTooDeep
		}
		if kind == '{' {
			return w.object(schema)
		}
		return w.array(schema)
	}
	value, err := w.ReadValue() // rejects an unpaired surrogate: decoding would replace it (RFC 8259 section 8.2)
	if err != nil {
		return err
	}
	switch kind {
	case '"':
		if schema != nil && schema.MaxLength != nil {
			w.scratch, err = jsontext.AppendUnquote(w.scratch[:0], value)
			w.checkText(schema, w.scratch)
		}
	case 'n':
		if schema != nil && !schema.Nullable && schema.Type != "" {
			w.blame("expected " + schema.Type + ", not null")
		}
	case '0':
		if outOfRange(value) {
			w.blame("number out of range")
		} else if schema != nil && schema.Type == huma.TypeInteger {
			w.shorten(value)
		}
	}
	return err
}

// shorten replaces an integer such as 5.0 or 5e0 by its short form in the body. It
// leaves a number that is no integer, or that does not fit into an int64, to huma.
func (w *walker) shorten(number []byte) {
	if len(number) > 40 || !bytes.ContainsAny(number, ".eE") {
		return
	}
	exact, ok := new(big.Rat).SetString(string(number))
	if !ok || !exact.IsInt() || !exact.Num().IsInt64() {
		return
	}
	end := w.InputOffset()
	w.short = append(w.short, w.body[w.copied:end-int64(len(number))]...)
	w.short, w.copied = strconv.AppendInt(w.short, exact.Num().Int64(), 10), end
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// outOfRange reports whether a number is out of the range of a float64 or of an amount.
// Without an exponent, such a number has more than three hundred digits.
func outOfRange(number []byte) bool {
	if len(number) < 300 && bytes.IndexByte(number, 'e') < 0 && bytes.IndexByte(number, 'E') < 0 {
		return false
	}
	_, err := strconv.ParseFloat(string(number), 64)
	return err != nil || !money.InRange(string(number))
}

// object checks the next value, a JSON object, against the schema; nil allows anything.
func (w *walker) object(schema *huma.Schema) error {
	_, err := w.ReadToken()
	seen := map[string]bool{}
	for err == nil && w.PeekKind() != '}' {
		var token jsontext.Token
		if token, err = w.ReadToken(); err != nil {
			return err
		}
		name := token.String()
		if seen[name] {
			w.blame("given more than once")
		}
		seen[name] = true
		var member *huma.Schema
		if schema != nil {
			member = schema.Properties[name]
			if w.optionalNull && w.PeekKind() == 'n' && !slices.Contains(schema.Required, name) {
				member = nil
			}
		}
		err = w.value(member)
	}
	if err == nil {
		_, err = w.ReadToken()
	}
	return err
}

// array checks the next value, a JSON array, against the schema; nil allows anything.
func (w *walker) array(schema *huma.Schema) error {
	var items *huma.Schema
	if schema != nil {
		items = schema.Items
	}
	_, err := w.ReadToken()
	for err == nil && w.PeekKind() != ']' {
		err = w.value(items)
	}
	if err == nil {
		_, err = w.ReadToken()
	}
	return err
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
