package jsonscan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Text is a JSON string in its encoded form, without its quotes.
type Text struct {
	Raw     []byte // part of the scanned text
	Escaped bool   // Raw has escapes, so it differs from the decoded string
}

// Is reports whether the decoded string equals the given one.
func (t Text) Is(want string) bool {
	if !t.Escaped {
		return string(t.Raw) == want
	}
	got, _ := t.Append(nil)
	return string(got) == want
}

// Append appends the decoded string to dst. It never appends more bytes than
// Raw has. paired is false if the string has an unpaired surrogate. Append
// replaces it with U+FFFD, as encoding/json does.
func (t Text) Append(dst []byte) (out []byte, paired bool) {
	if !t.Escaped {
		return append(dst, t.Raw...), true
	}
	paired = true
	for raw := t.Raw; len(raw) > 0; {
		if raw[0] != '\\' {
			plain := bytes.IndexByte(raw, '\\')
			if plain < 0 {
				plain = len(raw)
			}
			dst, raw = append(dst, raw[:plain]...), raw[plain:]
			continue
		}
		c := raw[1]
		if raw = raw[2:]; c != 'u' {
			dst = append(dst, unescaped[c])
			continue
		}
		r := unit(raw)
		if raw = raw[4:]; utf16.IsSurrogate(r) {
			pair := rune(utf8.RuneError)
			if len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' {
				pair = utf16.DecodeRune(r, unit(raw[2:]))
			}
			if r = pair; r == utf8.RuneError {
				paired = false
			} else {
				raw = raw[6:]
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst, paired
}

// unescaped maps the short escapes to their bytes.
var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unit returns the UTF-16 unit of four hexadecimal digits, or -1 if they are
// invalid.
func unit(digits []byte) rune {
	n, err := strconv.ParseUint(string(digits[:4]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// Text reads a string.
func (s *Scanner) Text() Text {
	s.expect('"')
	in, from, escaped := s.in, s.at, false
	for at := from; at < len(in); at++ {
		if at = plain(in, at); at == len(in) {
			break
		}
		switch c := in[at]; {
		case c == '"':
			s.at = at + 1
			return Text{in[from:at], escaped}
		case c == '\\':
			escaped = true
			if at++; at == len(in) || unescaped[in[at]] == 0 && !isUnit(in[at:]) {
				s.Fail()
				return Text{}
			}
		case c < ' ':
			s.Fail()
			return Text{}
		}
	}
	s.Fail()
	return Text{}
}

// plain returns the position of the next byte that may end a string or begin an
// escape, or that a string must not contain. It compares eight bytes at a time.
func plain(in []byte, at int) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; at+8 <= len(in); at += 8 {
		eight := binary.LittleEndian.Uint64(in[at:])
		quote, backslash := eight^('"'*ones), eight^('\\'*ones)
		// A byte's high bit is set if it is below the subtracted one. A borrow
		// changes only the bytes after the first that is found.
		found := (eight - ' '*ones) & ^eight & high
		found |= (quote - ones) & ^quote & high
		found |= (backslash - ones) & ^backslash & high
		if found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
	}
	return at
}

// isUnit reports whether the next bytes are "u" and four hexadecimal digits.
func isUnit(in []byte) bool { return len(in) >= 5 && in[0] == 'u' && unit(in[1:]) >= 0 }
