package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"svc/pkg/base/fault"
	"svc/pkg/base/plaintext"
	"svc/pkg/data/table"
)

// Table is a table that a command prints for people: a header and rows.
type Table struct {
	Head string // names of the columns, separated by spaces; only --wide shows those that end in "+"
	Rows [][]string
	Fit  bool // shorten a table without a head too, to TableWidth, unless --wide
}

// Add adds a row.
func (t *Table) Add(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = Cell(cell)
	}
	t.Rows = append(t.Rows, row)
}

// Cell formats one value for people: "-" for a missing or empty value.
func Cell(value any) string {
	if v := reflect.ValueOf(value); v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "-"
		}
		value = v.Elem().Interface()
	}
	switch v := value.(type) {
	case nil:
		return "-"
	case bool:
		return map[bool]string{true: "yes", false: "no"}[v]
	case []string:
		value = strings.Join(v, ",")
	}
	text := Printable(fmt.Sprint(value))
	if text == "" {
		return "-"
	}
	return text
}

// Printable returns text from outside in a form that is safe to print. A terminal could
// interpret some invisible characters as commands: those below 0x80 become blanks, and
// the others are removed.
func Printable(text string) string {
	return plaintext.ReplaceInvisible(text, func(r rune) string {
		if r < utf8.RuneSelf {
			return " "
		}
		return ""
	})
}

