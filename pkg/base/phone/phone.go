// Package phone recognizes phone numbers and owns their stored form. The package
// does not know the numbering plans of countries: package plans does, and is large.
package phone

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"svc/pkg/base/plaintext"
)

// form matches a folded number without tel:, (0) and extension.
var form = regexp.MustCompile(`^\+?[0-9(][0-9 ().\-/]*$`)

// extension matches the extension at the end of a folded number, in several languages,
// or behind the pauses that a telephone makes.
var extension = regexp.MustCompile(`(?:,{2,}|[ ,;.\-]*(?:;ext=|e?xt(?:ensi?on?)?n?|x|#|int(?:erno|ern)?|anexo|доб|` +
	`dw|durchwahl|klappe|nst|poste|toestel|tst|ramal|wew|mellek))[ .:\-]*([0-9]+)$`)

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
	folded := strings.NewReplacer("(0)", "", "tel:", "").Replace(plaintext.Fold(strings.TrimSpace(text)))
	return strings.TrimSpace(extension.ReplaceAllString(folded, ""))
}

// Is reports whether a text of at most 40 characters is a phone number as people
// write it, with 3 to 20 digits.
func Is(text string) bool {
	digits, ok := Digits(text)
	return ok && len(digits) >= 3 && len(digits) <= 20 && utf8.RuneCountInString(text) <= 40 &&
		form.MatchString(bare(text)) && !plaintext.HasControls(text, false)
}

// Extension returns the extension of a typed number, as RFC 3966 writes it (";ext=12"),
// "" if there is none.
func Extension(typed string) string {
	found := extension.FindStringSubmatch(plaintext.Fold(strings.TrimSpace(typed)))
	if found == nil {
		return ""
	}
	return ";ext=" + found[1]
}

// WithoutExtension returns a number as it can be read, without its extension.
func WithoutExtension(typed string) string {
	if Extension(typed) == "" {
		return typed
	}
	return bare(typed)
}

// fewest is how many digits a number has at least that is no area code or country code.
const fewest = 7

// most is how many digits a number has at most (E.164), without what is dialled before it.
const most = 15

// dialled is dialled before the country code.
var dialled = regexp.MustCompile(`^(00|011)`)

// between matches what stands between two numbers, and not within one, or a blank.
var between = regexp.MustCompile(`[/,;|&\n\s]+|\p{L}{2,}`)

// Several reports whether a text has more than one number: two with enough digits, two
// with a country code, or more digits than a number has. After a slash, the last digits
// of another number may follow the whole of the first.
func Several(typed string) bool {
	text := bare(typed)
	whole, signs := 0, strings.Count(text, "+")
	for _, group := range between.Split(text, -1) {
		if count(group) >= fewest {
			whole++
		}
	}
	first, rest, slash := strings.Cut(text, "/")
	if begun := fewest; slash && count(rest) > 0 {
		if strings.HasPrefix(first, "+") || dialled.MatchString(first) {
			begun += 4 // of the country
		}
		slash = count(first) >= begun && count(first) > 0
	} else {
		slash = false
	}
	digits, _ := Digits(typed)
	return whole > 1 || signs > 1 || slash || len(dialled.ReplaceAllString(digits, "")) > most
}

func count(text string) (digits int) {
	for _, r := range text {
		if r >= '0' && r <= '9' {
			digits++
		}
	}
	return digits
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
