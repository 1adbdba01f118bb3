package main

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"svc/pkg/base/codec"
)

// usualLimit is how many items of a list a command shows.
const usualLimit = 100

// showList shows a list: its items for programs, or a table of them.
func (c *cli) showList(ctx context.Context, from *calls, op *operation, r apiRequest, given *flagValue) error {
	limit := unlimited
	switch {
	case given != nil && given.given:
		limit, _ = strconv.Atoi(given.texts[0]) // the flag has checked it
	case given != nil && op.pages:
		limit = usualLimit
	}
	items, err := from.items(ctx, op, r, limit)
	if err != nil && len(r.path) > 0 {
		err = missing(err, op.noun(), r.path[0])
	}
	if err != nil {
		return err
	}
	if c.json {
		return c.printJSON(items)
	}
	return c.show(nil, tableOf(ctx, items, op.columns, namesOf(from.p, from.t)))
}

// unlimited is above the length of every list without pages.
const unlimited = 1_000_000

// showAnswer shows a response: as it is for programs, or a line for each member, a table for
// each list, and what to do next.
func (c *cli) showAnswer(ctx context.Context, from *calls, op *operation, args []string, answer json.RawMessage) error {
	if c.json {
		return c.printJSON(answer)
	}
	var tree map[string]any
	if err := json.Unmarshal(answer, &tree); err != nil {
		return err
	}
	names, lists := namesOf(from.p, from.t), map[string][]json.RawMessage{}
	rows := map[string]json.RawMessage{}
	scalars(answer, "", rows, lists)
	shown := cols{fit: true}
	for name, value := range rows {
		object, _, within := strings.Cut(name, ".")
		if who := rows[object+"Id"]; within && who != nil {
			continue // the person whose name is shown
		}
		shown.add(name, cellOfJSON(value))
		if what, is := strings.CutSuffix(name, "Id"); is && string(value) != "null" {
			if called := names.called(ctx, cellOfJSON(value)); called != cellOfJSON(value) {
				shown.add(strings.Replace(what, "customer", "rider", 1), called)
			}
		}
	}
	slices.SortFunc(shown.rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	if err := c.show(nil, shown); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		if err := c.show(nil, tableOf(ctx, lists[name], op.sections[name], names)); err != nil {
			return err
		}
	}
	if op.next == "" {
		return nil
	}
	return c.done(nil, "%s", strings.NewReplacer("SLUG", args[0], "ID", cellOfJSON(rows["id"])).Replace(op.next))
}

// scalars collects the values of an object by their dotted names, and its lists of objects.
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

// cellOfJSON returns a JSON value for people.
func cellOfJSON(value json.RawMessage) string {
	var list []json.RawMessage
	var text string
	var on bool
	switch {
	case len(value) == 0 || string(value) == "null":
		return cellOf(nil)
	case json.Unmarshal(value, &text) == nil:
		return cellOf(text)
	case json.Unmarshal(value, &on) == nil:
		return cellOf(on)
	case json.Unmarshal(value, &list) == nil:
		words := make([]string, len(list))
		for i, one := range list {
			words[i] = cellOfJSON(one)
		}
		return cellOf(words)
	}
	return cellOf(string(value))
}

// mostColumns is how many columns a table has without --wide, if nobody chose them.
const mostColumns = 5

// tableOf returns a table of objects. columns are HEAD=member, and HEAD+=member for those
// of --wide: FARE=finalFare|estimatedFare~currency is the first of two that is there, and its
// currency. If nobody chose columns, the table has a column for each member of the first object.
// Whoever has an identifier is shown by the name, but not in a column ID.
func tableOf(ctx context.Context, items []json.RawMessage, columns string, names names) cols {
	var rows []map[string]json.RawMessage
	for _, item := range items {
		row, lists := map[string]json.RawMessage{}, map[string][]json.RawMessage{}
		scalars(item, "", row, lists)
		for name, list := range lists { // the last element: of attempts, what came of it
			scalars(list[len(list)-1], name+".", row, map[string][]json.RawMessage{})
		}
		rows = append(rows, row)
	}
	if columns == "" && len(rows) > 0 {
		columns = columnsOf(slices.Sorted(maps.Keys(rows[0])))
	}
	var out cols
	heads, specs := []string{}, strings.Fields(columns)
	for _, spec := range specs {
		head, _, _ := strings.Cut(spec, "=")
		heads = append(heads, head)
	}
	out.head = strings.Join(heads, " ")
	for _, row := range rows {
		var cells []any
		for i, spec := range specs {
			_, of, _ := strings.Cut(spec, "=")
			cells = append(cells, cellIn(ctx, row, of, strings.HasPrefix(heads[i], "ID"), names))
		}
		out.add(cells...)
	}
	return out
}

func cellIn(ctx context.Context, row map[string]json.RawMessage, of string, isID bool, names names) string {
	members, unit, _ := strings.Cut(of, "~")
	for member := range strings.SplitSeq(members, "|") {
		text := cellOfJSON(row[member])
		switch {
		case text == cellOf(nil):
		case unit != "":
			return text + " " + cellOfJSON(row[unit])
		case isID:
			return text
		default:
			return names.called(ctx, text)
		}
	}
	return cellOf(nil)
}

// columnsOf returns the columns of members: at most mostColumns without --wide, the
// identifier at the end.
func columnsOf(members []string) string {
	var columns, last []string
	for _, name := range members {
		head := strings.ToUpper(flagName(name))
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

// showDocument prints a document. The table for people has one line for each
// dotted JSON name.
func (c *cli) showDocument(document any) error {
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	rows, shown := map[string]json.RawMessage{}, cols{fit: true}
	scalars(text, "", rows, map[string][]json.RawMessage{})
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		shown.add(name, cellOfJSON(rows[name]))
	}
	return c.show(document, shown)
}
