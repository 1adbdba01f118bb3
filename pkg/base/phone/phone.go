// Package phone recognizes phone numbers and owns their stored form. The package
// does not know the numbering plans of countries: package plans does, and is large.
package phone

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"svc/pkg/base/plaintext"
)

// form matches a phone number in the form that bare returns.
var form = regexp.MustCompile(`^\+?[0-9(][0-9 ().\-/]*$`)

// extension matches the extension at the end of a folded number: digits after a word for
// "extension" in one of several languages, or after commas, which mean pauses in dialling.
var extension = regexp.MustCompile(`(?:,{2,}|[ ,;.\-]*(?:;ext=|e?xt(?:ensi?on?)?n?|x|#|int(?:erno|ern)?|anexo|доб|` +
	`dw|durchwahl|klappe|nst|poste|toestel|tst|ramal|wew|mellek))[ .:\-]*([0-9]+)$`)

// Digits returns the digits of a phone number in ASCII, without those of (0) and of the
// extension. ok is false if the text contains anything but digits of any script,
// separators, invisible characters, tel:, (0) and an extension.
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

// bare folds a text (plaintext.Fold) and removes tel:, the extension, and (0), which many
// people write between country code and number.
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

// WithoutExtension returns a typed number unchanged if it has no extension. Otherwise it
// returns the folded number without tel:, (0) and the extension.
func WithoutExtension(typed string) string {
	if Extension(typed) == "" {
		return typed
	}
	return bare(typed)
}

// fewest is the minimum number of digits of a whole phone number. An area or country code
// alone has fewer.
const fewest = 7

// most is the maximum number of digits of a number (E.164), without an international prefix.
const most = 15

// dialled matches an international prefix, which is dialled before the country code.
var dialled = regexp.MustCompile(`^(00|011)`)

// between matches what may separate two numbers: punctuation, white space or a word.
var between = regexp.MustCompile(`[/,;|&\n\s]+|\p{L}{2,}`)

// Several reports whether a text has more than one number. That is so if two of its parts
// have at least fewest digits, if it has two signs "+", if it has more than most digits, or
// if digits follow a slash after a whole number, as in 030 1234567/68.
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
			begun += 4 // the digits of prefix and country code
		}
		slash = count(first) >= begun && count(first) > 0
	} else {
		slash = false
	}
	digits, _ := Digits(typed)
	return whole > 1 || signs > 1 || slash || len(dialled.ReplaceAllString(digits, "")) > most
}

// count returns the number of ASCII digits in a text.
func count(text string) (digits int) {
	for _, r := range text {
		if r >= '0' && r <= '9' {
			digits++
		}
	}
	return digits
}

// International returns the digits of a number that is typed with + and a country
// code; ok is false for any other text. The number need not exist.
func International(typed string) (digits string, ok bool) {
	digits, ok = Digits(typed)
	return digits, ok && strings.HasPrefix(bare(typed), "+") && Is(typed)
}

// Number is the number that a typed text stands for, in digits.
type Number struct {
	Typed    string `json:"typed"`
	E164     string `json:"e164"`     // country code and number, without "+"
	National string `json:"national"` // as it is dialled within its country
}

// Of reports whether n belongs to the typed text. It does not if an older build, which
// does not know Number, has changed the stored text since.
func (n *Number) Of(typed *string) bool { return n != nil && typed != nil && n.Typed == *typed }
