// Package markdown writes the generated parts of the repository's documents: tables,
// paragraphs, and sections between markers.
package markdown

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"svc/pkg/base/plaintext"
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
	return plaintext.Wrap(fmt.Sprintf(format, args...), 99) + "\n\n"
}

// WriteSection replaces the text between the section's markers in the file, or appends
// the section if there are none.
func WriteSection(file, section, text string) error {
	old, err := os.ReadFile(file) //nolint:gosec // a document of the repository
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
