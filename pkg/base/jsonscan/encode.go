package jsonscan

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"
)

// AppendValue appends the JSON of a value to out, byte for byte as encoding/json
// writes it without escapes for HTML. It encodes these types itself: string,
// json.Number, int, int32, int64, bool, and structs, pointers and slices. It
// calls encoding/json for every other type, for []byte, for a type with its own
// MarshalJSON or MarshalText, for a string with a character to escape, for a
// json.Number that is not a number, and for a struct that membersOf rejects.
func AppendValue(out []byte, v any) ([]byte, error) { return appendValue(out, v, plain) }

// AppendEscaped appends the JSON of a value, escaped for use in a JSON string.
// The result is that of AppendValue and then Escape.
func AppendEscaped(out []byte, v any) ([]byte, error) { return appendValue(out, v, escaped) }

func appendValue(out []byte, v any, in form) ([]byte, error) {
	t := reflect.TypeOf(v)
	if t == nil {
		return append(out, "null"...), nil
	}
	box := reflect.New(t)
	box.Elem().Set(reflect.ValueOf(v))
	return encoderOf(t)(out, box.UnsafePointer(), in)
}

// form says how JSON is written: plain, or escaped for use in a JSON string.
type form int

const (
	plain form = iota
	escaped
)

// quotes holds, for each form, the text that begins and ends a string.
var quotes = [...]string{plain: `"`, escaped: `\"`}

// encoder appends the JSON of the value at an address.
type encoder func(out []byte, at unsafe.Pointer, in form) ([]byte, error)

var encoders sync.Map // reflect.Type → encoder

