package api

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// scan reads JSON (RFC 8259) where it lies, without a copy of it.
type scan struct {
	in []byte
	at int
}

// next goes past blanks and gives what stands there, 0 at the end.
func (s *scan) next() byte {
	for ; s.at < len(s.in); s.at++ {
		switch c := s.in[s.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

func (s *scan) take(c byte) bool {
	if s.next() != c {
		return false
	}
	s.at++
	return true
}

// text goes past a string and gives what stands between its quotes, as it is
// written.
func (s *scan) text() (raw []byte, escaped, ok bool) {
	if !s.take('"') {
		return nil, false, false
	}
	from := s.at
	for ; s.at < len(s.in); s.at++ {
		switch c := s.in[s.at]; {
		case c == '"':
			s.at++
			return s.in[from : s.at-1], escaped, true
		case c == '\\':
			escaped = true
			if !s.escape() {
				return nil, true, false
			}
		case c < ' ':
			return nil, escaped, false
		}
	}
	return nil, escaped, false
}

// escape goes to the last byte of what a backslash begins. Half of a surrogate
// pair is malformed: decoding would put something else in its place (RFC 8259
// section 8.2).
func (s *scan) escape() bool {
	if s.at++; s.at >= len(s.in) {
		return false
	}
	switch s.in[s.at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
	default:
		return false
	}
	unit, ok := s.unit()
	if !ok || !utf16.IsSurrogate(unit) {
		return ok
	}
	if s.at++; !s.word(`\u`) {
		return false
	}
	s.at--
	second, ok := s.unit()
	return ok && utf16.DecodeRune(unit, second) != utf8.RuneError
}

// unit goes to the last of the four hexadecimal digits that follow.
func (s *scan) unit() (rune, bool) {
	if len(s.in)-s.at <= 4 {
		return 0, false
	}
	value, err := strconv.ParseUint(string(s.in[s.at+1:s.at+5]), 16, 16)
	s.at += 4
	return rune(value), err == nil
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// number goes past a number.
func (s *scan) number() (raw []byte, ok bool) {
	from := s.at
	s.skip('-', '-')
	if !s.skip('0', '0') && !s.digits() {
		return nil, false
	}
	if s.skip('.', '.') && !s.digits() {
		return nil, false
	}
	if s.skip('e', 'E') {
		s.skip('+', '-')
		if !s.digits() {
			return nil, false
		}
	}
	return s.in[from:s.at], true
}

func (s *scan) skip(a, b byte) bool {
	if s.at < len(s.in) && (s.in[s.at] == a || s.in[s.at] == b) {
		s.at++
		return true
	}
	return false
}

func (s *scan) digits() bool {
	from := s.at
	for s.at < len(s.in) && digit(s.in[s.at]) {
		s.at++
	}
	return s.at > from
}

func (s *scan) word(w string) bool {
	if len(s.in)-s.at < len(w) || string(s.in[s.at:s.at+len(w)]) != w {
		return false
	}
	s.at += len(w)
	return true
}
