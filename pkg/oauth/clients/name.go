package clients

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"svc/pkg/base/plaintext"
)

// checkName rejects names that a person could misread on the consent page: a name that
// looks like the platform's own, a name with characters that are invisible or change the
// direction of the text, and a name that could look like a part of the page (see
// isFrame). It also rejects empty and long names.
func checkName(name string) error {
	switch {
	case plaintext.IsBlank(name) || utf8.RuneCountInString(name) > longestName || len(name) > 4*longestName:
		return badMetadata("client_name must have 1 to %d characters.", longestName)
	case plaintext.HasInvisible(name):
		return badMetadata("client_name must not contain control, invisible or private-use characters.")
	case isFrame(name):
		return badMetadata("client_name must not contain quotation marks, two blanks in a row or a drawn line, as in ---.")
	case plaintext.LooksLikePlatform(name):
		return badMetadata("client_name must not look like the platform's own name.")
	}
	return nil
}

// apostrophes are the quotation marks that occur in names: O'Neil, Domino’s.
const apostrophes = "'’"

// isFrame reports whether a name has a character that could seem to end the
// name, so that its rest reads as a text of the page: a quotation mark, two
// blanks in a row, or three or more characters that together draw a line.
func isFrame(name string) bool {
	var before rune
	strokes := 0
	for _, r := range name {
		switch {
		case unicode.Is(unicode.Quotation_Mark, r) && !strings.ContainsRune(apostrophes, r), r == '`', r == '´',
			strings.ContainsRune(longDashes, r), unicode.IsSpace(r) && unicode.IsSpace(before):
			return true
		case unicode.In(r, unicode.Pd, unicode.Pc) || strings.ContainsRune(strokeSigns, r) || r >= '─' && r <= '▟':
			strokes++
		case !unicode.IsSpace(r):
			strokes = 0
		}
		if strokes > 2 {
			return true
		}
		before = r
	}
	return false
}

// The characters with which a name could draw a line.
const (
	longDashes  = "⸺⸻" // each is a line by itself
	strokeSigns = "=~*#.·•…|¦¯ˉ‾−⎯⏤⎺⎻⎼⎽"
)