func encoderOf(t reflect.Type) encoder {
	if known, ok := encoders.Load(t); ok {
		return known.(encoder)
	}
	e := newEncoder(t)
	encoders.Store(t, e)
	return e
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func newEncoder(t reflect.Type) encoder {
	p := reflect.PointerTo(t)
	if p.Implements(marshaler) || p.Implements(textMarshaler) {
		return foreign(t)
	}
	switch t.Kind() {
	case reflect.String:
		if t == reflect.TypeFor[json.Number]() {
			return appendNumber
		}
		return appendText
	case reflect.Int:
		return appendInt[int]
	case reflect.Int32:
		return appendInt[int32]
	case reflect.Int64:
		return appendInt[int64]
	case reflect.Bool:
		return appendBool
	case reflect.Pointer:
		return pointerEncoder(t)
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 { // bytes are base64
			return sliceEncoder(t)
		}
	case reflect.Struct:
		return structEncoder(t)
	default:
	}
	return foreign(t)
}

// foreign returns an encoder that calls encoding/json.
func foreign(t reflect.Type) encoder {
	return func(out []byte, at unsafe.Pointer, in form) ([]byte, error) {
		buf := bytes.NewBuffer(out)
		if in == escaped {
			buf = new(bytes.Buffer)
		}
		enc := json.NewEncoder(buf)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(reflect.NewAt(t, at).Elem().Interface()); err != nil {
			return nil, err
		}
		written := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
		if in == escaped {
			return Escape(out, written), nil
		}
		return written, nil
	}
}

func appendText(out []byte, at unsafe.Pointer, in form) ([]byte, error) {
	text := *(*string)(at)
	if !usual(text) {
		return foreign(reflect.TypeFor[string]())(out, at, in)
	}
	quote := quotes[in]
	return append(append(append(out, quote...), text...), quote...), nil
}

// usual reports whether encoding/json escapes nothing in the text. It reads
// eight bytes at a time.
func usual(text string) bool {
	var found uint64
	rest := text
	for ; len(rest) >= 8; rest = rest[8:] {
		w := word(rest)
		found |= special(w) | w&highs
	}
	for i := range len(rest) {
		if c := rest[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			found |= highs
		}
	}
	return found == 0 || unescapedUTF8(text)
}

// unescapedUTF8 is usual for text that is not ASCII.
func unescapedUTF8(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return utf8.ValidString(text) && !strings.ContainsAny(text, "\u2028\u2029")
}

func appendBool(out []byte, at unsafe.Pointer, _ form) ([]byte, error) {
	return strconv.AppendBool(out, *(*bool)(at)), nil
}

func appendNumber(out []byte, at unsafe.Pointer, in form) ([]byte, error) {
	text := *(*string)(at)
	s := New(unsafe.Slice(unsafe.StringData(text), len(text)), 0) //nolint:gosec // only read
	if n := s.Number(); !s.End() || len(n) != len(text) || len(text) == 0 {
		return foreign(reflect.TypeFor[json.Number]())(out, at, in)
	}
	return append(out, text...), nil
}

func appendInt[T int | int32 | int64](out []byte, at unsafe.Pointer, _ form) ([]byte, error) {
	return strconv.AppendInt(out, int64(*(*T)(at)), 10), nil
}

// The encoders of pointers and slices look up the element's encoder at the
// first use, because a type may contain itself.

func pointerEncoder(t reflect.Type) encoder {
	element := sync.OnceValue(func() encoder { return encoderOf(t.Elem()) })
	return func(out []byte, at unsafe.Pointer, in form) ([]byte, error) {
		if at = *(*unsafe.Pointer)(at); at == nil {
			return append(out, "null"...), nil
		}
		return element()(out, at, in)
	}
}

func sliceEncoder(t reflect.Type) encoder {
	element := sync.OnceValue(func() encoder { return encoderOf(t.Elem()) })
	size := t.Elem().Size()
	return func(out []byte, at unsafe.Pointer, in form) ([]byte, error) {
		s := (*struct {
			data     unsafe.Pointer
			len, cap int
		})(at)
		if s.data == nil {
			return append(out, "null"...), nil
		}
		out = append(out, '[')
		var err error
		for i := range s.len {
			if i > 0 {
				out = append(out, ',')
			}
			if out, err = element()(out, unsafe.Add(s.data, uintptr(i)*size), in); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	}
}

// member is a struct field that becomes a JSON member.
type member struct {
	name   [2]string // `"name":`, by form
	offset uintptr
	empty  func(at unsafe.Pointer) bool // with omitempty; else nil
	value  encoder
}

func structEncoder(t reflect.Type) encoder {
	members, ok := membersOf(t)
	if !ok {
		return foreign(t)
	}
	return func(out []byte, at unsafe.Pointer, in form) ([]byte, error) {
		begin := byte('{')
		var err error
		for i := range members {
			m := &members[i]
			field := unsafe.Add(at, m.offset)
			if m.empty != nil && m.empty(field) {
				continue
			}
			out = append(append(out, begin), m.name[in]...)
			begin = ','
			if out, err = m.value(out, field, in); err != nil {
				return nil, err
			}
		}
		if begin == '{' {
			out = append(out, begin)
		}
		return append(out, '}'), nil
	}
}

// membersOf returns the members of a struct, and of the structs embedded in it.
// ok is false if encoding/json has rules for them that this package does not
// implement.
func membersOf(t reflect.Type) (members []member, ok bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup("json")
		if f.Anonymous && !tagged {
			if f.Type.Kind() != reflect.Struct || reflect.PointerTo(f.Type).Implements(marshaler) {
				return nil, false
			}
			inner, ok := membersOf(f.Type)
			if !ok {
				return nil, false
			}
			for _, m := range inner {
				m.offset += f.Offset
				members = append(members, m)
			}
			continue
		}
		if tag == "-" || !f.IsExported() {
			continue
		}
		m, ok := memberOf(f, tag)
		if !ok {
			return nil, false
		}
		members = append(members, m)
	}
	names := map[string]bool{}
	for _, m := range members {
		if names[m.name[plain]] {
			return nil, false
		}
		names[m.name[plain]] = true
	}
	return members, true
}

func memberOf(f reflect.StructField, tag string) (m member, ok bool) {
	name, option, _ := strings.Cut(tag, ",")
	if name == "" {
		name = f.Name
	}
	m = member{name: [...]string{`"` + name + `":`, `\"` + name + `\":`}, offset: f.Offset, value: encoderOf(f.Type)}
	if option == "omitempty" {
		switch f.Type.Kind() {
		case reflect.String:
			m.empty = func(at unsafe.Pointer) bool { return *(*string)(at) == "" }
		case reflect.Pointer:
			m.empty = func(at unsafe.Pointer) bool { return *(*unsafe.Pointer)(at) == nil }
		case reflect.Bool:
			m.empty = func(at unsafe.Pointer) bool { return !*(*bool)(at) }
		case reflect.Slice:
			m.empty = func(at unsafe.Pointer) bool { return len(*(*[]struct{})(at)) == 0 }
		default:
			return m, false
		}
		option = ""
	}
	return m, option == "" && usual(name) && !strings.ContainsAny(name, `<>&`)
}
