package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/spf13/cobra"

	"svc/pkg/app"
	"svc/pkg/base/ids"
	"svc/pkg/edge/api"
)

// operation is an operation of the API for operators, and the command that is made from it.
type operation struct {
	api.Operation
	shape
	parameters []string // names in the path, in order
	fields     []field  // what the flags set
	lists      bool     // the response has a list, items
	members    []string // of the items
	pages      bool     // the list has pages
}

// operationsOf returns the operations for operators, sorted by id.
var operationsOf = sync.OnceValues(func() ([]*operation, error) {
	server, err := api.New(api.Config{}, app.OperatorRows(nil)...)
	if err != nil {
		return nil, err
	}
	schemas, rows := server.OpenAPI().Components.Schemas, map[string]int{}
	for _, one := range server.Operations() {
		rows[fixed(one.Path)]++
	}
	var out []*operation
	for _, one := range server.Operations() {
		if one.Streams() {
			continue
		}
		op := &operation{Operation: one, shape: shapes[one.ID]}
		if op.group == "" {
			op.group, op.name = place(one.Row, op.name, rows[fixed(one.Path)] > 1)
		}
		if err := op.describe(schemas); err != nil {
			return nil, fmt.Errorf("command of %s: %w", one.ID, err)
		}
		out = append(out, op)
	}
	return out, nil
})

// fixed returns the words of a path that are no parameters.
func fixed(path string) string {
	words := strings.Split(strings.TrimPrefix(path, "/api/v1/"), "/")
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return strings.HasPrefix(w, "{") }), " ")
}

// place returns the group and the name of a row's command. A path with several rows is a
// collection: /businesses/{id}/menu has the group menu and the names list and create.
// The path of a single row names what is done: /trips/{id}/cancel.
func place(r api.Row, name string, collection bool) (string, string) {
	words := strings.Fields(fixed(r.Path))
	verb, _, _ := strings.Cut(strings.TrimPrefix(r.ID, "svc_"), "_")
	last := words[len(words)-1]
	switch {
	case name != "":
	case collection || len(words) == 1:
		return last, verb
	default:
		name = last
	}
	return words[0], name
}

// describe finds the parameters and the members of the request.
func (op *operation) describe(schemas huma.Registry) error {
	for word := range strings.SplitSeq(op.Path, "/") {
		if name, ok := strings.CutPrefix(word, "{"); ok {
			op.parameters = append(op.parameters, strings.TrimSuffix(name, "}"))
		}
	}
	resolve := func(s *huma.Schema) *huma.Schema {
		if s.Ref != "" {
			return schemas.SchemaFromRef(s.Ref)
		}
		return s
	}
	output := resolve(op.Described.Responses[fmt.Sprint(op.Status)].Content["application/json"].Schema)
	op.lists = output.Properties["items"] != nil && output.Properties["next_cursor"] != nil ||
		output.Properties["items"] != nil && len(output.Properties) == 1
	if op.lists {
		members, scalars := resolve(output.Properties["items"].Items).Properties, []string{}
		op.members = slices.Sorted(maps.Keys(members))
		for _, name := range op.members {
			if s := resolve(members[name]); s.Type != huma.TypeObject && s.Type != huma.TypeArray && s.Type != "" {
				scalars = append(scalars, name)
			}
		}
		op.columns = cmp.Or(op.columns, columnsOf(scalars))
	}
	for _, p := range op.Described.Parameters {
		op.pages = op.pages || op.lists && p.Name == "cursor"
		if p.In == "query" && (p.Name != "cursor" || !op.lists) {
			op.fields = append(op.fields, field{name: p.Name, query: true, schema: resolve(p.Schema), required: p.Required,
				text: p.Description})
		}
	}
	if body := op.Described.RequestBody; body != nil {
		op.addMembers(resolve(body.Content["application/json"].Schema), resolve, nil)
	}
	if op.Method == http.MethodPost {
		op.fields = append(op.fields, field{name: idempotencyKey, schema: &huma.Schema{Type: huma.TypeString},
			text: "To repeat the command safely, give it the same `key` within 24 hours."})
	}
	seen := map[string]bool{}
	for _, f := range op.fields {
		if seen[f.flag()] {
			return fmt.Errorf("two flags are called --%s", f.flag())
		}
		seen[f.flag()] = true
	}
	return nil
}

// addMembers adds the members of a body. Those of an object within it are flags of their
// own, whose names begin with the object's: --pricing-tax-rate.
func (op *operation) addMembers(s *huma.Schema, resolve func(*huma.Schema) *huma.Schema, within []string) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		declared := s.Properties[name]
		one, path := resolve(declared), append(slices.Clone(within), name)
		if one.Type == huma.TypeObject && len(one.Properties) > 0 {
			op.addMembers(one, resolve, path)
			continue
		}
		f := field{name: strings.Join(path, "."), schema: one, nullable: declared.Nullable || one.Nullable,
			required: len(within) == 0 && slices.Contains(s.Required, name), text: one.Description}
		if declared.Description != "" {
			f.text = declared.Description
		}
		op.fields = append(op.fields, f)
	}
}

