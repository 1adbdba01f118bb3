package table

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// reader reads the JSON of an answer. Every text of it goes into one piece of
// memory, every attribute into one slice, whatever the number of items.
type reader struct {
	in    []byte
	at    int
	ok    bool
	arena []byte // never grows beyond what it was made for, so texts in it stay where they are
	attrs attrs
	ends  []int // of the items, in attrs
	depth int
}

// readAnswer takes the items out of the answer of a Query ("Items") or of a
// BatchGetItem ("Responses", of one table) and gives the rest of it. It is not
// ok with what is not JSON, and with members it does not know the form of.
func readAnswer(body []byte) (rest []byte, items []Item, ok bool) {
	r := &reader{in: body, ok: true, arena: make([]byte, 0, len(body)), attrs: make(attrs, 0, bytes.Count(body, []byte(`":{"`))+1)}
	rest = append(make([]byte, 0, 256), '{')
	found := false
	r.object(func(name string) {
		switch {
		case found && (name == "Items" || name == "Responses"):
			r.fail()
		case name == "Items":
			r.list(r.item)
			found = true
		case name == "Responses":
			r.object(func(string) { r.list(r.item) })
			found = true
		default:
			from := r.at
			r.skip()
			if len(rest) > 1 {
				rest = append(rest, ',')
			}
			rest = append(strconv.AppendQuote(rest, name), ':')
			rest = append(rest, r.in[min(from, len(r.in)):r.at]...)
		}
	})
	r.space()
	if !r.ok || !found || r.at != len(r.in) {
		return nil, nil, false
	}
	items = make([]Item, len(r.ends))
	from := 0
	for i, end := range r.ends {
		items[i], from = itemOf(r.attrs[from:end:end]), end
	}
	return append(rest, '}'), items, true
}

func (r *reader) fail() { r.ok, r.at = false, len(r.in) }

func (r *reader) space() {
	for r.at < len(r.in) && (r.in[r.at] == ' ' || r.in[r.at] == '\n' || r.in[r.at] == '\t' || r.in[r.at] == '\r') {
		r.at++
	}
}

// take goes past a character, if it is the next.
func (r *reader) take(c byte) bool {
	r.space()
	if r.at < len(r.in) && r.in[r.at] == c {
		r.at++
		return true
	}
	return false
}

func (r *reader) must(c byte) {
	if !r.take(c) {
		r.fail()
	}
}

// object reads an object; each reads the value of a member.
func (r *reader) object(each func(name string)) {
	r.members('{', '}', func() { name := r.text(); r.must(':'); each(name) })
}

// list reads an array; each reads one of its values.
func (r *reader) list(each func()) { r.members('[', ']', each) }

func (r *reader) members(open, end byte, each func()) {
	if r.depth++; r.depth > 64 {
		r.fail()
	}
	defer func() { r.depth-- }()
	r.must(open)
	if r.take(end) {
		return
	}
	for r.ok {
		each()
		if r.take(end) {
			return
		}
		r.must(',')
	}
}

// item reads one item.
func (r *reader) item() {
	from := len(r.attrs)
	r.object(func(name string) {
		a, values := attr{name: name}, 0
		r.object(func(kind string) { r.value(&a, kind); values++ })
		if _, twice := r.attrs[from:].get(name); twice || values != 1 {
			r.fail()
		}
		r.attrs = append(r.attrs, a)
	})
	r.ends = append(r.ends, len(r.attrs))
}

// value reads an attribute's value by the name of its type.
func (r *reader) value(a *attr, name string) {
	switch name {
	case "S":
		a.kind, a.text = kindText, r.text()
	case "N":
		a.kind, a.text = kindNumber, r.text()
	case "BOOL":
		a.kind, a.flag = kindFlag, r.boolean()
	case "SS":
		a.kind, a.set = kindSet, []string{}
		r.list(func() { a.set = append(a.set, r.text()) })
	case "B", "BS", "NS", "L", "M", "NULL":
		r.skip()
	default:
		r.fail()
	}
}

func (r *reader) boolean() bool {
	r.space()
	switch rest := r.in[r.at:]; {
	case bytes.HasPrefix(rest, []byte("true")):
		r.at += len("true")
		return true
	case bytes.HasPrefix(rest, []byte("false")):
		r.at += len("false")
	default:
		r.fail()
	}
	return false
}

// skip goes past a value of any form.
func (r *reader) skip() {
	r.space()
	if r.at >= len(r.in) {
		r.fail()
		return
	}
	switch r.in[r.at] {
	case '{':
		r.members('{', '}', func() { r.skipText(); r.must(':'); r.skip() })
	case '[':
		r.members('[', ']', r.skip)
	case '"':
		r.skipText()
	default:
		from := r.at
		for r.at < len(r.in) && strings.IndexByte(",]} \n\t\r", r.in[r.at]) < 0 {
			r.at++
		}
		if !json.Valid(r.in[from:r.at]) {
			r.fail()
		}
	}
}

func (r *reader) skipText() {
	r.must('"')
	for r.at < len(r.in) && r.in[r.at] != '"' {
		if r.in[r.at] == '\\' {
			r.at++
		}
		r.at++
	}
	r.must('"')
}

// text reads a string into the arena: what is written escaped is never shorter
// than what it stands for, so there is room.
func (r *reader) text() string {
	r.must('"')
	from := len(r.arena)
	for r.at < len(r.in) {
		plain := r.at
		for plain < len(r.in) && r.in[plain] != '"' && r.in[plain] != '\\' && r.in[plain] >= ' ' {
			plain++
		}
		r.arena = append(r.arena, r.in[r.at:plain]...)
		r.at = plain
		switch {
		case plain == len(r.in) || r.in[plain] < ' ':
			r.fail()
		case r.in[plain] == '"':
			r.at++
			written := r.arena[from:]
			if len(written) == 0 {
				return ""
			}
			return unsafe.String(unsafe.SliceData(written), len(written)) //nolint:gosec // what is in the arena is never written again
		default:
			r.escape()
		}
	}
	r.fail()
	return ""
}

// escape reads what follows a backslash.
func (r *reader) escape() {
	if r.at+1 >= len(r.in) {
		r.fail()
		return
	}
	c := r.in[r.at+1]
	r.at += 2
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		first := r.unit()
		if utf16.IsSurrogate(first) {
			back := r.at
			var second rune
			if bytes.HasPrefix(r.in[r.at:], []byte(`\u`)) {
				r.at += 2
				second = r.unit()
			}
			if first = utf16.DecodeRune(first, second); first == utf8.RuneError && r.ok {
				r.at = back // what follows stands for itself
			}
		}
		r.arena = utf8.AppendRune(r.arena, first)
		return
	default:
		r.fail()
		return
	}
	r.arena = append(r.arena, c)
}

// unit reads four hexadecimal digits.
func (r *reader) unit() rune {
	if r.at+4 > len(r.in) {
		r.fail()
		return utf8.RuneError
	}
	n, err := strconv.ParseUint(string(r.in[r.at:r.at+4]), 16, 16)
	if err != nil {
		r.fail()
		return utf8.RuneError
	}
	r.at += 4
	return rune(n)
}
