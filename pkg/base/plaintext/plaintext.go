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

// IsOptional is like IsLine, but also accepts an empty or blank text.
func IsOptional(text string, most int) bool {
	return utf8.RuneCountInString(text) <= most && utf8.ValidString(text) && !HasControls(text, false)
}

// IsText reports whether a text has at most most characters: valid UTF-8, without control
// characters other than line breaks and tabs. The text may be empty or blank.
func IsText(text string, most int) bool {
	return utf8.RuneCountInString(text) <= most && utf8.ValidString(text) && !HasControls(text, true)
}

// Rule describes what IsLine accepts for the same most. It is a part of an error message,
// as in "expected " + Rule(100).
func Rule(most int) string {
	return fmt.Sprintf("1 to %d characters, not all blank or invisible, none of them a control character", most)
}

// HasControls reports whether a text has control characters. If lines is true,
// line breaks and tabs are allowed.
func HasControls(text string, lines bool) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) && (!lines || r != '\n' && r != '\r' && r != '\t')
	})
}
