package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/access/authz"
	"svc/pkg/edge/api"
)

// Arguments that a tool has besides those of its operation.
const (
	keyArgument  = "idempotencyKey" // accepted by the tool of a POST
	codeArgument = "confirmation"   // accepted if a person must confirm the call
)

// tool is an operation of the API as agents see it.
type tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  annotations     `json:"annotations"`

	method  string
	path    string
	scopes  map[authz.Audience]string // required scope, by audience that has the tool
	confirm string                    // what the person must confirm, "" for nothing
	place   map[string]string         // where an argument goes: "path" or "query"; without an entry, into the body
	hasBody bool                      // the operation takes a body
	long    bool                      // the operation's body may be longer than api.MaxBody

	internal bool // only the server calls the operation, not an agent

	optional map[string]bool // arguments for which an empty text counts as absent
	schemas  map[string]any  // schema of each argument, by its name
}

// annotations are hints that help a client decide when to ask the person.
type annotations struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// toolsOf returns the tools of the server's operations, sorted by name.
func toolsOf(s *api.Server) ([]*tool, error) {
	var out []*tool
	schemas := s.OpenAPI().Components.Schemas
	for _, op := range s.Operations() {
		if op.Streams() {
			continue // a stream has no end, and the result of a tool must have one
		}
		t, err := toolOf(op, schemas)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", op.ID, err)
		}
		out = append(out, t)
	}
	return out, nil
}

// toolOf returns the tool of an operation. schemas has the schemas to which the operation's
// schemas refer.
func toolOf(op api.Operation, schemas huma.Registry) (*tool, error) {
	t := &tool{Name: op.ID, Title: op.Summary, Description: describe(op.Row), method: op.Method, path: op.Path,
		scopes: maps.Clone(op.Policy.Scopes), confirm: op.Confirm, internal: op.Internal, place: map[string]string{},
		optional: map[string]bool{keyArgument: true, codeArgument: true},
		Annotations: annotations{ReadOnly: op.Method == http.MethodGet, Destructive: op.Confirm != "",
			Idempotent: op.Method != http.MethodPost || op.Idempotent}}
	delete(t.scopes, op.NoTool)
	in := object{tool: t, properties: map[string]any{}, inline: inliner{schemas}}
	for _, p := range op.Described.Parameters {
		if p.In == "header" {
			continue
		}
		t.place[p.Name] = p.In
		if err := in.add(p.Name, p.Schema, p.Description, p.Required); err != nil {
			return nil, err
		}
	}
	if t.feeds() { // an empty filter must not select all events
		maps.DeleteFunc(t.optional, func(name string, _ bool) bool { return t.place[name] == "query" && name != "limit" })
	}
	if body := op.Described.RequestBody; body != nil {
		t.hasBody, t.long = true, op.Described.MaxBodyBytes > api.MaxBody+1
		if err := in.addAll(body.Content["application/json"].Schema); err != nil {
			return nil, err
		}
	}
	if op.Method == http.MethodPost {
		in.properties[keyArgument] = map[string]any{"type": "string", "minLength": 1, "maxLength": 200,
			"description": "Repeat a call with the same value to retry it safely. Leave it out otherwise."}
	}
	if op.Confirm != "" {
		in.properties[codeArgument] = map[string]any{"type": "string",
			"description": "Only the code that this tool itself returned, after the person said yes. Never make one up."}
	}
	var err error
	if t.InputSchema, err = in.json(); err != nil {
		return nil, err
	}
	t.schemas = in.properties
	t.OutputSchema, err = outputOf(op, schemas)
	return t, err
}

// outputOf returns the schema of an operation's result.
func outputOf(op api.Operation, schemas huma.Registry) (json.RawMessage, error) {
	response := op.Described.Responses[strconv.Itoa(op.Status)]
	root, err := inliner{schemas}.convert(response.Content["application/json"].Schema)
	if err != nil {
		return nil, err
	}
	if root["anyOf"] != nil || root["oneOf"] != nil { // the result has one shape for each audience
		root["type"] = "object"
	}
	if root["type"] != "object" {
		return nil, fmt.Errorf("the answer is of type %v, not an object", root["type"])
	}
	open(root)
	return json.Marshal(root)
}

// open lets the objects of a result have members that the schema does not declare,
// because later versions add some.
func open(node any) {
	switch n := node.(type) {
	case []any:
		for _, child := range n {
			open(child)
		}
	case map[string]any:
		if n["additionalProperties"] == false {
			delete(n, "additionalProperties")
		}
		for _, child := range n {
			open(child)
		}
	}
}

