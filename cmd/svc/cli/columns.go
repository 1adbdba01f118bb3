package cli

import (
	"strings"
	"time"
	"unicode/utf8"

	"svc/pkg/base/timestamp"
)

const (
	// TableWidth is the largest width of a table for people, in characters, so that a row
	// fits on a line of a terminal. --wide shows everything.
	TableWidth = 80
	gap        = 2 // blanks between two columns
	narrowest  = 8 // characters that a shortened column keeps at least
)

// narrow returns the lines of a table in at most TableWidth columns: without the columns
// whose head ends in "+", with times to the minute, and with the widest texts shortened
// and ended by "…". It never shortens an id or a time.
func narrow(lines [][]string) [][]string {
	var out [][]string
	for _, line := range lines {
		var cells []string
		for i, cell := range line {
			if i < len(lines[0]) && strings.HasSuffix(lines[0][i], "+") {
				continue
			}
			cells = append(cells, Minute(cell))
		}
		out = append(out, cells)
	}
	widths, whole := measure(out)
	for {
		widest, sum := -1, -gap
		for i, w := range widths {
			sum += w + gap
			if !whole[i] && w > narrowest && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if sum <= TableWidth || widest < 0 {
			break
		}
		widths[widest]--
	}
	for _, line := range out {
		for i, cell := range line {
			line[i] = Shorten(cell, widths[i])
		}
	}
	return out
}

// measure returns the width of each column in characters, and which columns hold ids or
// times.
func measure(lines [][]string) (widths []int, ids []bool) {
	for _, line := range lines {
		for i, cell := range line {
			if i == len(widths) {
				widths, ids = append(widths, 0), append(ids, false)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			ids[i] = ids[i] || isID(cell) || isMinute(cell)
		}
	}
	return widths, ids
}

// isID reports whether a cell is an identifier such as trp_01JT7M4C6Q8V2N5X9B3D1F7H0K.
func isID(cell string) bool {
	_, ulid, ok := strings.Cut(cell, "_")
	return ok && len(ulid) == 26 && strings.ToUpper(ulid) == ulid && !strings.Contains(ulid, " ")
}

// Minute shortens a timestamp to "2026-05-01 08:30", in UTC. It returns every other
// text unchanged.
func Minute(cell string) string {
	if at, err := timestamp.Parse(cell); err == nil {
		return at.UTC().Format(MinuteLayout)
	}
	return cell
}

// MinuteLayout is the layout of a time in a table (see time.Time.Format).
const MinuteLayout = "2006-01-02 15:04"

// isMinute reports whether a cell is a time in MinuteLayout.
func isMinute(cell string) bool {
	_, err := time.Parse(MinuteLayout, cell)
	return err == nil
}

// Shorten cuts a text to a number of characters, the last of which is "…".
func Shorten(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

// full returns the lines of a table with every column. It removes the "+" from the heads
// in lines[0].
func full(lines [][]string) [][]string {
	for i, name := range lines[0] {
		lines[0][i] = strings.TrimSuffix(name, "+")
	}
	return lines
}
