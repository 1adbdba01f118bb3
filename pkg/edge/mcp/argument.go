package mcp

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"svc/pkg/base/codec"
)

// hostArgument reports whether an argument comes from the host, the program between the
// model and the server. Hosts add arguments with such names. No tool, prompt or event has
// one.
func hostArgument(name string) bool { return name == "toolCallId" || strings.HasPrefix(name, "_") }

// unquoted returns the arguments of a call as a JSON object. Some clients send the object as
// a JSON string; unquoted decodes the string.
func unquoted(raw json.RawMessage) json.RawMessage {
	if inner := literal(raw); inner.Kind() == '{' {
		return json.RawMessage(inner)
	}
	return raw
}

// literal returns the JSON value that the JSON string value contains, or nil. White space
// around the contained value is allowed for objects and arrays only, so an amount has JSON's
// syntax of numbers.
func literal(value json.RawMessage) jsontext.Value {
	var text string
	if len(value) == 0 || value[0] != '"' || json.Unmarshal(value, &text) != nil {
		return nil
	}
	inner := jsontext.Value(strings.TrimSpace(text))
	if kind := inner.Kind(); !inner.IsValid(jsontext.AllowDuplicateNames(true)) || kind == '"' ||
		kind != '{' && kind != '[' && len(inner) != len(text) {
		return nil
	}
	return inner
}

// asDeclared returns the value with each text replaced by the JSON value that it
// contains, where the schema allows that value and no text. Some models and clients write
// numbers, booleans and objects as texts.
func asDeclared(schema any, value json.RawMessage) json.RawMessage {
	s, _ := schema.(map[string]any)
	switch types := typesOf(s); {
	case s == nil || len(value) == 0:
	case value[0] == '"' && !slices.Contains(types, "string"):
		if inner := literal(value); inner != nil && slices.ContainsFunc(types, func(one string) bool {
			return slices.Contains(kinds[one], inner.Kind())
		}) {
			return asDeclared(schema, json.RawMessage(inner))
		}
	case value[0] == '{':
		return membersAsDeclared(s, value)
	case value[0] == '[':
		return elementsAsDeclared(s, value)
	}
	return value
}

// kinds has, for each type that a schema can name, the kinds of JSON tokens of its values.
var kinds = map[string][]jsontext.Kind{"number": {'0'}, "integer": {'0'}, "boolean": {'t', 'f'}, "object": {'{'},
	"array": {'['}, "null": {'n'}}

// typesOf returns the types that the schema s allows, "string" if s names none.
func typesOf(s map[string]any) (types []string) {
	if one, ok := s["type"].(string); ok {
		return []string{one}
	}
	for _, branch := range branches(s) {
		types = append(types, typesOf(branch)...)
	}
	if types == nil {
		types = []string{"string"}
	}
	return types
}

// branches returns the schemas in anyOf and oneOf of the schema s.
func branches(s map[string]any) (out []map[string]any) {
	for _, word := range []string{"anyOf", "oneOf"} {
		list, _ := s[word].([]any)
		for _, one := range list {
			if branch, ok := one.(map[string]any); ok {
				out = append(out, branch)
			}
		}
	}
	return out
}

// branchOf returns the schema s if it has the type kind, else its only branch of that
// type. If there is no such branch, or if there are several, it returns an empty schema.
func branchOf(s map[string]any, kind string) map[string]any {
	if s["type"] == kind {
		return s
	}
	some := slices.DeleteFunc(branches(s), func(b map[string]any) bool { return b["type"] != kind })
	if len(some) == 1 {
		return some[0]
	}
	return map[string]any{}
}

// membersAsDeclared is asDeclared for the members of the JSON object value.
func membersAsDeclared(s map[string]any, value json.RawMessage) json.RawMessage {
	properties, _ := branchOf(s, "object")["properties"].(map[string]any)
	var members []byte
	changed := false
	err := codec.Members(value, func(name string, member jsontext.Value) {
		now := asDeclared(properties[name], json.RawMessage(member))
		changed = changed || !bytes.Equal(now, member)
		members = appendMember(members, argument{name, now})
	})
	if err != nil || !changed {
		return value
	}
	return append(append([]byte("{"), members...), '}')
}

// elementsAsDeclared is asDeclared for the elements of the JSON array value.
func elementsAsDeclared(s map[string]any, value json.RawMessage) json.RawMessage {
	var elements []json.RawMessage
	items, known := branchOf(s, "array")["items"]
	if !known || json.Unmarshal(value, &elements) != nil {
		return value
	}
	changed := false
	for i, one := range elements {
		elements[i] = asDeclared(items, one)
		changed = changed || !bytes.Equal(elements[i], one)
	}
	if !changed {
		return value
	}
	return append(append([]byte("["), bytes.Join(rawBytes(elements), []byte(","))...), ']')
}

// rawBytes converts the elements for bytes.Join.
func rawBytes(all []json.RawMessage) [][]byte {
	out := make([][]byte, len(all))
	for i, one := range all {
		out[i] = one
	}
	return out
}

// withoutHost removes the arguments that a host added.
func withoutHost(all map[string]json.RawMessage) map[string]json.RawMessage {
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool { return hostArgument(name) })
	return all
}
