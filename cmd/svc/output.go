package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"svc/pkg/fault"
)

// cols is a table for people: a head and its rows.
type cols struct {
	head string // names, separated by spaces
	rows [][]string
}

func (t *cols) add(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = cellOf(cell)
	}
	t.rows = append(t.rows, row)
}

// cellOf writes one value for people: "-" for what is not there.
func cellOf(value any) string {
	switch v := value.(type) {
	case *string:
		if v == nil {
			return "-"
		}
		value = *v
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v]
	case []string:
		value = strings.Join(v, ",")
	}
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' ' // nothing stored moves the cursor
		}
		return r
	}, fmt.Sprint(value))
	if text == "" {
		return "-"
	}
	return text
}

// show prints v for programs, the table for people.
func (c *cli) show(v any, t cols) error {
	if c.json {
		return c.printJSON(v)
	}
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	lines := t.rows
	if t.head != "" {
		lines = append([][]string{strings.Fields(t.head)}, lines...)
	}
	for _, row := range lines {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// done prints v for programs, one line for people.
func (c *cli) done(v any, format string, args ...any) error {
	if c.json {
		return c.printJSON(v)
	}
	_, err := fmt.Fprintf(c.out, format+"\n", args...)
	return err
}

// plain gives the sentence of a fault instead of its text for logs.
func plain(err error) error {
	var f *fault.Error
	if errors.As(err, &f) && f.Code != fault.CodeInternal && f.Code != fault.CodeUnavailable {
		return errors.New(strings.TrimPrefix(strings.TrimSuffix(f.Message, "."), "body.")) // a command has no body
	}
	return err
}

// all reads a list page by page, up to limit.
func all[T any](limit int, page func(after string, limit int) ([]T, string, error)) ([]T, error) {
	if limit < 1 {
		return nil, usagef("--limit %d: expected at least 1", limit)
	}
	out := []T{}
	for after := ""; len(out) < limit; {
		some, next, err := page(after, min(limit-len(out), 100))
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
		if after = next; next == "" {
			break
		}
	}
	return out, nil
}

// oneOf is a usage error when a flag's value is none of the words; "" is none given.
func oneOf(flag, value string, words []string) error {
	if value == "" || slices.Contains(words, value) {
		return nil
	}
	return usagef("--%s %s: expected %s", flag, value, strings.Join(words, ", "))
}

// span is a time for people: "24 hours", "1 minute".
func span(d time.Duration) string {
	unit, name := time.Hour, "hour"
	if d%time.Hour != 0 {
		unit, name = time.Minute, "minute"
	}
	n := int(d / unit)
	if n != 1 {
		name += "s"
	}
	return strconv.Itoa(n) + " " + name
}

// act is a command's own code, with the errors in sentences.
func act(f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := f(cmd.Context(), args)
		var usage usageError
		if errors.As(err, &usage) {
			return err
		}
		return plain(err)
	}
}

// group is a command that only has others under it.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short}
	cmd.AddCommand(commands...)
	return cmd
}
