package plaintext

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold returns the form of a text in which a search compares it. The form has no
// differences of letter case, width, accent or stroke. It has one kind of
// apostrophe and of hyphen, no invisible character, the dotted and the dotless i
// as one letter, and ASCII digits for the digits of every script. For example,
// "Łódź" and "lodz" have the same form. Marks without which other scripts are not
// readable stay, such as the vowel signs of Devanagari. If a text contains
// another in any letter case, its form contains the form of the other. To fold
// the form again changes nothing.
func Fold(s string) string {
	if ascii(s) {
		return strings.ReplaceAll(strings.ToLower(s), "`", "'")
	}
	for range 4 {
		folded := Caseless(norm.NFKC, strings.Map(plain, s))
		folded = letters.Replace(norm.NFC.String(strings.Map(unaccented, norm.NFD.String(folded))))
		if folded == s {
			break
		}
		s = folded
	}
	return s
}

// letters replaces letters that have no Unicode decomposition into ASCII letters.
var letters = strings.NewReplacer("ı", "i", "ł", "l", "đ", "d", "ð", "d", "ɖ", "d", "ɗ", "d", "ø", "o", "ħ", "h",
	"ŧ", "t", "þ", "th", "æ", "ae", "œ", "oe", "ŋ", "n", "ɨ", "i", "ƀ", "b", "ƙ", "k", "ƴ", "y", "ə", "e", "ĸ", "k")

// plain returns the ASCII form of an apostrophe, hyphen or digit. It returns -1 for an
// invisible character, so that strings.Map drops it, and any other character unchanged.
func plain(r rune) rune {
	switch {
	case strings.ContainsRune("`´‘’‛ʹʻʼʽˈ′＇", r):
		return '\''
	case r == '\u00ad' || unicode.Is(unicode.Cf, r):
		return -1
	case r == '−' || r == '⁃' || unicode.Is(unicode.Pd, r):
		return '-'
	case r >= 0x80 && unicode.IsDigit(r):
		return digit(r)
	}
	return r
}

// digit returns the ASCII digit of a decimal digit. In Unicode, the digits of a
// script follow each other from 0 to 9.
func digit(r rune) rune {
	for _, of := range unicode.Nd.R16 {
		if rune(of.Lo) <= r && r <= rune(of.Hi) {
			return '0' + (r-rune(of.Lo))%10
		}
	}
	for _, of := range unicode.Nd.R32 {
		if rune(of.Lo) <= r && r <= rune(of.Hi) {
			return '0' + (r-rune(of.Lo))%10
		}
	}
	return r
}

// unaccented returns -1 for an accent of an alphabet and for a vowel point of Hebrew or
// Arabic, so that strings.Map drops it. It returns any other character unchanged.
func unaccented(r rune) rune {
	if unicode.Is(unicode.M, r) && (unicode.In(r, unicode.Inherited, unicode.Hebrew, unicode.Arabic, unicode.Cyrillic)) &&
		r != '\u3099' && r != '\u309a' {
		return -1
	}
	return r
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

// ascii reports whether a text has only ASCII characters.
func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
