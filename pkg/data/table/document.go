package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"svc/pkg/base/jsonscan"
)

// Document decodes the item's document, a JSON object, into a new T. It is for
// lists that read hundreds of documents: it allocates once per document, plus
// once per string with escapes. Field names follow encoding/json. Document
// reads these types directly: string, json.Number, pointers to them, int64 and
// bool. It passes other types to encoding/json. It ignores unknown members,
// nulls, and values of the wrong type.
func Document[T any](it Item) (*T, error) {
	out := &struct {
		value    T
		pointers pointers
	}{}
	to, fields, next := reflect.ValueOf(&out.value).Elem(), fieldsOf(reflect.TypeFor[T]()), 0
	var broken error
	err := it.members(func(name, text string, quoted bool) {
		for range fields { // members usually come in field order
			at := fields[next]
			if next = (next + 1) % len(fields); at.name == name {
				broken = errors.Join(broken, out.pointers.set(to.FieldByIndex(at.index).Addr().Interface(), text, quoted))
				return
			}
		}
	})
	if broken != nil {
		err = fmt.Errorf("document of an item of type %q: %w", it.Type, broken)
	}
	return &out.value, err
}

// set stores the value in a field. The field may keep a reference to text.
func (p *pointers) set(field any, text string, quoted bool) error {
	switch field := field.(type) {
	case *string:
		if quoted {
			*field = text
		}
	case **string:
		if quoted {
			*field = next(p.texts[:], &p.usedTexts, text)
		}
	case *json.Number:
		if !quoted {
			*field = json.Number(text)
		}
	case **json.Number:
		if !quoted {
			*field = next(p.numbers[:], &p.usedNumbers, json.Number(text))
		}
	case *int64:
		*field, _ = strconv.ParseInt(text, 10, 64)
	case *bool:
		*field = !quoted && text == "true"
	default:
		if quoted {
			return fmt.Errorf("a string where a %T is wanted", field)
		}
		return json.Unmarshal(bytesOf(text), field)
	}
	return nil
}

// pointers is the memory for a document's optional fields. When it is full,
// further fields are allocated one by one.
type pointers struct {
	texts                  [9]string
	numbers                [7]json.Number
	usedTexts, usedNumbers int
}

func next[T any](free []T, used *int, value T) *T {
	if *used == len(free) {
		own := value // a separate variable, so that only this case allocates
		return &own
	}
	at := &free[*used]
	*at, *used = value, *used+1
	return at
}

// field is a struct field and its JSON name.
type field struct {
	name  string
	index []int
}

var knownFields sync.Map // reflect.Type → []field

func fieldsOf(t reflect.Type) []field {
	if known, ok := knownFields.Load(t); ok {
		return known.([]field)
	}
	var fields []field
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && !f.Anonymous {
			name = f.Name
		}
		if name != "" && name != "-" && f.IsExported() {
			fields = append(fields, field{name, f.Index})
		}
	}
	knownFields.Store(t, fields)
	return fields
}

// members calls each with every member of the item's document except nulls.
// The value is a quoted string or other JSON text.
func (it Item) members(each func(name, text string, quoted bool)) error {
	doc, ok := it.raw.get("doc")
	if !ok || doc.kind != kindText {
		return fmt.Errorf("item of type %q has no document", it.Type)
	}
	s := jsonscan.New(bytesOf(doc.text), deepestDocument)
	s.Object(func(name jsonscan.Text) {
		switch s.Peek() {
		case '"':
			if text := s.Text(); !s.Failed() {
				each(unescaped(name), unescaped(text), true)
			}
		case 'n':
			s.Null()
		default:
			if raw := s.Value(); !s.Failed() {
				each(unescaped(name), stringOf(raw), false)
			}
		}
	})
	if !s.End() {
		return fmt.Errorf("document of an item of type %q is not an object", it.Type)
	}
	return nil
}

// deepestDocument is the nesting limit of encoding/json.
const deepestDocument = 10_000

// unescaped returns a string of a document. It is a slice of the document, or
// a copy if the string has escapes.
func unescaped(text jsonscan.Text) string {
	if !text.Escaped {
		return stringOf(text.Raw)
	}
	out, _ := text.Append(make([]byte, 0, len(text.Raw)))
	return stringOf(out)
}
