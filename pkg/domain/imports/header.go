package imports

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"svc/pkg/base/plaintext"
)

// header is what the headings of a file mean.
type header struct {
	columns []string // by heading: the column's name here, "" for none
	joined  []joined // columns that are made from several cells
	ignored []string // the headings that mean nothing here, at most 100
	known   int      // how many columns have a heading
}

// addressed are the columns that several headings may mean: their cells are joined.
var addressed = []string{"address", "originAddress", "destAddress"}

// headerOf finds what headings mean. The headings of one JSON object, a row, need not have
// the key. The errors are for the company.
func (o Options) headerOf(headings []string, isRow bool) (h header, err error) {
	folds := make([]string, len(headings))
	h.columns = make([]string, len(headings))
	for i, text := range headings {
		headings[i] = strings.TrimSpace(o.decoded(text))
		folds[i] = folded(headings[i])
		h.columns[i] = columnOf(headings[i], folds[i], kinds[o.Kind].columns)
	}
	h.guess(headings, folds, kinds[o.Kind].columns)
	if i := slices.Index(headings, "externalId"); o.Kind == "trips" && i >= 0 && slices.Contains(headings, "customerId") {
		h.columns[i] = "" // of an export: the trip's own, not the rider's
	}
	tellNames(headings, folds, h.columns)
	used, err := o.mapped(&h, headings, folds, isRow)
	if twice := h.join(folds); twice != "" && err == nil {
		err = broken(fmt.Sprintf("Two columns mean %s. Remove one of them, or say by map which one it is.", twice))
	}
	named := map[string]bool{}
	for i, name := range h.columns {
		if named[name] = true; name == "" && !used[i] && len(h.ignored) < 100 {
			h.ignored = append(h.ignored, strings.ToValidUTF8(headings[i], "?"))
		}
	}
	for _, j := range h.joined {
		named[j.Column] = true
	}
	delete(named, "")
	if h.known = len(named); err != nil || isRow || named[o.Key] || named["id"] {
		return h, err
	}
	return h, broken(fmt.Sprintf("The header has no column %s, which is the key. Known columns: %s. Or say by map "+
		"which heading it is.", o.Key, strings.Join(kinds[o.Kind].columns, ", ")))
}

// join joins the cells of addresses and of names in several columns. It returns another column that
// two headings mean, "" for none.
func (h *header) join(folds []string) (twice string) {
	first := map[string]int{}
	for i, name := range h.columns {
		at, again := first[name]
		switch {
		case name == "" || !again:
			first[name] = i
		case !slices.Contains(addressed, name) && !isFurther(folds[i]) && !isFurther(folds[at]):
			return name
		default:
			h.joinTo(name, at, i, folds)
		}
	}
	for _, j := range h.joined {
		for i, name := range h.columns {
			if name == j.Column {
				h.columns[i] = ""
			}
		}
	}
	return ""
}

// joinTo adds a cell to the joined column whose first cell is known. A number of a house
// follows its street, and a place its postal code, without a comma.
func (h *header) joinTo(column string, first, i int, folds []string) {
	at := slices.IndexFunc(h.joined, func(j joined) bool { return j.Column == column })
	if at < 0 {
		at = len(h.joined)
		h.joined = append(h.joined, joined{Column: column, Parts: []part{{Cell: first + 1}}})
	}
	j := &h.joined[at]
	if !slices.Contains(addressed, column) {
		j.addName(i, folds)
		return
	}
	between := ", "
	if houseNumbers[folds[i]] || postalCodes[folds[j.Parts[len(j.Parts)-1].Cell-1]] {
		between = " "
	}
	j.Parts = append(j.Parts, part{Text: between, Cell: i + 1})
}

// addName adds a cell to a name: one that stands before the others, or any other beside
// one that follows it, comes first.
func (j *joined) addName(i int, folds []string) {
	if head := folds[j.Parts[0].Cell-1]; precedingNames[folds[i]] || furtherNames[head] && !furtherNames[folds[i]] {
		j.Parts[0].Text = " "
		j.Parts = slices.Insert(j.Parts, 0, part{Cell: i + 1})
		return
	}
	j.Parts = append(j.Parts, part{Text: " ", Cell: i + 1})
}

// folded returns the letters and digits of a heading, as search compares them.
func folded(heading string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, plaintext.Fold(heading))
}

// columnOf returns the column that a heading means, "" for none.
func columnOf(heading, fold string, known []string) string {
	for _, name := range []string{columnNames[fold], aliases[fold]} {
		if name != "" && slices.Contains(known, name) && (name != "id" || heading == "id") {
			return name
		}
	}
	return ""
}

// columnNames are the names of all columns, by their folded forms.
var columnNames = func() map[string]string {
	all := map[string]string{}
	for _, k := range kinds {
		for _, name := range k.columns {
			all[strings.ToLower(name)] = name
		}
	}
	return all
}()

// tellNames tells a whole name from a part of it. In many languages one word means both:
// beside a column of first names, Name, Nom or Naam is the surname, and beside surnames,
// Nome or Name is the first name. The columns of an export are exact.
func tellNames(headings, folds, columns []string) {
	whole, first, last := -1, -1, -1
	for i, fold := range folds {
		switch {
		case isFurther(fold):
		case columns[i] == "firstName" && first < 0:
			first = i
		case columns[i] == "lastName" && last < 0:
			last = i
		}
		if bareNames[fold] && (columns[i] == "name" || columns[i] == "familyFirst") {
			whole = i
		}
	}
	if whole < 0 || (first < 0) == (last < 0) {
		return
	}
	beside, part := first, "lastName"
	if first < 0 {
		beside, part = last, "firstName"
	}
	if headings[whole] != "name" || headings[beside] != columns[beside] {
		columns[whole] = part
	}
}
