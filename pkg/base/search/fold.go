package search

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold returns the text's compatibility caseless form: NFKC and Unicode's full
// case folding (Unicode Standard, section 3.13, D146). For example, "STRASSE"
// and "straße" have the same form, and so have "Ａ" and "a", and "e\u0301" and
// "é". To fold the form again changes nothing.
func Fold(s string) string {
	if ascii(s) {
		return strings.ToLower(s)
	}
	return Caseless(norm.NFKC, s)
}

// Caseless returns the text in the given normal form, with full case folding.
// To fold the result again changes nothing.
func Caseless(form norm.Form, s string) string {
	for range 4 {
		folded := form.String(strings.Map(cherokee, cases.Fold().String(form.String(s))))
		if folded == s {
			break
		}
		s = folded
	}
	return s
}

// cherokee folds the one script whose small letters fold to capitals
// (CaseFolding.txt). x/text/cases does not fold it.
func cherokee(r rune) rune {
	if unicode.Is(unicode.Cherokee, r) {
		return unicode.ToUpper(r)
	}
	return r
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
