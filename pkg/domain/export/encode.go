package export

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"svc/pkg/base/codec"
)

// encoder writes rows to buf. encoding/csv would change the line breaks within a
// cell, because with UseCRLF it writes every line break as CRLF.
type encoder struct {
	format  string
	columns []string
	at      map[string]int // the place of each column
	cells   [][]byte
	buf     bytes.Buffer
}

func newEncoder(format string, columns []string) *encoder {
	e := &encoder{format: format, columns: columns, at: map[string]int{}, cells: make([][]byte, len(columns))}
	for i, name := range columns {
		e.at[name] = i
	}
	return e
}

// header writes the first line of a CSV file.
func (e *encoder) header() {
	if e.format != "csv" {
		return
	}
	for i, name := range e.columns {
		e.cells[i] = append(e.cells[i][:0], name...)
	}
	e.line()
}

// row writes the columns of a value's JSON.
func (e *encoder) row(value any) error {
	text, err := codec.Marshal(value)
	if err != nil {
		return fmt.Errorf("row: %w", err)
	}
	for i := range e.cells {
		e.cells[i] = e.cells[i][:0]
	}
	err = codec.Members(text, func(name string, value jsontext.Value) {
		if i, ok := e.at[name]; ok {
			e.cells[i] = append(e.cells[i], value...)
		}
	})
	if err != nil {
		return fmt.Errorf("row: %w", err)
	}
	if e.format == "csv" {
		for i, cell := range e.cells {
			e.cells[i] = cellOf(cell)
		}
	}
	e.line()
	return nil
}

// cellOf returns the text of a JSON value: "" for null, the digits of a number. An
// object or array stays JSON.
func cellOf(value []byte) []byte {
	switch {
	case len(value) == 0 || string(value) == "null":
		return value[:0]
	case value[0] != '"':
		return value
	}
	text, _ := jsontext.AppendUnquote(nil, value) // codec has written it
	return []byte(guarded(string(text)))
}

// formula matches what a spreadsheet program computes when it opens the file: a
// text with a sign at its beginning, also a wide one and after blanks. A program
// that expects another separator begins a new cell after a semicolon, a tab or a
// line break within the text.
var formula = regexp.MustCompile(`(^\s*|[;\t\r\n]\s*)([=+\-@＝＋－＠])`)

// harmless matches a phone number and a number. A program may show it in another
// form, but computes nothing.
var harmless = regexp.MustCompile(`^\+[0-9 ]+$|^-?[0-9]+(\.[0-9]+)?$`)

// guarded returns the text with an apostrophe before each sign that may begin a
// formula.
func guarded(text string) string {
	if !strings.ContainsAny(text, "=+-@＝＋－＠") || harmless.MatchString(text) {
		return text
	}
	return formula.ReplaceAllString(text, "$1'$2")
}

// line writes the cells as a line (RFC 4180 section 2, RFC 8259).
func (e *encoder) line() {
	if e.format != "csv" {
		e.object()
		return
	}
	for i, cell := range e.cells {
		if i > 0 {
			e.buf.WriteByte(',')
		}
		if bytes.ContainsAny(cell, "\",;\t\r\n") || bytes.HasPrefix(cell, []byte(" ")) ||
			bytes.HasSuffix(cell, []byte(" ")) ||
			len(cell) == 0 && len(e.cells) == 1 {
			e.buf.WriteByte('"')
			e.buf.WriteString(strings.ReplaceAll(string(cell), `"`, `""`))
			e.buf.WriteByte('"')
		} else {
			e.buf.Write(cell)
		}
	}
	e.buf.WriteString("\r\n")
}

func (e *encoder) object() {
	e.buf.WriteByte('{')
	for i, cell := range e.cells {
		if len(cell) == 0 {
			cell = []byte("null")
		}
		if i > 0 {
			e.buf.WriteByte(',')
		}
		name, _ := jsontext.AppendQuote(nil, e.columns[i])
		e.buf.Write(name)
		e.buf.WriteByte(':')
		e.buf.Write(cell)
	}
	e.buf.WriteString("}\n")
}
