package operation

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"svc/cmd/svc/cli"
	"svc/pkg/base/codec"
)

// usualLimit is how many items of a list a command shows without --limit.
const usualLimit = 100

// showList reads a list and shows it: its items as JSON with --json, and else a table.
// given is the value of --limit, nil if the command has no such flag.
func showList(ctx context.Context, c *cli.CLI, from *calls, op *Operation, r apiRequest, given *cli.FlagValue) error {
	limit := unlimited
	switch {
	case given != nil && given.Given:
		limit, _ = strconv.Atoi(given.Texts[0]) // the flag has checked it
	case given != nil && op.pages:
		limit = usualLimit
	}
	items, err := from.items(ctx, op, r, limit)
	if err != nil && len(r.path) > 0 {
		err = cli.Missing(err, op.noun(), r.path[0])
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return c.PrintJSON(items)
	}
	return c.Show(nil, tableOf(ctx, items, op.Columns, cli.NamesOf(from.p, from.t)))
}

// unlimited is the limit for a list that is not read page by page. It is larger than any
// such list.
const unlimited = 1_000_000

// showAnswer shows a response: as it is with --json, and else a line for each member, a
// table for each list, and what to do next.
func showAnswer(ctx context.Context, c *cli.CLI, from *calls, op *Operation, args []string,
	answer json.RawMessage) error {
	if c.JSON {
		return c.PrintJSON(answer)
	}
	var tree map[string]any
	if err := json.Unmarshal(answer, &tree); err != nil {
		return err
	}
	names, lists := cli.NamesOf(from.p, from.t), map[string][]json.RawMessage{}
	rows := map[string]json.RawMessage{}
	scalars(answer, "", rows, lists)
	shown := cli.Table{Fit: true}
	for name, value := range rows {
		object, _, within := strings.Cut(name, ".")
		if who := rows[object+"Id"]; within && who != nil {
			continue // skip members of an object whose id is shown: the id is shown with its name
		}
		shown.Add(name, cellOfJSON(value))
		if what, is := strings.CutSuffix(name, "Id"); is && string(value) != "null" {
			if called := names.Called(ctx, cellOfJSON(value)); called != cellOfJSON(value) {
				shown.Add(strings.Replace(what, "customer", "rider", 1), called)
			}
		}
	}
	slices.SortFunc(shown.Rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	if err := c.Show(nil, shown); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		if err := c.Show(nil, tableOf(ctx, lists[name], op.sections[name], names)); err != nil {
			return err
		}
	}
	if op.next == "" {
		return nil
	}
	return c.Done(nil, "%s", strings.NewReplacer("SLUG", args[0], "ID", cellOfJSON(rows["id"])).Replace(op.next))
}

// scalars collects the members of a JSON object in out, by dotted name. It collects the
// lists of objects in lists instead.
func scalars(object json.RawMessage, prefix string, out map[string]json.RawMessage,
	lists map[string][]json.RawMessage) {
	_ = codec.Members(object, func(name string, value jsontext.Value) { // a response is valid
		value = slices.Clone(value)
		var list []json.RawMessage
		switch {
		case value.Kind() == '{':
			scalars(json.RawMessage(value), prefix+name+".", out, lists)
		case value.Kind() == '[' && json.Unmarshal(value, &list) == nil && len(list) > 0 && list[0][0] == '{':
			lists[prefix+name] = list
		default:
			out[prefix+name] = json.RawMessage(value)
		}
	})
}

// cellOfJSON returns a JSON value as the text of a cell for people.
func cellOfJSON(value json.RawMessage) string {
	var list []json.RawMessage
	var text string
	var on bool
	switch {
	case len(value) == 0 || string(value) == "null":
		return cli.Cell(nil)
	case json.Unmarshal(value, &text) == nil:
		return cli.Cell(text)
	case json.Unmarshal(value, &on) == nil:
		return cli.Cell(on)
	case json.Unmarshal(value, &list) == nil:
		words := make([]string, len(list))
		for i, one := range list {
			words[i] = cellOfJSON(one)
		}
		return cli.Cell(words)
	}
	return cli.Cell(string(value))
}

// mostColumns is how many columns a table has without --wide if shapes sets no columns
// for the operation.
const mostColumns = 5

// tableOf returns a table of JSON objects. columns lists the columns as HEAD=member, or
// HEAD+=member for those of --wide only. FARE=finalFare|estimatedFare~currency shows the
// first of the two members that has a value, and then the currency. If columns is "", the
// table has a column for each member of the first object. A column shows the names of
// people in place of their identifiers, unless its head begins with ID.
func tableOf(ctx context.Context, items []json.RawMessage, columns string, names cli.Names) cli.Table {
	var rows []map[string]json.RawMessage
	for _, item := range items {
		row, lists := map[string]json.RawMessage{}, map[string][]json.RawMessage{}
		scalars(item, "", row, lists)
		for name, list := range lists { // show the last element of a list: of attempts, it has the outcome
			scalars(list[len(list)-1], name+".", row, map[string][]json.RawMessage{})
		}
		rows = append(rows, row)
	}
	if columns == "" && len(rows) > 0 {
		columns = columnsOf(slices.Sorted(maps.Keys(rows[0])))
	}
	var out cli.Table
	heads, specs := []string{}, strings.Fields(columns)
	for _, spec := range specs {
		head, _, _ := strings.Cut(spec, "=")
		heads = append(heads, head)
	}
	out.Head = strings.Join(heads, " ")
	for _, row := range rows {
		var cells []any
		for i, spec := range specs {
			_, of, _ := strings.Cut(spec, "=")
			cells = append(cells, cellIn(ctx, row, of, strings.HasPrefix(heads[i], "ID"), names))
		}
		out.Add(cells...)
	}
	return out
}

// cellIn returns the cell of a row. of is the part behind "=" in the description of the
// column (see tableOf). isID says that the cell shows an identifier as it is.
func cellIn(ctx context.Context, row map[string]json.RawMessage, of string, isID bool, names cli.Names) string {
	members, unit, _ := strings.Cut(of, "~")
	for member := range strings.SplitSeq(members, "|") {
		text := cellOfJSON(row[member])
		switch {
		case text == cli.Cell(nil):
		case unit != "":
			return text + " " + cellOfJSON(row[unit])
		case isID:
			return text
		default:
			return names.Called(ctx, text)
		}
	}
	return cli.Cell(nil)
}

// columnsOf returns the description of columns (see tableOf) for members: without --wide
// at most mostColumns of them, and the identifier at the end.
func columnsOf(members []string) string {
	var columns, last []string
	for _, name := range members {
		head := strings.ToUpper(cli.FlagName(name))
		switch {
		case name == "id":
			last = []string{head + "=" + name}
		case len(columns) >= mostColumns:
			columns = append(columns, head+"+="+name)
		default:
			columns = append(columns, head+"="+name)
		}
	}
	return strings.Join(append(columns, last...), " ")
}

// ShowDocument prints a value as JSON with --json, and else a table with one line for
// each dotted JSON name.
func ShowDocument(c *cli.CLI, document any) error {
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	rows, shown := map[string]json.RawMessage{}, cli.Table{Fit: true}
	scalars(text, "", rows, map[string][]json.RawMessage{})
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		shown.Add(name, cellOfJSON(rows[name]))
	}
	return c.Show(document, shown)
}