// kind is the kind of the identifier that the path's first parameter is, "" if no other name
// stands for it.
func (op *operation) kind() string {
	word, _, _ := strings.Cut(strings.TrimPrefix(op.Path, "/api/v1/"), "/")
	return map[string]string{"trips": ids.Trip, "orders": ids.Order, "drivers": ids.Driver,
		"customers": ids.Customer}[word]
}

// noun is what messages call the resource that the path's last parameter names.
func (op *operation) noun() string {
	words := strings.Split(op.Path, "/")
	last := 0
	for i, word := range words {
		if strings.HasPrefix(word, "{") {
			last = i - 1
		}
	}
	if noun := nouns[words[last]]; noun != "" {
		return noun
	}
	return strings.TrimSuffix(words[last], "s")
}

// use returns the usage line: the tenant, the parameters of the path, and the members that
// may be arguments too.
func (op *operation) use() string {
	words := []string{op.name, "SLUG"}
	for i, name := range op.parameters {
		word := strings.ToUpper(name)
		if i == 0 {
			word += map[string]string{ids.Trip: "|CODE", ids.Order: "|CODE", ids.Driver: "|EMAIL",
				ids.Customer: "|EMAIL"}[op.kind()]
		}
		words = append(words, word)
	}
	for _, name := range op.extra {
		words = append(words, "["+strings.ToUpper(flagName(name))+"]")
	}
	return strings.Join(words, " ")
}

// field returns the field of a member, nil if there is none.
func (op *operation) field(name string) *field {
	for i := range op.fields {
		if op.fields[i].name == name {
			return &op.fields[i]
		}
	}
	return nil
}

// addOperations adds the commands of the operations to the root. A command by hand stays.
func addOperations(c *cli, root *cobra.Command) {
	operations, err := operationsOf()
	if err != nil {
		panic(err) // the rows are those of this program; a test makes the commands
	}
	groups := map[string]*cobra.Command{}
	for _, cmd := range root.Commands() {
		groups[cmd.Name()] = cmd
	}
	for _, op := range operations {
		if byHand[op.ID] != "" {
			continue
		}
		parent := groups[op.group]
		if old := singular[op.group]; parent == nil && groups[old] != nil {
			parent = groups[old]
			parent.Use, parent.Aliases = op.group, append(parent.Aliases, old)
		}
		if parent == nil {
			if parent = group(op.group, cmp.Or(descriptions[op.group],
				strings.ToUpper(op.group[:1])+op.group[1:]+" of a tenant")); singular[op.group] != "" {
				parent.Aliases = []string{singular[op.group]}
			}
			root.AddCommand(parent)
		}
		groups[op.group] = parent
		parent.AddCommand(c.operationCommand(op))
	}
}

func (c *cli) operationCommand(op *operation) *cobra.Command {
	cmd := &cobra.Command{Use: op.use(), Aliases: op.aliases, Short: op.Summary, Example: op.example(),
		Annotations: map[string]string{operationID: op.ID}}
	cmd.Long = op.Summary + "."
	if op.Text != "" {
		cmd.Long += " " + op.Text
	}
	if op.Method != http.MethodGet {
		cmd.Long += " The audit log names you."
	} else {
		cmd.Annotations[readsOnly] = op.ID
	}
	if slices.Contains(op.extra, "status") {
		cmd.Annotations[statusWords] = strings.Join(op.field("status").words(), " ")
	}
	in := op.flags(cmd)
	cmd.RunE = act(func(ctx context.Context, args []string) error { return c.operate(ctx, cmd, op, in, args) })
	return cmd
}

// example returns a command line with every argument and each flag that must be given.
func (op *operation) example() string {
	line := "  svc " + op.group + " " + op.name + " metro"
	for i, name := range op.parameters {
		if kind := cmp.Or(op.IDKind(), op.kind()); i == 0 && kind != "" {
			line += " " + kind + "_01JT7M4C6Q8V2N5X9B3D1F7H0K"
			continue
		}
		line += " " + strings.ToUpper(name)
	}
	for _, name := range op.extra {
		line += " " + op.field(name).sample()
	}
	for _, f := range op.fields {
		if op.needs(f) && !slices.Contains(op.extra, f.name) || f.name == op.shown {
			line += " \\\n    --" + f.flag() + "=" + f.sample()
		}
	}
	return line
}

// needs reports whether a command line must have the field.
func (op *operation) needs(f field) bool { return f.required || slices.Contains(op.requires, f.name) }

// operationOf returns the operation with the id.
func operationOf(id string) (*operation, error) {
	operations, err := operationsOf()
	i := slices.IndexFunc(operations, func(op *operation) bool { return op.ID == id })
	if err == nil && i < 0 {
		err = fmt.Errorf("no command is made from the operation %s", id)
	}
	if err != nil {
		return nil, err
	}
	return operations[i], nil
}
