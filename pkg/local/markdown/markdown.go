// Package markdown writes the generated parts of the repository's documents: tables,
// paragraphs, and sections between markers.
package markdown

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Table returns a Markdown table. A column whose title begins with ">" is aligned to
// the right.
func Table(titles []string, rows [][]string) string {
	var b strings.Builder
	titles, rule := slices.Clone(titles), slices.Repeat([]string{"---"}, len(titles))
	for i := range titles {
		if right, ok := strings.CutPrefix(titles[i], ">"); ok {
			titles[i], rule[i] = right, "---:"
		}
	}
	for _, cells := range append([][]string{titles, rule}, rows...) {
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}

// Paragraph returns the formatted text in lines of at most 99 columns, and an empty line.
func Paragraph(format string, args ...any) string {
	return Wrap(fmt.Sprintf(format, args...), 99) + "\n\n"
}

// Thousands formats 1234567 as 1,234,567.
func Thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Wrap returns the words of a text in lines of at most so many columns. A longer word
// has a line of its own.
func Wrap(text string, columns int) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		width := utf8.RuneCountInString(word)
		switch {
		case column == 0:
		case column+1+width > columns:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += width
	}
	return b.String()
}

// WriteSection replaces the text between the section's markers in the file, or appends
// the section if there are none.
func WriteSection(file, section, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin, end := markers(section)
	head, rest, found := bytes.Cut(old, []byte(begin))
	_, tail, closed := bytes.Cut(rest, []byte(end))
	switch {
	case !found:
		head, tail = append(bytes.TrimRight(old, "\n"), "\n\n"...), []byte("\n")
	case !closed:
		return fmt.Errorf("%s has %q without %q after it", file, begin, end)
	}
	//nolint:gosec // a document of the repository
	return os.WriteFile(file, fmt.Appendf(nil, "%s%s\n%s%s%s", head, begin, text, end, tail), 0o644)
}

// markers returns the lines before and after the section.
func markers(section string) (begin, end string) {
	return "<!-- " + section + ": begin -->", "<!-- " + section + ": end -->"
}
