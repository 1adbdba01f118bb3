package imports

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
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
)

// Shape is how a file is written. It is found at the file's beginning.
type Shape struct {
	Comma   string   `json:"comma,omitempty"`   // between the cells of a CSV file
	Columns []string `json:"columns,omitempty"` // of a CSV file: the column's name here, "" for an ignored one
	Ignored []string `json:"ignored,omitempty"` // the headings that mean nothing here
	Head    int64    `json:"head,omitempty"`    // bytes up to the end of the header
	Lines   int      `json:"lines,omitempty"`   // lines up to the end of the header
}

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

// shapeOf reads the beginning of a file. The errors are for the company.
func (o Options) shapeOf(in io.Reader) (s Shape, err error) {
	begin, err := io.ReadAll(io.LimitReader(in, maxRow))
	if err != nil {
		return s, err
	}
	switch {
	case len(begin) == 0:
		return s, broken("The file is empty.")
	case bytes.HasPrefix(begin, []byte("PK\x03\x04")):
		return s, broken("The file is a workbook or another zip archive. Save the sheet as CSV UTF-8.")
	case bytes.HasPrefix(begin, []byte{0x1f, 0x8b}):
		return s, broken("The file is compressed. Upload it unpacked.")
	case bytes.HasPrefix(begin, []byte{0xff, 0xfe}) || bytes.HasPrefix(begin, []byte{0xfe, 0xff}) ||
		bytes.IndexByte(begin, 0) >= 0:
		return s, broken("The file is UTF-16 or no text. Save it as UTF-8.")
	}
	if bytes.HasPrefix(begin, []byte("\ufeff")) {
		s.Head = 3
	}
	if o.Format == "ndjson" {
		return s, nil
	}
	rest := begin[s.Head:]
	if line, _, _ := bytes.Cut(rest, []byte("\n")); len(bytes.TrimRight(line, "\r")) == 5 &&
		bytes.EqualFold(line[:4], []byte("sep=")) {
		s.Comma, s.Head, s.Lines = string(line[4]), s.Head+int64(len(line))+1, 1
		rest = begin[min(s.Head, int64(len(begin))):]
	}
	if s.Comma == "" {
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		s.Comma = ","
		for _, c := range []string{";", "\t", "|"} {
			if bytes.Count(line, []byte(c)) > bytes.Count(line, []byte(s.Comma)) {
				s.Comma = c
			}
		}
	}
	r := csv.NewReader(bytes.NewReader(rest))
	r.Comma = rune(s.Comma[0])
	header, err := r.Read()
	if err != nil || r.InputOffset() >= maxRow {
		return s, broken("The header, which is the first line, cannot be read or has more than 64 KB.")
	}
	s.Lines += bytes.Count(rest[:r.InputOffset()], []byte("\n"))
	s.Head += r.InputOffset()
	return s, o.headings(&s, header)
}

// headings finds the columns of a header.
func (o Options) headings(s *Shape, header []string) error {
	known := kinds[o.Kind].columns
	for _, text := range header {
		name := columnOf(o.decoded(text), known)
		for _, other := range s.Columns {
			if name != "" && other == name {
				return broken(fmt.Sprintf("Two columns mean %s. Remove one of them.", name))
			}
		}
		if s.Columns = append(s.Columns, name); name == "" && len(s.Ignored) < 100 {
			s.Ignored = append(s.Ignored, strings.ToValidUTF8(text, "?"))
		}
	}
	if !strings.Contains(" "+strings.Join(s.Columns, " ")+" ", " "+o.Key+" ") {
		return broken(fmt.Sprintf("The header has no column %s, which is the key. Known columns: %s.", o.Key,
			strings.Join(known, ", ")))
	}
	return nil
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
	next := o.lines(in, at)
	if o.Format == "csv" {
		next = o.cells(s, in, at)
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
func (o Options) cells(s Shape, in io.Reader, at Place) func() (Row, error) {
	bound := &limited{r: in}
	r := csv.NewReader(bound)
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = rune(s.Comma[0]), -1, true
	n, from := at.Row, at.At
	return func() (Row, error) {
		for {
			bound.limit = from - at.At + maxRow
			cells, err := r.Read()
			row := Row{N: n + 1, Line: at.Line + 1, From: from, To: at.At + r.InputOffset()}
			var parse *csv.ParseError
			switch {
			case errors.As(err, &parse) && errors.Is(err, csv.ErrQuote) && bound.ended(row.To-at.At):
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
			if n, from = n+1, row.To; row.Fault != nil || len(row.Cells) > 0 {
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
	for i, text := range cells {
		text = strings.TrimSpace(o.decoded(text))
		switch {
		case !utf8.ValidString(text):
			row.Fault = &Fault{Code: "encoding", Message: "The line is not UTF-8. Save the file as CSV UTF-8, or name the " +
				"encoding latin1."}
			return
		case i >= len(s.Columns) && text != "":
			row.Fault = &Fault{Code: "cells", Message: fmt.Sprintf("The row has %d cells, the header %d.", len(cells),
				len(s.Columns))}
			return
		case i < len(s.Columns) && s.Columns[i] != "" && text != "":
			row.put(s.Columns[i], text)
		}
	}
}

// put stores a cell. A formula is a fault of the row.
func (row *Row) put(column, cell string) {
	text, ok := plain(cell)
	if row.Cells[column] = text; !ok {
		row.Fault = &Fault{Column: column, Code: "formula", Message: "A text may not begin with = or @, because a " +
			"spreadsheet computes it. Write an apostrophe before it."}
	}
}

// lines reads the rows of an NDJSON file.
func (o Options) lines(in io.Reader, at Place) func() (Row, error) {
	r, n, line := bufio.NewReaderSize(in, maxRow), at.Row, at.Line
	from := at.At
	return func() (Row, error) {
		for {
			text, err := r.ReadSlice('\n')
			line++
			row := Row{N: n + 1, Line: line, From: from, To: from + int64(len(text))}
			if errors.Is(err, bufio.ErrBufferFull) {
				return row, errLong
			}
			if err != nil && (!errors.Is(err, io.EOF) || len(text) == 0) {
				return row, err
			}
			from = row.To
			if text = bytes.TrimSpace(text); len(text) == 0 {
				continue
			}
			n++
			o.members(text, &row)
			return row, nil
		}
	}
}

func (o Options) members(text []byte, row *Row) {
	row.Cells = map[string]string{}
	wrong := ""
	err := codec.Members(text, func(name string, value jsontext.Value) {
		column, cell := columnOf(name, kinds[o.Kind].columns), ""
		switch value.Kind() {
		case '"':
			raw, _ := jsontext.AppendUnquote(nil, value)
			cell = strings.TrimSpace(string(raw))
		case '0':
			cell = string(value)
		case 'n':
		default:
			wrong = name
		}
		if column != "" && cell != "" {
			row.put(column, cell)
		}
	})
	switch {
	case !utf8.Valid(text):
		row.Fault = &Fault{Code: "encoding", Message: "The line is not UTF-8."}
	case err != nil:
		row.Fault = &Fault{Code: "cells", Message: "The line is not a JSON object, or the file was cut off here."}
	case wrong != "" && columnOf(wrong, kinds[o.Kind].columns) != "":
		row.Fault = &Fault{Code: "cells", Column: columnOf(wrong, kinds[o.Kind].columns),
			Message: "The value must be a text, a number or null."}
	}
}
