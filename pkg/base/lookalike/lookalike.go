// Package lookalike detects names that a person may mistake for the platform's
// own: "svc", "ꓢꓦꓚ Security", "S V C Support", "Official Support". It follows
// the skeleton algorithm of Unicode Technical Standard 39, section 4.
package lookalike

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.mau.fi/util/confusable"
	"golang.org/x/text/unicode/norm"

	"svc/pkg/base/search"
)

// platform is the platform's own name.
const platform = "svc"

// official are words that sound like the platform if a name has no other
// words.
var official = skeletons("the", "app", "platform", "official", "support", "security", "account", "accounts",
	"administrator", "admin", "system", "signin", "sign", "in", "login", "team")

// substitutes are signs, digits and letters that people read as another letter.
// The standard's table maps only 0, 1 and |. Both the small i and the capital I
// can pass for an l.
var substitutes = strings.NewReplacer("$", "s", "5", "s", "0", "o", "1", "l", "|", "l", "i", "l", "@", "a", "3", "e")

// OfPlatform reports whether a person may mistake the name for the platform's
// own. This is the case if a word of it looks like the platform's name, if
// consecutive words together spell the platform's name, or if every word is an
// official word, alone or after the platform's name ("svcsupport").
func OfPlatform(name string) bool {
	words := strings.FieldsFunc(skeleton(name), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	if len(words) == 0 {
		return false
	}
	if slices.Contains(words, platform) || spelled(words) {
		return true
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

// skeleton returns a text that is equal for names that look alike. Case,
// accents and scripts make no difference.
func skeleton(name string) string {
	text := twins(norm.NFKD.String(twins(name)))
	for range 3 {
		next := substitutes.Replace(search.Fold(confusable.Skeleton(search.Fold(text))))
		if next == text {
			break
		}
		text = next
	}
	return text
}

// twins replaces characters by the ASCII character that each looks like, and
// removes accents. skeleton calls it before it decomposes the text and again
// before it folds the text, because both steps change how a character looks: the
// lunate sigma then no longer looks like c, and the Armenian Տ not like S.
func twins(text string) string {
	var out strings.Builder
	for _, r := range text {
		if twin := confusable.Skeleton(string(r)); r > unicode.MaxASCII && len(twin) == 1 {
			out.WriteString(twin)
		} else if !unicode.Is(unicode.Mn, r) {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func skeletons(words ...string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, word := range words {
		set[skeleton(word)] = true
	}
	return set
}

// Unshowable reports whether the text contains a character that is invisible
// or changes how the text around it is shown. These are control and format
// characters (U+202E reverses the direction), line and paragraph separators,
// private use characters, and bytes that are not UTF-8.
func Unshowable(text string) bool {
	return !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
	})
}
