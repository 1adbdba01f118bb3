// Package phone recognizes phone numbers and owns their stored form. The package
// does not know the numbering plans of countries: package plans does, and is large.
package phone

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"svc/pkg/base/plaintext"
	"svc/pkg/base/search"
)

// form matches a folded number without tel:, (0) and extension.
var form = regexp.MustCompile(`^\+?[0-9(][0-9 ().\-/]*$`)

// extension matches the extension at the end of a folded number.
var extension = regexp.MustCompile(`(;ext=|ext\.?|x|#) ?[0-9]+$`)

// Digits returns the digits of a text that consists of digits of any script and of
// what stands between and around those of a phone number: separators, invisible
// characters, tel:, (0) and an extension. The latter two do not count. ok is false
// for another text.
func Digits(text string) (digits string, ok bool) {
	ok = true
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		ok = ok && strings.ContainsRune(" +-()./", r)
		return -1
	}, bare(text)), ok
}

// bare returns a folded text without tel:, (0) and extension.
func bare(text string) string {
	folded := strings.NewReplacer("(0)", "", "tel:", "").Replace(search.Fold(strings.TrimSpace(text)))
	return strings.TrimSpace(extension.ReplaceAllString(folded, ""))
}

// Is reports whether a text of at most 40 characters is a phone number as people
// write it, with 3 to 20 digits.
func Is(text string) bool {
	digits, ok := Digits(text)
	return ok && len(digits) >= 3 && len(digits) <= 20 && utf8.RuneCountInString(text) <= 40 &&
		form.MatchString(bare(text)) && !plaintext.HasControls(text, false)
}

// International returns the digits of a number that is typed with + and a country
// code. They need not be a number that exists.
func International(typed string) (digits string, ok bool) {
	digits, ok = Digits(typed)
	return digits, ok && strings.HasPrefix(bare(typed), "+") && Is(typed)
}

// Number is the number that a typed text stands for, in digits.
type Number struct {
	Typed    string `json:"typed"`
	E164     string `json:"e164"`     // country code and number, without "+"
	National string `json:"national"` // as it is called in its country
}

// Of reports whether n is the number of the typed text. It is not if an older
// build has changed the text.
func (n *Number) Of(typed *string) bool { return n != nil && typed != nil && n.Typed == *typed }
