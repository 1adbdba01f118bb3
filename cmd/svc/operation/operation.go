package operation

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

	"svc/cmd/svc/cli"
	"svc/pkg/app"
	"svc/pkg/base/ids"
	"svc/pkg/edge/api"
)

// Operation is an operation of the API for operators, and describes the command that is
// made from it.
type Operation struct {
	api.Operation
	shape
	Parameters []string    // names of the path's parameters, in order
	Fields     []cli.Field // members of query and body; a flag sets each of them
	Lists      bool        // the response is a list: it has the member items
	Members    []string    // names of the members of an item of the list
	pages      bool        // the list is read page by page
}

// All returns the operations for operators, sorted by id, except those that stream their
// response.
var All = sync.OnceValues(func() ([]*Operation, error) {
	server, err := api.New(api.Config{}, app.OperatorRows(nil)...)
	if err != nil {
		return nil, err
	}
	schemas, rows := server.OpenAPI().Components.Schemas, map[string]int{}
	for _, one := range server.Operations() {
		rows[fixed(one.Path)]++
	}
	var out []*Operation
	for _, one := range server.Operations() {
		if one.Streams() {
			continue
		}
		op := &Operation{Operation: one, shape: shapes[one.ID]}
		if op.Group == "" {
			op.Group, op.Name = place(one.Row, op.Name, rows[fixed(one.Path)] > 1)
		}
		if err := op.describe(schemas); err != nil {
			return nil, fmt.Errorf("command of %s: %w", one.ID, err)
		}
		out = append(out, op)
	}
	return out, nil
})

// fixed returns the words of a path without /api/v1 and without the parameters, separated
// by blanks.
func fixed(path string) string {
	words := strings.Split(strings.TrimPrefix(path, "/api/v1/"), "/")
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return strings.HasPrefix(w, "{") }), " ")
}

// place returns the group and the name of the command of a row. name is the name in
// shapes, "" for none. collection says that several rows have the path. Such a path is a
// group: /businesses/{id}/menu has the group menu and the names list and create. The path
// of a single row names an action: /trips/{id}/cancel is "trips cancel".
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

// describe sets the parameters, the fields and the columns from the OpenAPI description
// of the operation.
func (op *Operation) describe(schemas huma.Registry) error {
	for word := range strings.SplitSeq(op.Path, "/") {
		if name, ok := strings.CutPrefix(word, "{"); ok {
			op.Parameters = append(op.Parameters, strings.TrimSuffix(name, "}"))
		}
	}
	resolve := func(s *huma.Schema) *huma.Schema {
		if s.Ref != "" {
			return schemas.SchemaFromRef(s.Ref)
		}
		return s
	}
	output := resolve(op.Described.Responses[fmt.Sprint(op.Status)].Content["application/json"].Schema)
	op.Lists = output.Properties["items"] != nil && output.Properties["next_cursor"] != nil ||
		output.Properties["items"] != nil && len(output.Properties) == 1
	if op.Lists {
		members, scalars := resolve(output.Properties["items"].Items).Properties, []string{}
		op.Members = slices.Sorted(maps.Keys(members))
		for _, name := range op.Members {
			if s := resolve(members[name]); s.Type != huma.TypeObject && s.Type != huma.TypeArray && s.Type != "" {
				scalars = append(scalars, name)
			}
		}
		op.Columns = cmp.Or(op.Columns, columnsOf(scalars))
	}
	for _, p := range op.Described.Parameters {
		op.pages = op.pages || op.Lists && p.Name == "cursor"
		if p.In == "query" && (p.Name != "cursor" || !op.Lists) {
			op.Fields = append(op.Fields, cli.Field{Name: p.Name, Query: true, Schema: resolve(p.Schema), Required: p.Required,
				Text: p.Description})
		}
	}
	if body := op.Described.RequestBody; body != nil {
		op.addMembers(resolve(body.Content["application/json"].Schema), resolve, nil)
	}
	if op.Method == http.MethodPost {
		op.Fields = append(op.Fields, cli.Field{Name: cli.IdempotencyKey, Schema: &huma.Schema{Type: huma.TypeString},
			Text: "To repeat the command safely, give it the same `key` within 24 hours."})
	}
	seen := map[string]bool{}
	for _, f := range op.Fields {
		if seen[f.Flag()] {
			return fmt.Errorf("two flags are called --%s", f.Flag())
		}
		seen[f.Flag()] = true
	}
	return nil
}

// addMembers adds a field for each member of a request body. The members of an object
// within the body are fields of their own, and the names of their flags begin with the
// name of the object: --pricing-tax-rate. within has the names of the objects around s.
func (op *Operation) addMembers(s *huma.Schema, resolve func(*huma.Schema) *huma.Schema, within []string) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		declared := s.Properties[name]
		one, path := resolve(declared), append(slices.Clone(within), name)
		if one.Type == huma.TypeObject && len(one.Properties) > 0 {
			op.addMembers(one, resolve, path)
			continue
		}
		f := cli.Field{Name: strings.Join(path, "."), Schema: one, Nullable: declared.Nullable || one.Nullable,
			Required: len(within) == 0 && slices.Contains(s.Required, name), Text: one.Description}
		if declared.Description != "" {
			f.Text = declared.Description
		}
		op.Fields = append(op.Fields, f)
	}
}

