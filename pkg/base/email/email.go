package email

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"svc/pkg/base/plaintext"
)

// Longest is the maximum length of an address in bytes (RFC 5321 section
// 4.5.3.1.3, without the angle brackets).
const Longest = 254

// Fold returns the form under which an address is unique: trimmed, Unicode
// case folded, in normal form C. It accepts any text, also an invalid address.
// To fold the form again changes nothing.
func Fold(address string) string {
	return strings.TrimSpace(plaintext.Caseless(norm.NFC, strings.TrimSpace(address)))
}

// Valid reports whether the text has the form of a mail address: at most
// Longest bytes of valid UTF-8, all characters printable and none a space or
// U+FFFD, one "@", text before it, and after it a host whose labels, between
// the dots, are not empty.
func Valid(address string) bool {
	local, host, ok := strings.Cut(address, "@")
	return ok && local != "" && host != "" && len(address) <= Longest && !strings.Contains(host, "@") &&
		!slices.Contains(strings.Split(host, "."), "") &&
		!strings.ContainsFunc(address, func(r rune) bool {
			return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == unicode.ReplacementChar
		})
}

// Fault returns what is wrong with an address that a person types, "" if nothing is. It
// is stricter than Valid, which must accept addresses that are already stored. It also
// rejects several addresses, and an address with mailto: or other text around it.
func Fault(address string) string {
	address = strings.TrimSpace(address)
	lower := strings.ToLower(address)
	_, host, _ := strings.Cut(address, "@")
	switch {
	case strings.Count(address, "@") > 1:
		return "expected one mail address; this looks like several"
	case strings.HasPrefix(lower, "mailto:"):
		return "expected a mail address without mailto:"
	case strings.ContainsAny(address, "<>"):
		return "expected a mail address alone, without < and >"
	case !Valid(Fold(address)) || strings.ContainsAny(address, `,;:()[]\"`) || strings.ContainsFunc(host, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-._·。", r)
	}):
		return "expected a mail address, as in ann@example.com"
	}
	return ""
}
