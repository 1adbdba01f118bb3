package jsonscan

import (
	"encoding/binary"
	"math/bits"
)

// AppendString appends text, which must be valid UTF-8, to out as a JSON string
// (RFC 8259, section 7). It escapes only what must be escaped. It allocates
// nothing if out has the capacity for the result.
func AppendString[T string | []byte](out []byte, text T) []byte {
	return append(Escape(append(out, '"'), text), '"')
}

// Escape appends text, escaped for use in a JSON string. It is AppendString
// without the quotes.
func Escape[T string | []byte](out []byte, text T) []byte {
	for len(text) > 0 {
		n, done := escapeWords(out[len(out):cap(out)], text)
		out, text = out[:len(out)+n], text[done:]
		for range min(len(text), 8) { // escapeWords stops near the end of text or out, or before a control character
			if c := text[0]; c >= ' ' && c != '"' && c != '\\' {
				out = append(out, c)
			} else {
				out = appendEscape(out, c)
			}
			text = text[1:]
		}
	}
	return out
}

func appendEscape(out []byte, c byte) []byte {
	if c >= ' ' {
		return append(out, '\\', c)
	}
	const digits = "0123456789abcdef"
	return append(out, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
}

const (
	ones   = 0x0101010101010101
	sevens = 0x7f * ones
	highs  = 0x80 * ones

	// wordSpace is the space that one word needs, in bytes: its escaped form has
	// up to 16 bytes, and a write may touch 8 more, which the next word overwrites.
	wordSpace = 24
)

// escapeWords escapes text into dst, a word of eight bytes at a time. It stops
// before a word with a control character, when fewer than eight bytes of text
// are left, and when dst has less than wordSpace left. It returns the numbers of
// bytes written and read.
func escapeWords[T string | []byte](dst []byte, text T) (n, read int) {
	for len(text)-read >= 8 && len(dst)-n >= wordSpace {
		w := word(text[read:])
		if (w-ones*' ')&^w&highs != 0 {
			break
		}
		binary.LittleEndian.PutUint64(dst[n:], w)
		left := 8
		for marks := equal(w, '"') | equal(w, '\\'); marks != 0; {
			plain := bits.TrailingZeros64(marks) &^ 7 // bits before the next byte to escape
			w >>= plain & 63
			marks = marks >> (plain & 63) >> 8
			n += plain / 8
			dst[n] = '\\'
			binary.LittleEndian.PutUint64(dst[n+1:], w)
			n += 2
			w >>= 8
			left -= plain/8 + 1
		}
		n += left
		read += 8
	}
	return n, read
}

// special sets the highest bit of each byte that is a control character, a quote
// or a backslash. Only the first mark is reliable.
func special(w uint64) uint64 {
	quote, backslash := w^'"'*ones, w^'\\'*ones
	// The subtraction sets the high bit of a byte that is less than the subtracted
	// one. A borrow changes only bytes after the first marked one.
	return ((w-' '*ones)&^w | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
}

// equal returns 0x80 for each byte of w that equals c, and 0 for the others.
func equal(w uint64, c byte) uint64 {
	w ^= ones * uint64(c)
	return ^((w&sevens + sevens) | w | sevens)
}

// word returns the first eight bytes as a number. The first byte is the least
// significant one.
func word[T string | []byte](b T) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}
