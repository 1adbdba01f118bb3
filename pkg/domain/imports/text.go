package imports

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// charset finds the encoding of a file from its beginning, and the length of its byte
// order mark. name is "" for an encoding that is read byte for byte. ok is false for a
// file that is not text.
func charset(begin []byte) (name string, mark int64, ok bool) {
	zero := func(at int) bool { return at < len(begin) && begin[at] == 0 }
	switch {
	case bytes.HasPrefix(begin, []byte{0xef, 0xbb, 0xbf}):
		mark = 3
	case bytes.HasPrefix(begin, []byte{0xff, 0xfe}) && (!zero(2) || !zero(3)): // FF FE 00 00 begins UTF-32
		return utf16Little, 2, true
	case bytes.HasPrefix(begin, []byte{0xfe, 0xff}):
		return utf16Big, 2, true
	case zero(1) && !zero(0) && !zero(2):
		return utf16Little, 0, true
	case zero(0) && !zero(1) && len(begin) > 1:
		return utf16Big, 0, true
	}
	return "", mark, bytes.IndexByte(begin, 0) < 0
}

// The encodings from which a file is converted to UTF-8. A file in any other encoding is
// read byte for byte.
const (
	utf16Little = "utf-16le"
	utf16Big    = "utf-16be"
)

// encoded returns the ASCII character char in the encoding of the file.
func (s Shape) encoded(char string) []byte {
	switch s.Charset {
	case utf16Little:
		return []byte{char[0], 0}
	case utf16Big:
		return []byte{0, char[0]}
	}
	return []byte(char)
}

// source is a file's text in UTF-8, from the beginning of a line on. It maps the end of a
// line in the text to an offset in the file.
type source struct {
	io.Reader
	wide *wide // nil if the text is the file's bytes as they are
}

// newSource returns the text of the file in, in UTF-8. charset is Shape.Charset.
func newSource(in io.Reader, charset string) source {
	if charset == "" {
		return source{Reader: in}
	}
	w := &wide{in: bufio.NewReader(in), big: charset == utf16Big}
	return source{w, w}
}

// place converts an offset in the text to an offset in the file, counted from where the
// source began. end must be the end of a line or of the text, and may not become smaller
// from call to call.
func (s source) place(end int64) int64 {
	if s.wide == nil {
		return end
	}
	for ends := s.wide.ends; len(ends) > 0 && ends[0][0] <= end; ends = s.wide.ends {
		s.wide.last, s.wide.ends = ends[0], ends[1:]
	}
	if s.wide.last[0] < end {
		return s.wide.read // end is the end of the text, and the last line has no line break
	}
	return s.wide.last[1]
}

// wide converts UTF-16 to UTF-8.
type wide struct {
	in            *bufio.Reader
	big           bool
	text          []byte     // converted, and not returned by Read yet
	written, read int64      // bytes of the text and of the file so far
	ends          [][2]int64 // ends of lines: the offset in the text, and in the file
	last          [2]int64   // the last element that place removed from ends
}

// Read implements io.Reader. It writes an invalid byte for half a character, so that its
// row is a fault.
func (w *wide) Read(p []byte) (int, error) {
	for len(w.text) < len(p) {
		r, err := w.rune()
		if err != nil {
			if len(w.text) > 0 && errors.Is(err, io.EOF) {
				break
			}
			return 0, err
		}
		before := len(w.text)
		if r < 0 {
			w.text = append(w.text, 0xff) // this byte is not UTF-8, so the row is a fault
		} else {
			w.text = utf8.AppendRune(w.text, r)
		}
		if w.written += int64(len(w.text) - before); r == '\n' || r == '\r' {
			w.ends = append(w.ends, [2]int64{w.written, w.read})
		}
	}
	n := copy(p, w.text)
	w.text = w.text[:copy(w.text, w.text[n:])]
	return n, nil
}

// rune returns the next character. It returns -1 for a surrogate without its pair, and
// for half a unit at the end.
func (w *wide) rune() (rune, error) {
	first, err := w.unit()
	if err != nil || !utf16.IsSurrogate(first) {
		return first, err
	}
	next, err := w.in.Peek(2)
	if err != nil {
		return -1, nil
	}
	if r := utf16.DecodeRune(first, w.join(next)); r != utf8.RuneError {
		_, err := w.unit()
		return r, err
	}
	return -1, nil
}

// unit returns the next 16 bits of the file, or -1 if only one byte is left.
func (w *wide) unit() (rune, error) {
	var two [2]byte
	n, err := io.ReadFull(w.in, two[:])
	if w.read += int64(n); errors.Is(err, io.ErrUnexpectedEOF) {
		return -1, nil
	}
	return w.join(two[:]), err
}

// join returns the 16-bit unit of two bytes, in the byte order of the file.
func (w *wide) join(two []byte) rune {
	if w.big {
		return rune(two[0])<<8 | rune(two[1])
	}
	return rune(two[1])<<8 | rune(two[0])
}

// cellText changes the text of a CSV file so that encoding/csv can read it. The number of
// bytes stays the same. A CR alone becomes an LF, as files of old Macs need, and ="0612"
// becomes a quoted cell.
type cellText struct {
	in    *bufio.Reader
	comma byte
	state cellState
}

// cellState is where the next byte of a CSV file is in its cell.
type cellState int

// The values of cellState.
const (
	beginning   cellState = iota // at the first byte
	unquoted                     // in a cell without quotation marks, or after the closing quotation mark
	quoted                       // within quotation marks
	quotedMark                   // behind a quotation mark, which closes the cell or is the first of two
	formulaText                  // between = and the quotation mark
)

// newCellText returns the changed text (cellText) of the CSV file in. comma separates its
// cells.
func newCellText(in io.Reader, comma byte) *cellText {
	return &cellText{in: bufio.NewReader(in), comma: comma}
}

// Read implements io.Reader. It returns the changed text.
func (c *cellText) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	for i := range n {
		follows := func(b byte) bool {
			if i+1 < n {
				return p[i+1] == b
			}
			next, _ := c.in.Peek(1)
			return len(next) == 1 && next[0] == b
		}
		if p[i] == '\r' && !follows('\n') {
			p[i] = '\n'
		}
		p[i] = c.next(p[i], follows)
	}
	return n, err
}

// next returns the byte that replaces b, and updates the state. follows reports whether
// the byte after b is the given one.
func (c *cellText) next(b byte, follows func(byte) bool) byte {
	switch {
	case c.state == formulaText:
		c.state = quoted
		return ' ' // in place of the quotation mark; blanks around a cell do not count
	case c.state == quoted:
		if b == '"' {
			c.state = quotedMark
		}
	case c.state == quotedMark && b == '"':
		c.state = quoted
	case b == c.comma || b == '\n':
		c.state = beginning
	case c.state == beginning && b == '"':
		c.state = quoted
	case c.state == beginning && b == '=' && follows('"'):
		c.state = formulaText
		return '"'
	default:
		c.state = unquoted
	}
	return b
}
