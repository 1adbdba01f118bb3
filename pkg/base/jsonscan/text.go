package jsonscan

import (
	"encoding/binary"
	"math/bits"
	"slices"
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
// replaces each such surrogate with U+FFFD, as encoding/json does.
func (t Text) Append(dst []byte) (out []byte, paired bool) {
	if !t.Escaped {
		return append(dst, t.Raw...), true
	}
	dst, paired = slices.Grow(dst, len(t.Raw)), true
	for raw := t.Raw; len(raw) > 0; {
		dst, raw = copyPlain(dst, raw)
		if len(raw) == 0 {
			break
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

// copyPlain appends the part of raw before the next backslash to dst, eight
// bytes at a time. dst must have the capacity for that part. dst and raw may
// share memory if dst ends at or before the start of raw. Therefore copyPlain
// does not change the bytes of raw from the backslash on: they are read later.
func copyPlain(dst, raw []byte) (longer, rest []byte) {
	for len(raw) >= 8 && cap(dst)-len(dst) >= 8 {
		w, to := word(raw), dst[len(dst):cap(dst)]
		if found := equal(w, '\\'); found != 0 {
			n := bits.TrailingZeros64(found) / 8
			kept := ^uint64(0) << (8 * n)
			binary.LittleEndian.PutUint64(to, w&^kept|word(to)&kept)
			return dst[:len(dst)+n], raw[n:]
		}
		binary.LittleEndian.PutUint64(to, w)
		dst, raw = dst[:len(dst)+8], raw[8:]
	}
	for len(raw) > 0 && raw[0] != '\\' {
		dst, raw = append(dst, raw[0]), raw[1:]
	}
	return dst, raw
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

// Text reads a string. It looks at eight bytes at a time.
func (s *Scanner) Text() Text {
	s.expect('"')
	in, from, escaped := s.in, s.at, false
	for at := from; at < len(in); {
		if at+8 <= len(in) {
			found := special(word(in[at:]))
			if found == 0 {
				at += 8
				continue
			}
			at += bits.TrailingZeros64(found) / 8
		}
		switch c := in[at]; {
		case c == '"':
			s.at = at + 1
			return Text{in[from:at], escaped}
		case c < ' ':
			s.Fail()
			return Text{}
		case c == '\\':
			escaped = true
			if at++; at == len(in) || unescaped[in[at]] == 0 && !isUnit(in[at:]) {
				s.Fail()
				return Text{}
			}
		}
		at++
	}
	s.Fail()
	return Text{}
}

// isUnit reports whether the next bytes are "u" and four hexadecimal digits.
func isUnit(in []byte) bool { return len(in) >= 5 && in[0] == 'u' && unit(in[1:]) >= 0 }
