package imports

import (
	"slices"
	"strings"
	"unicode"

	"svc/pkg/base/sheet"
)

// plain returns the text of a cell: without the apostrophe that an export or a
// spreadsheet has put before a sign or a number, and of ="0612" what is within. ok is
// false for a formula.
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

// split returns the first and the last name of a whole name, and how to show it. It turns
// "Novak, Iris" round, but no name of a company, such as "Hotel Adler, Reception", whose
// parts stay as they are. Names in Chinese, Japanese or Korean letters begin with the
// family name, as others do whose column says so.
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
		for n = 1; n < len(words)-1 && strings.HasSuffix(words[n-1], "."); n++ { // a title, as in Dr.
		}
		return strings.Join(words[n:], " "), strings.Join(words[:n], " "), name
	}
	return strings.Join(words[:n], " "), words[n], name
}

// particles stand before a family name.
var particles = setOf(`van von vom zu zum zur der den de da di del della dei dos das du des la le el al bin ben ibn abu
	ter ten op af av mac mc san santa st o y e`)

// noNames are words that stand behind the comma in names of companies and behind those of
// persons, and what companies are.
var noNames = setOf(`jr sr junior senior ii iii iv md phd esq dds mba inc ltd llc llp corp co gmbh mbh ag kg ohg ug ek sa
	sas sarl sl srl spa bv nv kft bt zrt plc pty oy ab as aps sro spzoo lda hotel restaurant pension bar cafe reception
	rezeption receptie recepcion reception accueil empfang zentrale filiale buero office hq branch department abteilung
	einkauf buchhaltung praxis klinik clinic hospital school schule taxi company firma lobby room zimmer floor
	building haus family familie and und en et i og och oraz es sons soehne sohne fils figli hijos zonen brothers
	bros gebrueder gebruder partner partners associates associes kanzlei team`)

// isPerson reports whether the two sides of a comma are a family name and first names.
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
