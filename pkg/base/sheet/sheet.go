// Package sheet writes rows as CSV (RFC 4180) or as one JSON object on a line. A
// text that a spreadsheet program would compute gets an apostrophe before it.
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

// Writer writes rows to Buf. encoding/csv would change the line breaks within a
// cell, because with UseCRLF it writes every line break as CRLF.
type Writer struct {
	format  string
	columns []string
	at      map[string]int // the place of each column
	cells   [][]byte
	Buf     bytes.Buffer
}

// New returns a writer of a format, csv or ndjson.
func New(format string, columns []string) *Writer {
	e := &Writer{format: format, columns: columns, at: map[string]int{}, cells: make([][]byte, len(columns))}
	for i, name := range columns {
		e.at[name] = i
	}
	return e
}

// Header writes the first line of a CSV file.
func (e *Writer) Header() {
	if e.format != "csv" {
		return
	}
	for i, name := range e.columns {
		e.cells[i] = append(e.cells[i][:0], name...)
	}
	e.line()
}

// Row writes the columns of a value's JSON.
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
// line break within the text. Apostrophes before the sign belong to it, so that what
// guarded adds can be told from what was there.
var formula = regexp.MustCompile(`(^\s*|[;\t\r\n]\s*)('*[=+\-@＝＋－＠])`)

// guard matches what guarded makes of a formula.
var guard = regexp.MustCompile(`(^\s*|[;\t\r\n]\s*)'('*[=+\-@＝＋－＠])`)

// harmless matches a phone number and a number. A program may show it in another
// form, but computes nothing.
var harmless = regexp.MustCompile(`^\+[0-9 ]+$|^-?[0-9]+(\.[0-9]+)?$`)

const signs = "=+-@＝＋－＠"

// guarded returns the text with an apostrophe before each sign that may begin a
// formula.
func guarded(text string) string {
	if !strings.ContainsAny(text, signs) || harmless.MatchString(text) {
		return text
	}
	return formula.ReplaceAllString(text, "$1'$2")
}

// Unguarded returns the text of a cell that this package has written, or a spreadsheet
// program: without one apostrophe before each sign.
func Unguarded(cell string) string {
	if !strings.Contains(cell, "'") || !strings.ContainsAny(cell, signs) {
		return cell
	}
	return guard.ReplaceAllString(cell, "$1$2")
}

// line writes the cells as a line (RFC 4180 section 2, RFC 8259).
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

// Columns returns the members of T's JSON, in their order.
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
