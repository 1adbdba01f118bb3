package table

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Members reads the item's document, a JSON object, member by member and
// without a copy of its texts: what lists read by the hundred. each gets the
// text of a string (quoted) or the JSON of any other value; a null is left out.
func (it Item) Members(each func(name, text string, quoted bool)) error {
	doc, ok := it.raw.get("doc")
	if !ok || doc.kind != kindText {
		return fmt.Errorf("item of type %q has no document", it.Type)
	}
	m := members{in: doc.text}
	if !m.all(each) {
		return fmt.Errorf("document of an item of type %q is not an object", it.Type)
	}
	return nil
}

// Pointers is one piece of memory for what a record's optional fields point
// to; what it has no room for gets its own.
type Pointers struct {
	texts           [9]string
	numbers         [7]json.Number
	texted, counted int
}

// Text keeps a string.
func (p *Pointers) Text(s string) *string { return keep(p.texts[:], &p.texted, s) }

// Number keeps a number.
func (p *Pointers) Number(n string) *json.Number {
	return keep(p.numbers[:], &p.counted, json.Number(n))
}

func keep[T any](room []T, used *int, value T) *T {
	if *used == len(room) {
		own := value // a variable of its own, so that only this case allocates
		return &own
	}
	at := &room[*used]
	*at, *used = value, *used+1
	return at
}

// members reads one object.
type members struct {
	in string
	at int
}

func (m *members) space() {
	for m.at < len(m.in) && strings.IndexByte(" \n\t\r", m.in[m.at]) >= 0 {
		m.at++
	}
}

func (m *members) take(c byte) bool {
	m.space()
	if m.at < len(m.in) && m.in[m.at] == c {
		m.at++
		return true
	}
	return false
}

func (m *members) all(each func(name, text string, quoted bool)) bool {
	if !m.take('{') {
		return false
	}
	for first := true; !m.take('}'); first = false {
		if !first && !m.take(',') {
			return false
		}
		name, ok := m.text()
		if !ok || !m.take(':') {
			return false
		}
		m.space()
		if m.at < len(m.in) && m.in[m.at] == '"' {
			text, ok := m.text()
			if !ok {
				return false
			}
			each(name, text, true)
			continue
		}
		raw := m.raw()
		if !number(raw) && !json.Valid([]byte(raw)) {
			return false
		}
		if raw != "null" {
			each(name, raw, false)
		}
	}
	m.space()
	return m.at == len(m.in)
}

// text reads a string: a piece of the document, a copy only where something in
// it is escaped.
func (m *members) text() (string, bool) {
	if !m.take('"') {
		return "", false
	}
	from, escaped := m.at, false
	for ; m.at < len(m.in) && m.in[m.at] != '"'; m.at++ {
		switch c := m.in[m.at]; {
		case c == '\\':
			escaped = true
			m.at++
		case c < ' ':
			return "", false
		}
	}
	if m.at >= len(m.in) {
		return "", false
	}
	m.at++
	if !escaped {
		return m.in[from : m.at-1], true
	}
	var text string
	err := json.Unmarshal([]byte(m.in[from-1:m.at]), &text)
	return text, err == nil
}

// raw goes past a value that is no string.
func (m *members) raw() string {
	from, depth := m.at, 0
	for m.at < len(m.in) {
		switch c := m.in[m.at]; {
		case c == '"':
			if _, ok := m.text(); !ok {
				return ""
			}
			continue
		case c == '{' || c == '[':
			depth++
		case (c == '}' || c == ']' || c == ',') && depth == 0:
			return strings.TrimRight(m.in[from:m.at], " \n\t\r")
		case c == '}' || c == ']':
			depth--
		}
		m.at++
	}
	return ""
}

// number says whether the text is a JSON number without an exponent.
func number(text string) bool {
	text = strings.TrimPrefix(text, "-")
	whole, decimals, point := strings.Cut(text, ".")
	digits := func(s string) bool {
		for i := range len(s) {
			if s[i] < '0' || s[i] > '9' {
				return false
			}
		}
		return s != ""
	}
	return digits(whole) && (whole == "0" || whole[0] != '0') && (!point || digits(decimals))
}