// describe returns the tool's text for a model: what it does, its effect on
// people, and what it needs.
func describe(r api.Row) string {
	parts := []string{r.Summary + "."}
	if r.Text != "" {
		parts = append(parts, r.Text)
	}
	if r.Confirm != "" {
		parts = append(parts, r.Confirm+" Ask the person before you call it, and say what will happen.")
	} else if r.Method != http.MethodGet {
		parts = append(parts, "It changes something: call it only when the person asked for it.")
	}
	if r.Policy.Permission != "" {
		parts = append(parts, "Needs the permission "+r.Policy.Permission+".")
	}
	if r.Policy.Feature != "" {
		parts = append(parts, "Needs the company's feature "+r.Policy.Feature+".")
	}
	return strings.Join(parts, " ")
}

// admits reports whether the audience has the tool.
func (t *tool) admits(audience authz.Audience) bool {
	_, in := t.scopes[audience]
	return in
}

// allows reports whether a token with the scopes may call the tool.
func (t *tool) allows(audience authz.Audience, scopes []string) bool {
	scope, admitted := t.scopes[audience]
	return admitted && (scope == "" || slices.Contains(scopes, scope))
}

// object collects the arguments of a tool in a schema.
type object struct {
	tool       *tool
	properties map[string]any
	required   []string
	inline     inliner
}

// add adds one argument. It returns an error if the name is taken.
func (o *object) add(name string, s *huma.Schema, description string, required bool) error {
	if o.properties[name] != nil || name == keyArgument || name == codeArgument {
		return fmt.Errorf("two arguments are called %s", name)
	}
	value, err := o.inline.convert(s)
	if err != nil {
		return err
	}
	if value["description"] == nil && description != "" {
		value["description"] = description
	}
	o.properties[name] = value
	if required {
		o.required = append(o.required, name)
	}
	o.tool.optional[name] = !required
	return nil
}

// addAll adds the members of the body as arguments.
func (o *object) addAll(body *huma.Schema) error {
	if body.Ref != "" {
		body = o.inline.schemas.SchemaFromRef(body.Ref)
	}
	for _, name := range slices.Sorted(maps.Keys(body.Properties)) {
		if err := o.add(name, body.Properties[name], "", slices.Contains(body.Required, name)); err != nil {
			return err
		}
	}
	return nil
}

// json returns the schema of all arguments.
func (o *object) json() (json.RawMessage, error) {
	root := map[string]any{"type": "object", "properties": o.properties, "additionalProperties": false}
	if len(o.required) > 0 {
		root["required"] = o.required
	}
	return json.Marshal(root)
}

// inliner converts schemas of the OpenAPI document to schemas without references and
// with only one type each. Clients of some models support nothing else.
type inliner struct{ schemas huma.Registry }

// convert returns the JSON of a schema without references.
func (d inliner) convert(s *huma.Schema) (map[string]any, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	return d.object(tree, 0)
}

// deepestSchema is more levels of nesting than any schema has. A schema that refers to
// itself exceeds it.
const deepestSchema = 40

// rewrite converts every schema in a JSON value. depth is the value's level of nesting.
func (d inliner) rewrite(node any, depth int) (_ any, err error) {
	if depth > deepestSchema {
		return nil, errors.New("a schema contains itself")
	}
	switch n := node.(type) {
	case []any:
		for i := range n {
			if n[i], err = d.rewrite(n[i], depth+1); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		return d.object(n, depth)
	}
	return node, nil
}

// object replaces a reference by its target, and a list of types by one schema
// for each type.
func (d inliner) object(n map[string]any, depth int) (_ map[string]any, err error) {
	if ref, ok := n["$ref"].(string); ok {
		target, known := d.schemas.Map()[strings.TrimPrefix(ref, "#/components/schemas/")]
		if !known {
			return nil, fmt.Errorf("%s is not a schema", ref)
		}
		tree, err := d.convert(target)
		delete(n, "$ref")
		maps.Copy(tree, n)
		return tree, err
	}
	delete(n, "patternDescription") // huma writes this keyword, which JSON Schema does not define
	for name, child := range n {
		if n[name], err = d.rewrite(child, depth+1); err != nil {
			return nil, err
		}
	}
	if types, several := n["type"].([]any); several {
		return eachType(n, types), nil
	}
	return n, nil
}

// eachType returns a schema with one branch for each type. The branch of null
// has no other keyword.
func eachType(n map[string]any, types []any) map[string]any {
	out, rest := map[string]any{}, maps.Clone(n)
	for _, name := range []string{"title", "description", "default", "examples"} {
		if value, has := n[name]; has {
			out[name] = value
		}
		delete(rest, name)
	}
	if enum, has := rest["enum"].([]any); has {
		rest["enum"] = slices.DeleteFunc(enum, func(v any) bool { return v == nil })
	}
	var branches []any
	for _, one := range types {
		branch := map[string]any{}
		if one != "null" {
			branch = maps.Clone(rest)
		}
		branch["type"] = one
		branches = append(branches, branch)
	}
	out["anyOf"] = branches
	return out
}
