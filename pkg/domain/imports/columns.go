package imports

import (
	"slices"
	"strings"
	"unicode"

	"svc/pkg/base/sheet"
)

// plain returns the text of a cell as it was before an export or a spreadsheet protected
// the text from being computed. It removes an apostrophe before a sign such as = and before
// the digits of an identifier, and returns 0612 for ="0612". ok is false for a formula.
func plain(column, cell string) (text string, ok bool) {
	if rest := sheet.Unguarded(cell); rest != cell {
		return rest, true
	}
	if rest, is := strings.CutPrefix(cell, "'"); is && slices.Contains(identifiers, column) && rest != "" &&
		strings.Trim(rest, "0123456789") == "" {
		return rest, true
	}
	if rest, is := strings.CutPrefix(cell, `="`); is && strings.HasSuffix(rest, `"`) && strings.Count(rest, `"`) == 1 {
		return strings.TrimSuffix(rest, `"`), true
	}
	return cell, !strings.HasPrefix(cell, "=") && !strings.HasPrefix(cell, "@")
}

// split returns the first and the last name of a whole name, and the name to show. "Novak,
// Iris" is shown as Iris Novak. A company's name, such as "Hotel Adler, Reception", stays as
// it is and has no last name. The family name comes first if familyFirst is set, or if
// the whole name is in Chinese, Japanese or Korean letters.
func split(name string, familyFirst bool) (first, last, shown string) {
	if last, first, ok := strings.Cut(name, ","); ok {
		last, first = strings.TrimSpace(last), strings.TrimSpace(first)
		if familyFirst && last != "" && first != "" || isPerson(last, first) {
			return first, last, strings.TrimSpace(first + " " + last)
		}
		return name, "", name
	}
	words := strings.Fields(name)
	if len(words) < 2 {
		return name, "", name
	}
	if !familyFirst && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
			unicode.Lm)
	}) {
		familyFirst = true
	}
	n := len(words) - 1
	if familyFirst {
		for n = 1; n < len(words)-1 && strings.HasSuffix(words[n-1], "."); n++ { // a title such as Dr. stays
		}
		return strings.Join(words[n:], " "), strings.Join(words[:n], " "), name
	}
	return strings.Join(words[:n], " "), words[n], name
}

// particles are words before a family name, such as "van der". isPerson does not count
// them as names.
var particles = setOf(`van von vom zu zum zur der den de da di del della dei dos das du des la le el al bin ben ibn abu
	ter ten op af av mac mc san santa st o y e`)

// noNames are words that no first or family name consists of: suffixes such as Jr and
// PhD, legal forms, and words of companies such as Hotel or Reception.
var noNames = setOf(`jr sr junior senior ii iii iv md phd esq dds mba inc ltd llc llp corp co gmbh mbh ag kg ohg ug ek sa
	sas sarl sl srl spa bv nv kft bt zrt plc pty oy ab as aps sro spzoo lda hotel restaurant pension bar cafe reception
	rezeption receptie recepcion reception accueil empfang zentrale filiale buero office hq branch department abteilung
	einkauf buchhaltung praxis klinik clinic hospital school schule taxi company firma lobby room zimmer floor
	building haus family familie and und en et i og och oraz es sons soehne sohne fils figli hijos zonen brothers
	bros gebrueder gebruder partner partners associates associes kanzlei team`)

// isPerson reports whether the texts before and after a comma (last and first) are a family
// name and first names: one name besides particles, then one to three names. No word of
// them may be one of noNames.
func isPerson(last, first string) bool {
	names := 0
	for _, word := range strings.Fields(last) {
		if names > 0 || !particles[folded(word)] {
			names++
		}
	}
	for _, word := range strings.Fields(last + " " + first) {
		if noNames[folded(word)] || strings.ContainsFunc(word, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsMark(r) && !strings.ContainsRune("-'’.", r)
		}) {
			return false
		}
	}
	given := strings.Fields(first)
	return names == 1 && len(given) >= 1 && len(given) <= 3
}
