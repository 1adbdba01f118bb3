package jsonscan

import "fmt"

// AppendString appends text, which is valid UTF-8, to out as a JSON string (RFC
// 8259, section 7). It escapes only what must be escaped.
func AppendString[T string | []byte](out []byte, text T) []byte {
	out = append(out, '"')
	from := 0 // of the bytes that were not copied yet
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		out = append(out, text[from:i]...)
		if from = i + 1; c < ' ' {
			out = fmt.Appendf(out, `\u%04x`, c)
		} else {
			out = append(out, '\\', c)
		}
	}
	return append(append(out, text[from:]...), '"')
}
