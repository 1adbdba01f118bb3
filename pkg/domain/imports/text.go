package imports

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// charset returns how a file is encoded, and how many bytes its mark has. ok is false
// for a file that is no text.
func charset(begin []byte) (name string, mark int64, ok bool) {
	zero := func(at int) bool { return at < len(begin) && begin[at] == 0 }
	switch {
	case bytes.HasPrefix(begin, []byte{0xef, 0xbb, 0xbf}):
		mark = 3
	case bytes.HasPrefix(begin, []byte{0xff, 0xfe}) && (!zero(2) || !zero(3)): // the latter is UTF-32
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

// The encodings that a file is converted from. Bytes of the others are read as they are.
const (
	utf16Little = "utf-16le"
	utf16Big    = "utf-16be"
)

// encoded returns a character of ASCII as the file has it.
func (s Shape) encoded(char string) []byte {
	switch s.Charset {
	case utf16Little:
		return []byte{char[0], 0}
	case utf16Big:
		return []byte{0, char[0]}
	}
	return []byte(char)
}

// source is the text of a file, from a place on. It knows where in the file each line of
// the text ends.
type source struct {
	io.Reader
	wide *wide // nil if the text has the file's bytes
}

func newSource(in io.Reader, charset string) source {
	if charset == "" {
		return source{Reader: in}
	}
	w := &wide{in: bufio.NewReader(in), big: charset == utf16Big}
	return source{w, w}
}

// place returns how many bytes of the file the text has up to the end of a line, or up
// to its own end. The ends must be asked for in their order.
func (s source) place(end int64) int64 {
	if s.wide == nil {
		return end
	}
	for ends := s.wide.ends; len(ends) > 0 && ends[0][0] <= end; ends = s.wide.ends {
		s.wide.last, s.wide.ends = ends[0], ends[1:]
	}
	if s.wide.last[0] < end {
		return s.wide.read // the last line has no end
	}
	return s.wide.last[1]
}

// wide converts UTF-16 to UTF-8.
type wide struct {
	in            *bufio.Reader
	big           bool
	text          []byte     // converted, not yet returned
	written, read int64      // bytes of the text and of the file so far
	ends          [][2]int64 // of lines: bytes of the text, and of the file
	last          [2]int64   // the end that was asked for last
}

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
			w.text = append(w.text, 0xff) // no character: the row is a fault, as bytes are that are not UTF-8
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

// rune returns the next character, -1 for half of one.
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

func (w *wide) unit() (rune, error) {
	var two [2]byte
	n, err := io.ReadFull(w.in, two[:])
	if w.read += int64(n); errors.Is(err, io.ErrUnexpectedEOF) {
		return -1, nil
	}
	return w.join(two[:]), err
}

func (w *wide) join(two []byte) rune {
	if w.big {
		return rune(two[0])<<8 | rune(two[1])
	}
	return rune(two[1])<<8 | rune(two[0])
}

// cellText is the text of a CSV file as encoding/csv can read it, with the same number of
// bytes: a CR alone ends a line, as in files of old Macs, and ="0612" is a quoted cell.
type cellText struct {
	in    *bufio.Reader
	comma byte
	state cellState
}

type cellState int

// Where a byte is in its cell.
const (
	beginning   cellState = iota
	unquoted              // in a cell without quotation marks, or behind the closing one
	quoted                // within quotation marks
	quotedMark            // behind a quotation mark, which closes the cell or is the first of two
	formulaText           // between = and the quotation mark
)

func newCellText(in io.Reader, comma byte) *cellText {
	return &cellText{in: bufio.NewReader(in), comma: comma}
}

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

// next returns the byte that stands for b.
func (c *cellText) next(b byte, follows func(byte) bool) byte {
	switch {
	case c.state == formulaText:
		c.state = quoted
		return ' ' // blanks around a cell do not count
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
