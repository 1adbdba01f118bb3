package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// writeJSON writes the value into a file of the repository.
func writeJSON(file string, value any, indent string) error {
	text, err := json.MarshalIndent(value, "", indent)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644) //nolint:gosec // a file of the repository
}

// writeSection replaces the text between the section's markers in the document,
// or appends the section if there are none.
func writeSection(file, section, text string) error {
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

func markers(section string) (begin, end string) {
	return "<!-- " + section + ": begin -->", "<!-- " + section + ": end -->"
}

// markdownTable writes a Markdown table. The first column is aligned to the left, the
// others to the right, except those whose title begins with "<".
func markdownTable(b *strings.Builder, titles []string, rows [][]string) {
	rule := slices.Repeat([]string{"---:"}, len(titles))
	rule[0] = "---"
	titles = slices.Clone(titles)
	for i, title := range titles {
		if left, ok := strings.CutPrefix(title, "<"); ok {
			titles[i], rule[i] = left, "---"
		}
	}
	for _, cells := range append([][]string{titles, rule}, rows...) {
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	b.WriteByte('\n')
}

// described describes the machine and its load at the start, and the day.
func described() string {
	model := "processor"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	out := fmt.Sprintf("%d cores of an %s, shared with other work", runtime.NumCPU(), model)
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		if load := strings.Fields(string(text)); len(load) > 0 {
			out += fmt.Sprintf(" (load average %s at the start)", load[0])
		}
	}
	return fmt.Sprintf("%s; %s %s/%s; %s", out, runtime.Version(), runtime.GOOS, runtime.GOARCH, today())
}

func today() string { return time.Now().UTC().Format("2 January 2006") }

// prose formats a paragraph in lines of at most 99 columns.
func prose(b *strings.Builder, format string, args ...any) {
	column := 0
	for _, word := range strings.Fields(fmt.Sprintf(format, args...)) {
		width := utf8.RuneCountInString(word)
		switch {
		case column == 0:
		case column+1+width > 99:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += width
	}
	b.WriteString("\n\n")
}

// rank returns the quantile x (0 to 1) of the values.
func rank[T cmp.Ordered](values []T, x float64) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(x*float64(len(sorted))), len(sorted)-1)]
}

// medianOf returns the median of one value of each element.
func medianOf[T any, V cmp.Ordered](all []T, of func(T) V) V {
	values := make([]V, len(all))
	for i, one := range all {
		values[i] = of(one)
	}
	return rank(values, 0.5)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d.Microseconds())/1000) }

func units(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// many formats 100000 as 100,000.
func many(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
