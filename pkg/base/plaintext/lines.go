package plaintext

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Thousands formats a number with commas: 1234567 becomes 1,234,567.
func Thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Wrap breaks a text into lines of at most columns characters, between words. A longer word
// has a line of its own.
func Wrap(text string, columns int) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		width := utf8.RuneCountInString(word)
		switch {
		case column == 0:
		case column+1+width > columns:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += width
	}
	return b.String()
}