// Show prints v as JSON with --json, and else the table.
func (c *CLI) Show(v any, t Table) error {
	if c.JSON {
		return c.PrintJSON(v)
	}
	w := tabwriter.NewWriter(c.Out, 0, 0, 2, ' ', 0)
	lines := t.Rows
	if t.Head != "" {
		lines = append([][]string{strings.Fields(t.Head)}, lines...)
	}
	switch {
	case !c.Wide && (t.Head != "" || t.Fit):
		lines = narrow(lines)
	case t.Head != "":
		lines = full(lines)
	}
	for _, row := range lines {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// shortList is how many values of a list a table shows in full.
const shortList = 3

// Summary shortens a list with more than shortList values for a table: to "all (22)" if
// it has as many values as every, the list of all possible values, or else to the first
// values and the number of those left out. --wide shows every value.
func (c *CLI) Summary(values, every []string) string {
	switch {
	case c.Wide || len(values) <= shortList:
		return strings.Join(values, ",")
	case len(values) == len(every):
		return fmt.Sprintf("all (%d)", len(values))
	}
	return fmt.Sprintf("%s +%d", strings.Join(values[:shortList], ","), len(values)-shortList)
}

// Done prints v as JSON with --json, and else the formatted text.
func (c *CLI) Done(v any, format string, args ...any) error {
	if c.JSON {
		return c.PrintJSON(v)
	}
	for i, arg := range args {
		if text := reflect.ValueOf(arg); text.Kind() == reflect.String {
			args[i] = Printable(text.String())
		}
	}
	_, err := fmt.Fprintf(c.Out, format+"\n", args...)
	return err
}

// Plain replaces a fault (an error of the service) by a text for the user: its details,
// with the names of the command's flags, or else its message. It returns internal and
// unavailable faults, and all other errors, unchanged.
func Plain(cmd *cobra.Command, err error) error {
	var f *fault.Error
	if errors.As(err, &f) && len(f.Details) > 0 {
		var lines []error
		for _, d := range f.Details {
			field := strings.TrimPrefix(strings.TrimPrefix(d.Field, "path."), "body.")
			lines = append(lines, errors.New(flagOf(cmd, field)+": "+d.Message))
		}
		return errors.Join(lines...)
	}
	if f != nil && f.Kind != fault.KindInternal && f.Kind != fault.KindUnavailable {
		return errors.New(strings.TrimPrefix(strings.TrimSuffix(f.Message, "."), "body.")) // a command has no request body
	}
	return err
}

// ofFile replaces the operating system's text in an error about a file by plainer words.
func ofFile(err error) error {
	var of *fs.PathError
	var moved *os.LinkError
	switch {
	case errors.As(err, &moved):
		of = &fs.PathError{Op: moved.Op + " " + moved.Old, Path: moved.New, Err: moved.Err}
	case !errors.As(err, &of):
		return err
	}
	said := of.Err.Error()
	switch {
	case errors.Is(of, fs.ErrNotExist):
		said = "there is no such file or folder"
	case errors.Is(of, fs.ErrExist):
		said = "it exists already"
	case errors.Is(of, fs.ErrPermission):
		said = "you may not read or write it"
	case errors.Is(of, syscall.EISDIR):
		said = "it is a folder; expected a file"
	case errors.Is(of, syscall.ENOTDIR):
		said = "it is a file, or is inside of one; expected a folder"
	case errors.Is(of, syscall.ENOSPC):
		said = "the disk is full"
	}
	return errors.New(strings.Replace(err.Error(), of.Error(), of.Path+": "+said, 1))
}

// flagOf returns the flag that sets a member of an API request: --first-name for
// firstName, --base for baseFare, --fare for finalFare, --type for types. If no flag sets
// the member, flagOf returns its name. The annotations of the command map those members
// whose flags have quite other names.
func flagOf(cmd *cobra.Command, field string) string {
	if flag := cmd.Annotations[field]; flag != "" {
		return "--" + flag
	}
	var name strings.Builder
	for _, r := range field {
		if unicode.IsUpper(r) {
			name.WriteByte('-')
		}
		name.WriteRune(unicode.ToLower(r))
	}
	for flag, ok := name.String(), true; ok; {
		for _, one := range []string{flag, strings.TrimSuffix(flag, "s")} {
			if cmd.Flags().Lookup(one) != nil {
				return "--" + one
			}
		}
		end := strings.LastIndexByte(flag, '-')
		if ok = end > 0; ok {
			flag = flag[:end]
		}
	}
	if _, flag, ok := strings.Cut(name.String(), "-"); ok && cmd.Flags().Lookup(flag) != nil {
		return "--" + flag
	}
	return field
}

// All reads a list page by page, up to limit items. page returns at most limit items
// behind after, and the position of the next page, "" at the end. A limit below 1 is a
// usage error.
func All[T any](limit int, page func(after string, limit int) ([]T, string, error)) ([]T, error) {
	if limit < 1 {
		return nil, Usagef("--limit %d: expected at least 1", limit)
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

// List shows up to limit items of a tenant's list. page reads one page (see All). head
// has the names of the columns (see Table), and row returns the cells of an item.
func List[T any](ctx context.Context, c *CLI, t table.Tenant, limit int, head string, row func(T) []any,
	page func(ctx context.Context, t table.Tenant, after string, limit int) ([]T, string, error)) error {
	found, err := All(limit, func(after string, limit int) ([]T, string, error) { return page(ctx, t, after, limit) })
	if err != nil {
		return err
	}
	rows := Table{Head: head}
	for _, one := range found {
		rows.Add(row(one)...)
	}
	return c.Show(found, rows)
}

// OneOf returns a usage error if the value of a flag is not in words. The value "" means
// that the flag is not set, and is no error.
func OneOf(flag, value string, words []string) error {
	if value == "" || slices.Contains(words, value) {
		return nil
	}
	return Usagef("--%s %s: expected %s", flag, value, strings.Join(words, ", "))
}

// Span formats a duration for people, in the largest unit of which it is a
// multiple: "24 hours", "1 minute", "89 seconds".
func Span(d time.Duration) string {
	d = d.Round(time.Second)
	unit, name := time.Second, "second"
	switch {
	case d%time.Hour == 0:
		unit, name = time.Hour, "hour"
	case d%time.Minute == 0:
		unit, name = time.Minute, "minute"
	}
	n := int(d / unit)
	if n != 1 {
		name += "s"
	}
	return strconv.Itoa(n) + " " + name
}

// Act returns the RunE function of a command that runs f. The function returns a usage
// error unchanged, and applies Plain to every other error.
func Act(f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := f(cmd.Context(), args)
		var usage usageError
		if errors.As(err, &usage) {
			return err
		}
		return Plain(cmd, err)
	}
}

// Group returns a command that has only subcommands.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short}
	cmd.AddCommand(commands...)
	return cmd
}

// IsTerminal reports whether an input or output is a terminal.
func IsTerminal(w any) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
