package imports

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/encoding/charmap"

	"svc/pkg/base/codec"
)

const (
	// MaxBytes is how many bytes a file may have.
	MaxBytes = 50_000_000
	// MaxRows is how many rows a file may have.
	MaxRows = 100_000
	// maxRow is how many bytes one row may have, so that no file needs much memory.
	maxRow = 64 << 10
	// maxColumns is how many columns a file may have, and how many members a line of
	// NDJSON.
	maxColumns = 1000
)

// Shape is how a file is written. It is found at the file's beginning.
type Shape struct {
	Comma   string   `json:"comma,omitempty"`   // between the cells of a CSV file
	Columns []string `json:"columns,omitempty"` // of a CSV file: the column's name here, "" for an ignored one
	Ignored []string `json:"ignored,omitempty"` // the headings that mean nothing here
	Head    int64    `json:"head,omitempty"`    // bytes up to the end of the header
	Lines   int      `json:"lines,omitempty"`   // lines up to the end of the header
	Reading `json:"-"`
}

// Reading is what Shape needs for files that an older build cannot read. Such a file
// has olderFails as its Comma, with which the older build leaves the job to this one.
type Reading struct {
	Separator string   `json:"separator,omitempty"` // in place of Comma
	Charset   string   `json:"charset,omitempty"`   // that the file is converted from
	Joined    []joined `json:"joined,omitempty"`    // columns that are made from several cells
}

// olderFails is no separator, so encoding/csv returns an error.
const olderFails = "\n"

// comma returns what separates the cells.
func (s Shape) comma() byte { return cmp.Or(s.Separator, s.Comma)[0] }

// Row is one row of a file.
type Row struct {
	N, Line  int               // from 1 on; the header counts as a line, but not as a row
	From, To int64             // its place in the file
	Cells    map[string]string // by column; an empty cell is absent
	Fault    *Fault            // why the row cannot be read
}

// Place is where the next row begins.
type Place struct {
	At   int64 `json:"at,omitempty"`
	Line int   `json:"line,omitempty"`
	Row  int   `json:"row,omitempty"`
}

// broken is the error of a file that cannot be read further.
type broken string

func (b broken) Error() string { return string(b) }

// limited fails when one row needs more than maxRow bytes.
type limited struct {
	r     io.Reader
	read  int64
	limit int64
}

var errLong = errors.New("row too long")

func (l *limited) Read(p []byte) (int, error) {
	if l.read >= l.limit {
		return 0, errLong
	}
	n, err := l.r.Read(p)
	l.read += int64(n)
	return n, err
}

// decoded returns a cell as UTF-8.
func (o Options) decoded(text string) string {
	if o.Encoding == "latin1" {
		text, _ = charmap.Windows1252.NewDecoder().String(text) // every byte has a character
	}
	return text
}

// rows calls each with every row from a place on, until it returns false. in begins
// at the place.
func (o Options) rows(s Shape, in io.Reader, at Place, each func(Row) (bool, error)) error {
	if at.At == 0 {
		at = Place{At: s.Head, Line: s.Lines}
	}
	text := newSource(in, s.Charset)
	next := o.lines(text, at)
	if o.Format == "csv" {
		next = o.cells(s, text, at)
	}
	for {
		row, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, errLong) {
			return broken(fmt.Sprintf("The row after line %d has more than 64 KB. Perhaps a quotation mark is not closed.",
				row.Line-1))
		}
		if err != nil {
			return err
		}
		if more, err := each(row); err != nil || !more {
			return err
		}
	}
}

// cells reads the rows of a CSV file.
func (o Options) cells(s Shape, text source, at Place) func() (Row, error) {
	bound := &limited{r: newCellText(text, s.comma())}
	r := csv.NewReader(bound)
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = rune(s.comma()), -1, true
	n, from, begun := at.Row, at.At, int64(0)
	return func() (Row, error) {
		for {
			bound.limit = begun + maxRow
			cells, err := r.Read()
			row := Row{N: n + 1, Line: at.Line + 1, From: from, To: at.At + text.place(r.InputOffset())}
			var parse *csv.ParseError
			switch {
			case errors.As(err, &parse) && errors.Is(err, csv.ErrQuote) && bound.ended(r.InputOffset()):
				row.Line = at.Line + parse.StartLine
				row.Fault = &Fault{Code: "cells", Message: "The file ends within quotation marks: it was cut off."}
			case errors.As(err, &parse):
				row.Line = at.Line + parse.StartLine
				row.Fault = &Fault{Code: "cells", Message: "A quotation mark is neither at the beginning nor at the end of a " +
					"cell. Write two of them within quotation marks."}
			case err != nil:
				return row, err
			default:
				line, _ := r.FieldPos(0)
				row.Line = at.Line + line
				o.named(s, cells, &row)
			}
			if n, from, begun = n+1, row.To, r.InputOffset(); row.Fault != nil || len(row.Cells) > 0 {
				return row, nil
			}
			n-- // a blank row
		}
	}
}

