package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The markers around each part of the document. A run without -lists keeps the
// part about lists, because that part takes long to measure.
const (
	begin, end           = "<!-- bench: begin -->", "<!-- bench: end -->"
	listsBegin, listsEnd = "<!-- bench of lists: begin -->", "<!-- bench of lists: end -->"
)

// document writes the tables between their markers in the document. If the
// document or the markers are missing, it creates or appends them.
func document(o options, machine string, worlds []*world, rows []row) error {
	text, err := os.ReadFile(o.document)
	if os.IsNotExist(err) {
		text, err = []byte("# Performance\n"), nil
	}
	if err != nil {
		return err
	}
	if text, err = between(text, begin, end, section(o, machine, worlds, rows)); err != nil {
		return fmt.Errorf("%s: %w", o.document, err)
	}
	if last := worlds[len(worlds)-1]; last.lists {
		if text, err = between(text, listsBegin, listsEnd, lists(machine, last, worlds, rows)); err != nil {
			return fmt.Errorf("%s: %w", o.document, err)
		}
	}
	return os.WriteFile(o.document, text, 0o644) //nolint:gosec // a document of the repository
}

// writeJSON writes the value into a file of the repository.
func writeJSON(file string, value any, indent string) error {
	text, err := json.MarshalIndent(value, "", indent)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644) //nolint:gosec // a file of the repository
}

// between replaces the text between the markers, or appends it if there are
// none.
func between(old []byte, begin, end, text string) ([]byte, error) {
	head, rest, found := bytes.Cut(old, []byte(begin))
	_, tail, closed := bytes.Cut(rest, []byte(end))
	switch {
	case !found:
		head, tail = append(bytes.TrimRight(old, "\n"), "\n\n"...), []byte("\n")
	case !closed:
		return nil, fmt.Errorf("the document has %q without %q after it", begin, end)
	}
	return fmt.Appendf(nil, "%s%s\n%s%s%s", head, begin, text, end, tail), nil
}

// describe describes the machine and its load at the start.
func describe() string {
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
	return fmt.Sprintf("%s; %s %s/%s", out, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func section(o options, machine string, worlds []*world, rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Every endpoint, by the size of the tenant\n\n")
	prose(&b, "Measured by `make bench` on %s; %s. The requests were sent one at a time, and functions and embedded "+
		"engine (in memory) ran on the same machine. For each size, each reading endpoint got %d requests and each "+
		"writing endpoint %d. A time is from the gateway event to the response. It does not include the network and "+
		"the local gateway. It includes the work of the engine, which takes most of the time. The sizes were measured "+
		"in turn, request by request, so that other work on the machine affects them equally. Still, p99 mostly shows "+
		"such other work.",
		machine, time.Now().UTC().Format("2 January 2006"), o.reads, o.writes)
	prose(&b, "A column with several values has one for each size. *Round trips* are sequential requests to the table. "+
		"*Read units* include the five of the access checks. *Write units* are those of the table + those of its "+
		"indexes. *Allocations* are those of the whole process, with the gateway's adapter and the client of the table. "+
		"Times are milliseconds, p50 / p99.")
	sizes := worlds[:0:0]
	for _, w := range worlds {
		if !w.lists {
			sizes = append(sizes, w)
		}
	}
	tables(&b, "### Reading", sizes, worlds, filter(rows, func(r row) bool { return r.reads() }), false)
	tables(&b, "### Writing", sizes, worlds, filter(rows, func(r row) bool { return !r.reads() }), true)
	for _, w := range sizes {
		fmt.Fprintf(&b, "- %s trips were loaded and counted in %s.\n", many(w.trips), w.loaded.Round(time.Second))
	}
	return b.String()
}

// lists writes the part about the tenant that was loaded only with the items
// that lists read.
func lists(machine string, w *world, worlds []*world, rows []row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Lists of %s trips\n\n", many(w.trips))
	prose(&b, "Measured like the tables above, on %s; %s. The tenant has only the items that lists read (no "+
		"receipts, postings or counters). Loading them took %s.",
		machine, time.Now().UTC().Format("2 January 2006"), w.loaded.Round(time.Second))
	tables(&b, "", []*world{w}, worlds, filter(rows, func(r row) bool { return r.lists }), false)
	return b.String()
}

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

func filter(rows []row, keep func(row) bool) (out []row) {
	for _, r := range rows {
		if keep(r) {
			out = append(out, r)
		}
	}
	return out
}

// tables writes one table with the columns of the given worlds.
func tables(b *strings.Builder, title string, shown, worlds []*world, rows []row, writing bool) {
	if title != "" {
		fmt.Fprintf(b, "%s\n\n", title)
	}
	b.WriteString("| endpoint | round trips | read units |")
	line := "| --- | ---: | ---: |"
	if writing {
		b.WriteString(" write units |")
		line += " ---: |"
	}
	b.WriteString(" allocations |")
	line += " ---: |"
	for _, w := range shown {
		fmt.Fprintf(b, " %s trips |", many(w.trips))
		line += " ---: |"
	}
	fmt.Fprintf(b, "\n%s\n", line)
	for _, r := range rows {
		var cells []*cell
		for i, w := range worlds {
			for _, s := range shown {
				if s == w {
					cells = append(cells, r.cells[i])
				}
			}
		}
		who := map[bool]string{true: " (" + string(r.audience) + ")"}[strings.HasPrefix(r.name, "GET /me") &&
			!strings.Contains(r.name, "addresses")]
		fmt.Fprintf(b, "| `%s`%s | %s | %s |", r.name, who, each(cells, func(c *cell) string {
			return strconv.Itoa(c.usage.Sequential)
		}),
			each(cells, func(c *cell) string { return units(c.usage.ReadUnits) }))
		if writing {
			fmt.Fprintf(b, " %s |", each(cells, func(c *cell) string {
				return units(c.usage.WriteUnits) + " + " + units(c.usage.IndexUnits)
			}))
		}
		fmt.Fprintf(b, " %s |", each(cells, func(c *cell) string { return many(int(c.allocs)) }))
		for _, c := range cells {
			fmt.Fprintf(b, " %s / %s |", ms(c.p50), ms(c.p99))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
}

// each returns the cells' values, or one value if all are equal.
func each(cells []*cell, of func(*cell) string) string {
	var all []string
	same := true
	for _, c := range cells {
		all = append(all, of(c))
		same = same && all[0] == of(c)
	}
	if same {
		return all[0]
	}
	return strings.Join(all, ", ")
}

func units(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// many formats 100000 as 100,000.
func many(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
