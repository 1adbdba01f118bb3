// Package plaintext checks and compares texts that a person writes: names, addresses
// and notes. It finds their invisible characters, folds them for a search in any script,
// and detects names that look like the platform's own. It knows no resource and no table.
package plaintext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsLine reports whether a text is one line of 1 to most characters: valid
// UTF-8, not blank (see IsBlank), without control characters.
func IsLine(text string, most int) bool { return !IsBlank(text) && IsOptional(text, most) }

// IsOptional is IsLine for a text that may be empty or blank.
func IsOptional(text string, most int) bool {
	return utf8.RuneCountInString(text) <= most && utf8.ValidString(text) && !HasControls(text, false)
}

// IsText is IsOptional for a text that may also have line breaks and tabs.
func IsText(text string, most int) bool {
	return utf8.RuneCountInString(text) <= most && utf8.ValidString(text) && !HasControls(text, true)
}

// Rule returns what IsLine accepts, for an error message: "expected " +
// Rule(100).
func Rule(most int) string {
	return fmt.Sprintf("1 to %d characters, not all blank or invisible, none of them a control character", most)
}

// HasControls reports whether a text has control characters. If lines is true,
// line breaks and tabs do not count.
func HasControls(text string, lines bool) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) && (!lines || r != '\n' && r != '\r' && r != '\t')
	})
}
