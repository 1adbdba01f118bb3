package plaintext

import (
	"slices"
	"strings"
	"unicode"

	"go.mau.fi/util/confusable"
	"golang.org/x/text/unicode/norm"
)

// platform is the platform's own name.
const platform = "svc"

// official lists words, such as "support", that people connect with the platform. A
// name that has only such words looks like the platform's own.
var official = skeletons("the", "app", "platform", "official", "support", "security", "account", "accounts",
	"administrator", "admin", "system", "signin", "sign", "in", "login", "team")

// neutral lists the official words that do not suggest the platform by themselves. A
// name that has only neutral words is allowed.
var neutral = skeletons("the", "app")

// substitutes replaces signs, digits and letters that people read as another
// letter. Of these, Unicode's table of confusable characters has only 0, 1 and |. Both
// the small i and the capital I can pass for an l.
var substitutes = strings.NewReplacer("$", "s", "5", "s", "0", "o", "1", "l", "|", "l", "i", "l", "@", "a", "3", "e")

// LooksLikePlatform detects names such as "svc", "ꓢꓦꓚ Security", "S V C Support" and
// "Official Support". It follows the skeleton algorithm of Unicode Technical Standard
// 39, section 4. It reports whether a person may mistake the name for the platform's
// own, because one of these is true:
//
//   - A word of the name looks like the platform's name.
//   - Consecutive words together spell the platform's name.
//   - Every word is an official word, or the platform's name and an official word
//     without a blank ("svcsupport"). "The App" alone does not count.
func LooksLikePlatform(name string) bool {
	words := strings.FieldsFunc(skeleton(name), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	if len(words) == 0 {
		return false
	}
	if slices.Contains(words, platform) || spelled(words) {
		return true
	}
	if !slices.ContainsFunc(words, func(word string) bool { return !neutral[word] }) {
		return false
	}
	return !slices.ContainsFunc(words, func(word string) bool {
		return !official[word] && !official[strings.TrimPrefix(word, platform)]
	})
}

// spelled reports whether consecutive words, each shorter than the platform's
// name, together spell it: "S V C", "S.VC".
func spelled(words []string) bool {
	for i := range words {
		joined := ""
		for _, word := range words[i:] {
			if joined += word; joined == platform {
				return true
			}
			if !strings.HasPrefix(platform, joined) {
				break
			}
		}
	}
	return false
}

// skeleton returns the form in which names are compared: names that look alike have the
// same skeleton. Case, accents and scripts make no difference.
func skeleton(name string) string {
	text := twins(norm.NFKD.String(twins(name)))
	for range 3 {
		next := substitutes.Replace(Caseless(norm.NFKC, confusable.Skeleton(Caseless(norm.NFKC, text))))
		if next == text {
			break
		}
		text = next
	}
	return text
}

// twins replaces each character that looks like an ASCII character by that
// character, and removes accents. skeleton calls twins twice, because two steps
// change how a character looks. Before the text is decomposed, the lunate sigma
// looks like c. Before the text is folded, the Armenian Տ looks like S.
func twins(text string) string {
	var out strings.Builder
	for _, r := range text {
		r = unframed(r)
		if twin := confusable.Skeleton(string(r)); r > unicode.MaxASCII && len(twin) == 1 {
			out.WriteString(twin)
		} else if !unicode.Is(unicode.Mn, r) {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// unframed returns the letter in a filled circle or square, and the letter of a
// flag. Unicode has no decomposition for them.
func unframed(r rune) rune {
	for _, a := range []rune{'🅐', '🅰', '🇦'} {
		if r >= a && r < a+26 {
			return 'a' + r - a
		}
	}
	return r
}

// skeletons returns the set of the words' skeletons.
func skeletons(words ...string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, word := range words {
		set[skeleton(word)] = true
	}
	return set
}