func (l *limited) ended(at int64) bool { return at >= l.read }

// named gives the cells of a row their columns.
func (o Options) named(s Shape, cells []string, row *Row) {
	row.Cells = map[string]string{}
	blank := true
	for i, text := range cells {
		cells[i] = strings.TrimSpace(o.decoded(text))
		switch blank = blank && cells[i] == ""; {
		case !utf8.ValidString(cells[i]):
			row.Fault = &Fault{Code: "encoding", Message: "The line is not UTF-8. Save the file as CSV UTF-8, or name the " +
				"encoding latin1."}
			return
		case i >= len(s.Columns) && cells[i] != "":
			row.Fault = &Fault{Code: "cells", Message: fmt.Sprintf("The row has %d cells, the header %d.", len(cells),
				len(s.Columns))}
			return
		case i < len(s.Columns) && s.Columns[i] != "" && cells[i] != "":
			o.put(row, s.Columns[i], cells[i])
		}
	}
	for _, j := range s.Joined {
		if text := j.of(cells); text != "" && !blank {
			o.put(row, j.Column, text)
		}
	}
}

// put stores a cell. A formula is a fault of the row. The text of a JSON file, and a cell
// with JSON, stay as they are, because no spreadsheet has written them.
func (o Options) put(row *Row, column, cell string) {
	text, ok := cell, true
	if o.Format == "csv" && column != "metadata" {
		text, ok = plain(column, cell)
	}
	if row.Cells[column] = text; !ok {
		row.Fault = &Fault{Column: column, Code: "formula", Message: "A text may not begin with = or @, because a " +
			"spreadsheet computes it. Write an apostrophe before it."}
	}
	if f := computed(column, text); f != nil {
		row.Fault = f
	}
}

// lines reads the rows of an NDJSON file.
func (o Options) lines(text source, at Place) func() (Row, error) {
	r, n, line := bufio.NewReaderSize(text, maxRow), at.Row, at.Line
	from, read := at.At, int64(0)
	m := members{Options: o}
	return func() (Row, error) {
		for {
			one, err := r.ReadSlice('\n')
			line++
			read += int64(len(one))
			row := Row{N: n + 1, Line: line, From: from}
			if errors.Is(err, bufio.ErrBufferFull) {
				return row, errLong
			}
			if err != nil && (!errors.Is(err, io.EOF) || len(one) == 0) {
				return row, err
			}
			row.To = at.At + text.place(read)
			from = row.To
			if one = bytes.TrimSpace(one); len(one) == 0 {
				continue
			}
			n++
			m.read(one, &row)
			return row, nil
		}
	}
}

// members gives the members of JSON objects their columns. It keeps the header of the
// last object, because most objects of a file have the same members.
type members struct {
	Options
	names  []string
	header header
	err    error
}

func (m *members) read(line []byte, row *Row) {
	row.Cells = map[string]string{}
	var names, cells []string
	kinds, count := []jsontext.Kind{}, 0
	err := codec.Members(line, func(name string, value jsontext.Value) {
		if count++; count > maxColumns {
			return
		}
		cell := ""
		switch value.Kind() {
		case '"':
			raw, _ := jsontext.AppendUnquote(nil, value)
			cell = strings.TrimSpace(string(raw))
		case '0':
			if cell = string(value); m.Decimal == "comma" {
				cell = strings.Replace(cell, ".", ",", 1)
			}
		case '{':
			cell = string(value)
		}
		names, cells, kinds = append(names, name), append(cells, cell), append(kinds, value.Kind())
	})
	switch {
	case !utf8.Valid(line):
		row.Fault = &Fault{Code: "encoding", Message: "The line is not UTF-8."}
		return
	case err != nil:
		row.Fault = &Fault{Code: "cells", Message: "The line is not a JSON object, or the file was cut off here."}
		return
	case count > maxColumns:
		row.Fault = &Fault{Code: "cells", Message: fmt.Sprintf("The line has %d members, and at most %d are read.", count,
			maxColumns)}
		return
	}
	if m.header.columns == nil || !slices.Equal(names, m.names) {
		m.names = names
		m.header, m.err = m.headerOf(names, true)
	}
	if m.err != nil {
		row.Fault = &Fault{Code: "cells", Message: m.err.Error()}
		return
	}
	m.Options.named(Shape{Columns: m.header.columns, Reading: Reading{Joined: m.header.joined}}, cells, row)
	for i, column := range m.header.columns {
		if column != "" && (kinds[i] == '{' && column != "metadata" || kinds[i] == '[' || kinds[i] == 't' ||
			kinds[i] == 'f') {
			row.Fault = &Fault{Code: "cells", Column: column, Message: "The value must be a text, a number or null."}
		}
	}
}