// kind returns the kind of the identifier (package ids) in the first parameter of the
// path if a command line may give a mail address or a code in its place, else "".
func (op *Operation) kind() string {
	word, _, _ := strings.Cut(strings.TrimPrefix(op.Path, "/api/v1/"), "/")
	return map[string]string{"trips": ids.Trip, "orders": ids.Order, "drivers": ids.Driver,
		"customers": ids.Customer}[word]
}

// noun returns the word for the resource that the last parameter of the path names, such
// as "menu item". Messages use it.
func (op *Operation) noun() string {
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

// use returns the usage line of the command: its name, the tenant, the parameters of the
// path, and the members of the request that may be arguments too.
func (op *Operation) use() string {
	words := []string{op.Name, "SLUG"}
	for i, name := range op.Parameters {
		word := strings.ToUpper(name)
		if i == 0 {
			word += map[string]string{ids.Trip: "|CODE", ids.Order: "|CODE", ids.Driver: "|EMAIL",
				ids.Customer: "|EMAIL"}[op.kind()]
		}
		words = append(words, word)
	}
	for _, name := range op.extra {
		words = append(words, "["+strings.ToUpper(cli.FlagName(name))+"]")
	}
	return strings.Join(words, " ")
}

// field returns the field that sets the member with the name, nil if there is none.
func (op *Operation) field(name string) *cli.Field {
	for i := range op.Fields {
		if op.Fields[i].Name == name {
			return &op.Fields[i]
		}
	}
	return nil
}

// Add adds the commands of the operations to root, except the operations in ByHand, whose
// commands are written by hand.
func Add(c *cli.CLI, root *cobra.Command) {
	operations, err := All()
	if err != nil {
		panic(err) // the rows are part of this program, and a test makes their commands
	}
	groups := map[string]*cobra.Command{}
	for _, cmd := range root.Commands() {
		groups[cmd.Name()] = cmd
	}
	for _, op := range operations {
		if ByHand[op.ID] != "" {
			continue
		}
		parent := groups[op.Group]
		if old := singular[op.Group]; parent == nil && groups[old] != nil {
			parent = groups[old]
			parent.Use, parent.Aliases = op.Group, append(parent.Aliases, old)
		}
		if parent == nil {
			if parent = cli.Group(op.Group, cmp.Or(descriptions[op.Group],
				strings.ToUpper(op.Group[:1])+op.Group[1:]+" of a tenant")); singular[op.Group] != "" {
				parent.Aliases = []string{singular[op.Group]}
			}
			root.AddCommand(parent)
		}
		groups[op.Group] = parent
		parent.AddCommand(operationCommand(c, op))
	}
}

// operationCommand returns the command of an operation.
func operationCommand(c *cli.CLI, op *Operation) *cobra.Command {
	cmd := &cobra.Command{Use: op.use(), Aliases: op.aliases, Short: op.Summary, Example: op.example(),
		Annotations: map[string]string{cli.OperationID: op.ID}}
	cmd.Long = op.Summary + "."
	if op.Text != "" {
		cmd.Long += " " + op.Text
	}
	if op.Method != http.MethodGet {
		cmd.Long += " The audit log names you."
	} else {
		cmd.Annotations[cli.ReadsOnly] = op.ID
	}
	if slices.Contains(op.extra, "status") {
		cmd.Annotations[cli.StatusWords] = strings.Join(op.field("status").Words(), " ")
	}
	in := op.flags(cmd)
	cmd.RunE = cli.Act(func(ctx context.Context, args []string) error { return operate(ctx, c, cmd, op, in, args) })
	return cmd
}

// example returns an example of the command, with every argument and each flag that must
// be given.
func (op *Operation) example() string {
	line := "  svc " + op.Group + " " + op.Name + " metro"
	for i, name := range op.Parameters {
		if kind := cmp.Or(op.IDKind(), op.kind()); i == 0 && kind != "" {
			line += " " + kind + "_01JT7M4C6Q8V2N5X9B3D1F7H0K"
			continue
		}
		line += " " + strings.ToUpper(name)
	}
	for _, name := range op.extra {
		line += " " + op.field(name).Sample()
	}
	for _, f := range op.Fields {
		if op.Needs(f) && !slices.Contains(op.extra, f.Name) || f.Name == op.shown {
			line += " \\\n    --" + f.Flag() + "=" + f.Sample()
		}
	}
	return line
}

// Needs reports whether a command line must have the field.
func (op *Operation) Needs(f cli.Field) bool {
	return f.Required || slices.Contains(op.requires, f.Name)
}

// Of returns the operation with the id, and an error if there is none.
func Of(id string) (*Operation, error) {
	operations, err := All()
	i := slices.IndexFunc(operations, func(op *Operation) bool { return op.ID == id })
	if err == nil && i < 0 {
		err = fmt.Errorf("no command is made from the operation %s", id)
	}
	if err != nil {
		return nil, err
	}
	return operations[i], nil
}
