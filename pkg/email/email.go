package email

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"svc/pkg/search"
)

// Longest is the longest address accepted, in bytes (RFC 5321 section 4.5.3.1.3
// less the angle brackets).
const Longest = 254

// Fold gives the form of an address under which it is unique: trimmed, Unicode
// case folded, in normal form C. Any text has one, also what is no address.
// Folding twice changes nothing.
func Fold(address string) string {
	return strings.TrimSpace(search.Caseless(norm.NFC, strings.TrimSpace(address)))
}

// Valid says whether the text has the form of a mail address: one "@" with
// something before it and a host after it, no spaces or control characters.
func Valid(address string) bool {
	local, host, ok := strings.Cut(address, "@")
	return ok && local != "" && host != "" && len(address) <= Longest && !strings.Contains(host, "@") &&
		!strings.HasPrefix(host, ".") && !strings.HasSuffix(host, ".") &&
		!strings.ContainsFunc(address, func(r rune) bool {
			return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == unicode.ReplacementChar
		})
}
