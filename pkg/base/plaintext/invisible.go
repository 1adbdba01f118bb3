package plaintext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// ignorable contains the characters that show nothing: control and format
// characters, line and paragraph separators, every character with the property
// Default_Ignorable_Code_Point, and the characters whose image is empty. It also
// contains private use characters, because nobody knows what they show.
var ignorable = []*unicode.RangeTable{unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co,
	unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector}

// Characters that need a rule of their own. The first three are invisible, but Unicode does
// not list them as ignorable. The others are parts of emoji or control how letters join.
const (
	brailleBlank = '\u2800'
	nullNotehead = '\U0001D159' // of musical notation
	khitanFiller = '\U00016FE4'

	textSelector  = '\uFE0E'
	emojiSelector = '\uFE0F'
	joiner        = '\u200D'
	nonJoiner     = '\u200C'
	keycap        = '\u20E3'
)

// IsInvisible reports whether a character shows nothing and is no white space,
// or changes how the text around it is shown.
func IsInvisible(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r < ' ' || r == 0x7f
	case r == brailleBlank || r == nullNotehead || r == khitanFiller:
		return true
	}
	return unicode.In(r, ignorable...) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// IsBlank reports whether a text has only white space and invisible characters.
func IsBlank(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsSpace(r) && !IsInvisible(r) })
}

// HasInvisible reports whether a text has an invisible character outside of an
// emoji, or bytes that are not UTF-8.
func HasInvisible(text string) bool {
	found := !utf8.ValidString(text)
	ReplaceInvisible(text, func(rune) string {
		found = true
		return ""
	})
	return found
}

// ReplaceInvisible replaces each invisible character by the text that by returns for
// it. It keeps a selector or a joiner that is a part of an emoji.
func ReplaceInvisible(text string, by func(rune) string) string {
	if !strings.ContainsFunc(text, IsInvisible) {
		return text
	}
	var b strings.Builder
	all := []rune(text)
	for i, r := range all {
		if IsInvisible(r) && !inEmoji(all, i) {
			b.WriteString(by(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Strip removes the invisible characters in which a text for strangers could hide
// another. It keeps line breaks, tabs, the parts of an emoji, and a joiner or
// non-joiner behind a letter whose shape depends on it, as in Persian and Hindi.
func Strip(text string) string {
	if !strings.ContainsFunc(text, IsInvisible) {
		return text
	}
	var b strings.Builder
	all := []rune(text)
	for i, r := range all {
		isBreak := r == '\n' || r == '\r' || r == '\t'
		shapes := (r == joiner || r == nonJoiner) && i > 0 && unicode.In(all[i-1], joined...)
		if !IsInvisible(r) || isBreak || shapes || inEmoji(all, i) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// joined are scripts whose letters change their shapes beside other letters.
var joined = []*unicode.RangeTable{unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari,
	unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada,
	unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan}

// inEmoji reports whether the character at i is a part of an emoji: a text or
// emoji selector after a symbol, the emoji selector of a keycap, or a joiner
// between two symbols.
func inEmoji(text []rune, i int) bool {
	at := func(i int) rune {
		if i < 0 || i >= len(text) {
			return 0
		}
		return text[i]
	}
	before := at(i - 1)
	switch text[i] {
	case textSelector, emojiSelector:
		return isSymbol(before) || at(i+1) == keycap && strings.ContainsRune("0123456789#*", before)
	case joiner:
		if before == emojiSelector {
			before = at(i - 2)
		}
		return isSymbol(before) && isSymbol(at(i+1))
	}
	return false
}

// isSymbol reports whether a character can be an emoji. Its answer is also true
// for other visible symbols.
func isSymbol(r rune) bool {
	switch r {
	case '\u203C', '\u2049', '\u2139', '\u3030': // emoji that Unicode does not list as symbols
		return true
	}
	isTone := r >= '\U0001F3FB' && r <= '\U0001F3FF'
	return r >= utf8.RuneSelf && (isTone || unicode.In(r, unicode.So, unicode.Sm)) && !IsInvisible(r)
}

// Visible returns a text in a form in which a person sees what it really contains: each
// invisible character is its JSON escape, and each run of blanks is the number of blanks.
func Visible(text string) string {
	return showBlanks(ReplaceInvisible(text, Escape))
}

// Escape returns the escape of a character in a JSON string, such as \u200b.
func Escape(r rune) string {
	var b strings.Builder
	for _, unit := range utf16.AppendRune(nil, r) {
		fmt.Fprintf(&b, `\u%04x`, unit)
	}
	return b.String()
}

// showBlanks replaces each run of two or more blanks, which could move the rest
// of a text out of sight.
func showBlanks(text string) string {
	var b strings.Builder
	for text != "" {
		rest := strings.TrimLeftFunc(text, unicode.IsSpace)
		blanks := text[:len(text)-len(rest)]
		if n := utf8.RuneCountInString(blanks); n > 1 {
			fmt.Fprintf(&b, " ⟨%d blanks⟩ ", n)
		} else {
			b.WriteString(blanks)
		}
		end := strings.IndexFunc(rest, unicode.IsSpace)
		if end < 0 {
			end = len(rest)
		}
		b.WriteString(rest[:end])
		text = rest[end:]
	}
	return b.String()
}
