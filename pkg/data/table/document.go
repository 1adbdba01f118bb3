package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"svc/pkg/base/jsonscan"
)

// Document decodes the item's document, a JSON object, into a new T. It is for
// lists that read hundreds of documents: it allocates once per document, plus
// once per string with escapes, and once per optional field after the first 9
// strings and 7 numbers. The names of members come from json tags, as in
// encoding/json; letter case matters. Document reads these types directly:
// string, json.Number, pointers to them, int64 and bool. A value of the wrong
// type for such a field is not an error: the field then has an unspecified
// value. For a field of another type, a JSON string is an error. Document passes
// any other value to encoding/json, and returns its errors. Document ignores
// unknown members and nulls. It panics if T embeds a struct by a pointer.
func Document[T any](it Item) (*T, error) {
	out := &struct {
		value    T
		pointers pointers
	}{}
	fields, next := fieldsOf(reflect.TypeFor[T]()), 0
	var broken error
	err := it.members(func(name, text string, quoted bool) {
		for range fields { // members usually come in field order
			f := &fields[next]
			if next++; next == len(fields) {
				next = 0
			}
			if f.name == name {
				//nolint:gosec // the offset is of a field of this type
				broken = errors.Join(broken, out.pointers.set(unsafe.Add(unsafe.Pointer(&out.value), f.offset), f, text, quoted))
				return
			}
		}
	})
	if broken != nil {
		err = fmt.Errorf("document of an item of type %q: %w", it.Type, broken)
	}
	return &out.value, err
}

// set stores the value in the field at the address at. The field may keep a
// reference to the memory of text.
func (p *pointers) set(at unsafe.Pointer, f *field, text string, quoted bool) error {
	switch f.kind {
	case textField:
		if quoted {
			*(*string)(at) = text
		}
	case textPointer:
		if quoted {
			*(**string)(at) = next(p.texts[:], &p.usedTexts, text)
		}
	case numberField:
		if !quoted {
			*(*json.Number)(at) = json.Number(text)
		}
	case numberPointer:
		if !quoted {
			*(**json.Number)(at) = next(p.numbers[:], &p.usedNumbers, json.Number(text))
		}
	case integerField:
		*(*int64)(at), _ = strconv.ParseInt(text, 10, 64)
	case flagField:
		*(*bool)(at) = !quoted && text == "true"
	case otherField:
		value := reflect.NewAt(f.of, at).Interface()
		if quoted {
			return fmt.Errorf("got a string, expected a %s", f.of)
		}
		return json.Unmarshal(bytesOf(text), value)
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
	name   string
	offset uintptr // in the struct
	kind   fieldKind
	of     reflect.Type
}

type fieldKind byte

const (
	otherField fieldKind = iota
	textField
	textPointer
	numberField
	numberPointer
	integerField
	flagField
)

var fieldKinds = map[reflect.Type]fieldKind{
	reflect.TypeFor[string]():       textField,
	reflect.TypeFor[*string]():      textPointer,
	reflect.TypeFor[json.Number]():  numberField,
	reflect.TypeFor[*json.Number](): numberPointer,
	reflect.TypeFor[int64]():        integerField,
	reflect.TypeFor[bool]():         flagField,
}

var knownFields sync.Map // reflect.Type → []field

// fieldsOf returns the exported fields of a struct and of the structs embedded
// in it, except those with the tag json:"-".
// It panics if a struct is embedded by a pointer.
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
			fields = append(fields, field{name, offset(t, f.Index), fieldKinds[f.Type], f.Type})
		}
	}
	knownFields.Store(t, fields)
	return fields
}

// offset returns the offset of a field in the struct, in bytes.
func offset(t reflect.Type, index []int) (at uintptr) {
	for _, i := range index {
		if t.Kind() != reflect.Struct {
			panic("a struct is embedded by a pointer in " + t.String())
		}
		f := t.Field(i)
		at, t = at+f.Offset, f.Type
	}
	return at
}

// members calls each with every member of the item's document except nulls.
// text is a decoded string if quoted is true, else JSON text.
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
		return fmt.Errorf("document of an item of type %q is not a JSON object", it.Type)
	}
	return nil
}

// deepestDocument is the nesting limit of encoding/json.
const deepestDocument = 10_000

// unescaped returns the string that a JSON text encodes. The string shares the
// memory of the text, or is a copy if the text has escapes.
func unescaped(text jsonscan.Text) string {
	if !text.Escaped {
		return stringOf(text.Raw)
	}
	out, _ := text.Append(make([]byte, 0, len(text.Raw)))
	return stringOf(out)
}
