// Package sheet writes rows as CSV (RFC 4180) or as one JSON object per line. In CSV it
// puts an apostrophe before a text that a spreadsheet program would compute as a formula.
package sheet

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"svc/pkg/base/codec"
)

// Writer writes rows to Buf. It does not use encoding/csv, which with UseCRLF also
// writes the line breaks within a cell as CRLF.
type Writer struct {
	format  string
	columns []string
	at      map[string]int // index of each column, by its name
	cells   [][]byte
	Buf     bytes.Buffer
}

// New returns a Writer of rows with the named columns. format is csv, or ndjson for one
// JSON object per line.
func New(format string, columns []string) *Writer {
	e := &Writer{format: format, columns: columns, at: map[string]int{}, cells: make([][]byte, len(columns))}
	for i, name := range columns {
		e.at[name] = i
	}
	return e
}

// Header writes the line with the names of the columns. It writes nothing for ndjson.
func (e *Writer) Header() {
	if e.format != "csv" {
		return
	}
	for i, name := range e.columns {
		e.cells[i] = append(e.cells[i][:0], name...)
	}
	e.line()
}

// Row writes one row. Its cells are the members of the value's JSON object that have the
// names of the columns. A missing member is an empty cell in CSV, and null in ndjson.
func (e *Writer) Row(value any) error {
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

// cellOf returns the CSV cell of a JSON value: "" for null, the digits of a number, the
// text of a string. An object or array stays JSON.
func cellOf(value []byte) []byte {
	switch {
	case len(value) == 0 || string(value) == "null":
		return value[:0]
	case value[0] != '"':
		return value
	}
	text, _ := jsontext.AppendUnquote(nil, value) // cannot fail: codec has written the value
	return []byte(guarded(string(text)))
}

// formula matches the beginning of what a spreadsheet program would compute when it
// opens the file: one of the signs, at the beginning of a text or after blanks there.
// A program that expects another separator begins a new cell after a semicolon, a tab
// or a line break within the text, so formula also matches a sign there. The match
// includes apostrophes before the sign, so that Unguarded removes only the added one.
var formula = regexp.MustCompile(`(^\s*|[;\t\r\n]\s*)('*[=+\-@＝＋－＠])`)

// guard matches the apostrophe that guarded has put before a sign, with that sign.
var guard = regexp.MustCompile(`(^\s*|[;\t\r\n]\s*)'('*[=+\-@＝＋－＠])`)

// harmless matches a phone number or a plain number. A spreadsheet program may show such
// a text in another form, but computes no formula.
var harmless = regexp.MustCompile(`^\+[0-9 ]+$|^-?[0-9]+(\.[0-9]+)?$`)

// signs are the characters that may begin a formula, also in their full-width forms.
const signs = "=+-@＝＋－＠"

// guarded returns the text with an apostrophe before each sign that may begin a
// formula.
func guarded(text string) string {
	if !strings.ContainsAny(text, signs) || harmless.MatchString(text) {
		return text
	}
	return formula.ReplaceAllString(text, "$1'$2")
}

// Unguarded returns the original text of a cell that this package has written, or that a
// spreadsheet program has saved since. It removes one apostrophe before each sign.
func Unguarded(cell string) string {
	if !strings.Contains(cell, "'") || !strings.ContainsAny(cell, signs) {
		return cell
	}
	return guard.ReplaceAllString(cell, "$1$2")
}

// line writes the cells as one line: in CSV (RFC 4180 section 2), or as a JSON object
// (RFC 8259).
func (e *Writer) line() {
	if e.format != "csv" {
		e.object()
		return
	}
	for i, cell := range e.cells {
		if i > 0 {
			e.Buf.WriteByte(',')
		}
		if bytes.ContainsAny(cell, "\",;\t\r\n") || bytes.HasPrefix(cell, []byte(" ")) ||
			bytes.HasSuffix(cell, []byte(" ")) ||
			len(cell) == 0 && len(e.cells) == 1 {
			e.Buf.WriteByte('"')
			e.Buf.WriteString(strings.ReplaceAll(string(cell), `"`, `""`))
			e.Buf.WriteByte('"')
		} else {
			e.Buf.Write(cell)
		}
	}
	e.Buf.WriteString("\r\n")
}

// object writes the cells, which hold JSON, as one JSON object on a line.
func (e *Writer) object() {
	e.Buf.WriteByte('{')
	for i, cell := range e.cells {
		if len(cell) == 0 {
			cell = []byte("null")
		}
		if i > 0 {
			e.Buf.WriteByte(',')
		}
		name, _ := jsontext.AppendQuote(nil, e.columns[i])
		e.Buf.Write(name)
		e.Buf.WriteByte(':')
		e.Buf.Write(cell)
	}
	e.Buf.WriteString("}\n")
}

// Columns returns the names of the JSON members of the struct T, in the order of its fields.
func Columns[T any]() (names []string) {
	var add func(of reflect.Type)
	add = func(of reflect.Type) {
		for i := range of.NumField() {
			switch name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); {
			case of.Field(i).Anonymous:
				add(of.Field(i).Type)
			case name != "-" && name != "":
				names = append(names, name)
			}
		}
	}
	add(reflect.TypeFor[T]())
	return names
}
