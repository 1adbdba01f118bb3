package imports

import (
	"fmt"
	"slices"
	"strings"
)

// joined is a column whose text is made of several cells of a row and of fixed texts.
type joined struct {
	Column string `json:"column"`
	Parts  []part `json:"parts"`
}

// part is a fixed text and the cell that follows it.
type part struct {
	Text   string            `json:"text,omitempty"`
	Cell   int               `json:"cell,omitempty"`   // number of the cell in the row, from 1 on; 0 for none
	Values map[string]string `json:"values,omitempty"` // replacements by the cell's text in small letters; "*" for others
}

// of returns the joined column's text for the cells of a row. It is "" if all cells that
// the column uses are empty. The text between two cells is left out if one of them is empty.
func (j joined) of(cells []string) string {
	var b strings.Builder
	between, filled := "", !slices.ContainsFunc(j.Parts, func(p part) bool { return p.Cell > 0 })
	for i, p := range j.Parts {
		if i == 0 || filled && len(p.Text) > len(between) {
			between = p.Text
		}
		cell := ""
		if p.Cell > 0 && p.Cell <= len(cells) {
			cell = cells[p.Cell-1]
		}
		if to, ok := p.Values[strings.ToLower(cell)]; ok {
			cell = to
		} else if to, ok := p.Values["*"]; ok && cell != "" {
			cell = to
		}
		if cell != "" || p.Cell == 0 && filled {
			b.WriteString(between + cell)
			between, filled = "", true
		}
	}
	if !filled {
		return ""
	}
	return strings.TrimSpace(b.String())
}

// template is one element of Options.Map, parsed: the column, and what its text is made
// of.
type template struct {
	column string
	parts  []templatePart
}

// templatePart is a fixed text and the heading of the cell that follows it. heading is ""
// for a text alone. values replace cells, as in part.
type templatePart struct {
	text, heading string
	values        map[string]string
}

const (
	mostTemplates = 50  // elements of Options.Map
	longest       = 500 // characters of a template
)

// templateOf parses one element of Options.Map: COLUMN=HEADING, COLUMN=TEMPLATE with
// {HEADING} in it, or COLUMN:=TEXT. known are the columns of the kind of import. An error
// says what was expected.
func templateOf(text string, known []string) (t template, err error) {
	column, rest, ok := strings.Cut(text, "=")
	column, constant := strings.CutSuffix(column, ":")
	t.column = strings.TrimSpace(column)
	switch {
	case !ok || strings.TrimSpace(rest) == "" || len([]rune(text)) > longest:
		return t, fmt.Errorf("expected COLUMN=HEADING, COLUMN=TEMPLATE or COLUMN:=TEXT, of at most %d characters", longest)
	case !slices.Contains(known, t.column):
		return t, fmt.Errorf("%q is no column; expected one of %s", t.column, strings.Join(known, ", "))
	case constant:
		t.parts = []templatePart{{text: strings.TrimSpace(rest)}}
		return t, nil
	case !strings.ContainsAny(rest, "{}"):
		t.parts = []templatePart{{heading: strings.TrimSpace(rest)}}
		return t, nil
	}
	for rest != "" {
		before, after, more := strings.Cut(rest, "{")
		inner, next, closed := strings.Cut(after, "}")
		if more && (!closed || strings.TrimSpace(inner) == "" || strings.Contains(inner, "{")) ||
			strings.Contains(before, "}") {
			return t, fmt.Errorf("%q has a brace without its pair; expected {HEADING}", text)
		}
		p := templatePart{text: before}
		if more {
			pairs := strings.Split(inner, "|")
			p.heading = strings.TrimSpace(pairs[0])
			for _, pair := range pairs[1:] {
				from, to, ok := strings.Cut(pair, "=")
				if !ok {
					return t, fmt.Errorf("%q is no pair; expected {HEADING|VALUE=TEXT}", pair)
				}
				if p.values == nil {
					p.values = map[string]string{}
				}
				p.values[strings.ToLower(strings.TrimSpace(from))] = strings.TrimSpace(to)
			}
		}
		t.parts = append(t.parts, p)
		rest = next
	}
	return t, nil
}

// templates parses all elements of Options.Map. The text of an error is shown to the
// company.
func (o Options) templates() (all []template, err error) {
	if len(o.Map) > mostTemplates {
		return nil, fmt.Errorf("expected at most %d elements", mostTemplates)
	}
	for _, text := range o.Map {
		t, err := templateOf(text, kinds[o.Kind].columns)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(other template) bool { return other.column == t.column }) {
			return nil, fmt.Errorf("%s is there twice; join its headings, as in %s={A} {B}", t.column, t.column)
		}
		all = append(all, t)
	}
	return all, nil
}

// mapped applies Options.Map to a header. A column of the map is made only as the map
// says, whatever other headings mean. folds are the headings in folded form. used has the
// indexes of the headings that the map uses. isRow says that the headings are the members
// of one JSON object, in which a member may be absent.
func (o Options) mapped(h *header, headings, folds []string, isRow bool) (used map[int]bool, err error) {
	all, err := o.templates()
	if err != nil {
		return nil, broken(err.Error())
	}
	used = map[int]bool{}
	for _, t := range all {
		for i, name := range h.columns {
			if name == t.column {
				h.columns[i] = ""
			}
		}
	}
	for _, t := range all {
		j := joined{Column: t.column}
		for _, p := range t.parts {
			to := part{Text: p.text, Values: p.values}
			if p.heading != "" {
				i := headingAt(p.heading, headings, folds)
				switch {
				case i < 0 && isRow:
					i = len(headings) // an absent member is an empty cell
				case i < 0:
					err = broken(fmt.Sprintf("The file has no column %q, from which %s is to be made.", p.heading, t.column))
					continue
				}
				to.Cell, used[i] = i+1, true
			}
			j.Parts = append(j.Parts, to)
		}
		if at, ok := j.alone(); ok && at < len(headings) && h.columns[at] == "" {
			h.columns[at] = t.column
		} else {
			h.joined = append(h.joined, j)
		}
	}
	return used, err
}

// alone returns the index of the column's only cell. ok is false if the column is not one
// cell without changes.
func (j joined) alone() (at int, ok bool) {
	ok = len(j.Parts) == 1 && j.Parts[0].Text == "" && j.Parts[0].Values == nil && j.Parts[0].Cell > 0
	if ok {
		at = j.Parts[0].Cell - 1
	}
	return at, ok
}

// headingAt returns the index of the heading with the name: the same text, else the same
// folded text. It is -1 for none.
func headingAt(name string, headings, folds []string) int {
	if i := slices.Index(headings, name); i >= 0 {
		return i
	}
	if fold := folded(name); fold != "" {
		return slices.Index(folds, fold)
	}
	return -1
}
