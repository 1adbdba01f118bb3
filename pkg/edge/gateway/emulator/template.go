package emulator

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"
)

// template is a SAM template with the default values of its parameters.
type template struct {
	parameters map[string]any
	conditions map[string]any
	globals    map[string]any // the defaults of functions, Globals.Function
	resources  map[string]resource
}

// resource is a resource of a template. kind is its Type.
type resource struct {
	kind       string
	properties map[string]any
}

// The types of resources that the emulator reads.
const (
	kindFunction = "AWS::Serverless::Function"
	kindAPI      = "AWS::Serverless::HttpApi"
)

// templates caches parsed templates by their text, because a process needs the
// same template for routes, streams and schedules. Nobody changes a parsed
// template.
var templates sync.Map

// parse returns the template of the text, from the cache templates if it is there.
func parse(text []byte) (*template, error) {
	if known, ok := templates.Load(string(text)); ok {
		return known.(*template), nil
	}
	t, err := read(text)
	if err == nil {
		templates.Store(string(text), t)
	}
	return t, err
}

// read reads a template. It omits resources whose condition is false. It
// evaluates references to parameters, !If, and !Sub of a text. All other
// functions stay as {"Fn::Name": arguments}.
func read(text []byte) (*template, error) {
	doc, err := Decode(text)
	if err != nil {
		return nil, err
	}
	t := &template{
		parameters: map[string]any{}, conditions: object(doc["Conditions"]),
		resources: map[string]resource{},
	}
	for name, p := range object(doc["Parameters"]) {
		t.parameters[name] = object(p)["Default"]
	}
	t.globals = object(t.resolve(object(doc["Globals"])["Function"]))
	for name, r := range object(doc["Resources"]) {
		fields := object(r)
		if condition, ok := fields["Condition"].(string); ok && !t.holds(condition) {
			continue
		}
		kind, _ := fields["Type"].(string)
		t.resources[name] = resource{kind: kind, properties: object(t.resolve(fields["Properties"]))}
	}
	return t, nil
}

// Decode decodes a template's YAML to maps, lists and scalars. It converts the
// short tags of intrinsic functions (!Ref, !Sub, …) to their long form.
func Decode(text []byte) (map[string]any, error) {
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	if len(root.Content) == 0 {
		return nil, errors.New("template: it is empty")
	}
	tree, err := decode(root.Content[0])
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	doc, ok := tree.(map[string]any)
	if !ok {
		return nil, errors.New("template: it is not a mapping")
	}
	return doc, nil
}

// decode returns a YAML node as maps, lists and scalars.
func decode(n *yaml.Node) (any, error) {
	if name, ok := intrinsic(n.Tag); ok {
		plain := *n
		plain.Tag = ""
		if plain.Kind == yaml.ScalarNode {
			plain.Tag = "!!str"
		}
		argument, err := decode(&plain)
		if at, ok := argument.(string); ok && name == "Fn::GetAtt" {
			resource, attribute, _ := strings.Cut(at, ".")
			argument = []any{resource, attribute}
		}
		return map[string]any{name: argument}, err
	}
	switch n.Kind {
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if _, twice := m[key]; twice {
				return nil, fmt.Errorf("line %d: the key %s is repeated", n.Content[i].Line, key)
			}
			value, err := decode(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			m[key] = value
		}
		return m, nil
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			value, err := decode(c)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	case yaml.AliasNode:
		return nil, fmt.Errorf("line %d: CloudFormation does not support YAML aliases", n.Line)
	default:
		var v any
		if err := n.Decode(&v); err != nil {
			return nil, fmt.Errorf("line %d: %w", n.Line, err)
		}
		return v, nil
	}
}

// intrinsic returns the long name of a short tag: Fn::Sub for !Sub.
func intrinsic(tag string) (string, bool) {
	name, ok := strings.CutPrefix(tag, "!")
	switch {
	case !ok || name == "" || name[0] == '!':
		return "", false
	case name == "Ref" || name == "Condition":
		return name, true
	default:
		return "Fn::" + name, true
	}
}

// resolve returns the value v with references to parameters, !If and !Sub evaluated.
func (t *template) resolve(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, 0, len(v))
		for _, e := range v {
			list = append(list, t.resolve(e))
		}
		return list
	case map[string]any:
		if len(v) == 1 {
			for name, argument := range v {
				if resolved, ok := t.call(name, argument); ok {
					return resolved
				}
			}
		}
		m := make(map[string]any, len(v))
		for key, e := range v {
			m[key] = t.resolve(e)
		}
		return m
	default:
		return v
	}
}

// call evaluates an intrinsic function. ok is false if the function cannot be
// evaluated from the template alone.
func (t *template) call(name string, argument any) (v any, ok bool) {
	switch name {
	case "Ref":
		ref, _ := argument.(string)
		if ref == "AWS::NoValue" {
			return nil, true
		}
		v, ok = t.parameters[ref]
		return v, ok
	case "Fn::If":
		list, _ := argument.([]any)
		if len(list) != 3 {
			return nil, false
		}
		condition, _ := list[0].(string)
		if t.holds(condition) {
			return t.resolve(list[1]), true
		}
		return t.resolve(list[2]), true
	case "Fn::Sub":
		text, isText := argument.(string)
		if !isText {
			return nil, false
		}
		for parameter, value := range t.parameters {
			text = strings.ReplaceAll(text, "${"+parameter+"}", fmt.Sprint(value))
		}
		return text, true
	}
	return nil, false
}

// holds evaluates the condition with the given name. The condition may use !Equals and
// !Not, the functions that template.yaml uses. Any other condition is false.
func (t *template) holds(condition string) bool { return t.truth(t.conditions[condition]) }

// truth evaluates v, the expression of a condition; see holds.
func (t *template) truth(v any) bool {
	m := object(v)
	if list, _ := m["Fn::Equals"].([]any); len(list) == 2 {
		return fmt.Sprint(t.resolve(list[0])) == fmt.Sprint(t.resolve(list[1]))
	}
	list, _ := m["Fn::Not"].([]any)
	return len(list) == 1 && !t.truth(list[0])
}

// of returns the names of the resources of a kind, sorted.
func (t *template) of(kind string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(t.resources)) {
		if t.resources[name].kind == kind {
			names = append(names, name)
		}
	}
	return names
}

// eventsOf calls the function of for each event whose type is kind, sorted by the
// function and the name of the event, and returns the results.
func eventsOf[T any](t *template, kind string, of func(function string, properties map[string]any) (T, error),
) ([]T, error) {
	var out []T
	for _, function := range t.of(kindFunction) {
		events := object(t.resources[function].properties["Events"])
		for _, name := range slices.Sorted(maps.Keys(events)) {
			event := object(events[name])
			if event["Type"] != kind {
				continue
			}
			one, err := of(function, object(event["Properties"]))
			if err != nil {
				return nil, fmt.Errorf("template: %s.%s: %w", function, name, err)
			}
			out = append(out, one)
		}
	}
	return out, nil
}

// timeout returns the timeout of a function. Lambda's default is three seconds.
func (t *template) timeout(function string) time.Duration {
	for _, from := range []map[string]any{t.resources[function].properties, t.globals} {
		if s, ok := from["Timeout"].(int); ok && s > 0 {
			return time.Duration(s) * time.Second
		}
	}
	return 3 * time.Second
}

// object returns v as a mapping, nil if it is not a mapping.
func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// texts returns v as a list of texts, nil if it is not a list.
func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		out = append(out, fmt.Sprint(e))
	}
	return out
}
