package repository_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/edge/reference"
)

// example has the bodies of a recorded request and of its response. Request is
// nil for a request without a body.
type example struct{ Request, Response json.RawMessage }

// openAPI encodes the document with the examples, which are by operation id, and
// with the names that schemaNames gives the schemas. It returns an error for an
// example of an operation whose success response has no body.
func openAPI(doc *huma.OpenAPI, examples map[string]example) ([]byte, error) {
	for _, path := range doc.Paths {
		for _, op := range reference.Operations(path) {
			example, ok := examples[op.OperationID]
			if !ok {
				continue
			}
			media := successMedia(op)
			if media == nil {
				return nil, fmt.Errorf("%s has an example but its success response has no body", op.OperationID)
			}
			media.Example = example.Response
			if op.RequestBody != nil && example.Request != nil {
				op.RequestBody.Content["application/json"].Example = example.Request
			}
		}
	}
	bodies := takeExamples(doc)
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", err)
	}
	pruneSchemas(tree)
	renameSchemas(tree)
	if err := nameEnums(tree); err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", err)
	}
	splitStatusInput(tree)
	fillParameters(tree["paths"])
	placeExamples(tree, bodies)
	return json.MarshalIndent(tree, "", "  ")
}

// takeExamples replaces the examples of bodies in the document by names, and
// returns the examples by name.
func takeExamples(doc *huma.OpenAPI) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	take := func(content map[string]*huma.MediaType) {
		for _, media := range content {
			if example, ok := media.Example.(json.RawMessage); ok {
				name := fmt.Sprintf("example %d", len(out))
				out[name], media.Example = example, name
			}
		}
	}
	for _, path := range slices.Concat(slices.Collect(maps.Values(doc.Paths)), slices.Collect(maps.Values(doc.Webhooks))) {
		for _, op := range reference.Operations(path) {
			if op.RequestBody != nil {
				take(op.RequestBody.Content)
			}
			for _, response := range op.Responses {
				take(response.Content)
			}
		}
	}
	return out
}

// placeExamples puts the examples back. So their members keep their order, which the
// maps of the tree would sort.
func placeExamples(node any, bodies map[string]json.RawMessage) {
	switch n := node.(type) {
	case map[string]any:
		for key, child := range n {
			if name, ok := child.(string); ok && key == "example" && bodies[name] != nil {
				n[key] = bodies[name]
				continue
			}
			placeExamples(child, bodies)
		}
	case []any:
		for _, child := range n {
			placeExamples(child, bodies)
		}
	}
}

// splitStatusInput describes an object that has exactly one of two members by one schema
// for each member.
func splitStatusInput(tree map[string]any) {
	components, _ := tree["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	whole, _ := schemas["DriverStatusInput"].(map[string]any)
	properties, _ := whole["properties"].(map[string]any)
	var choices []any
	for member, name := range map[string]string{"online": "DriverOnlineInput", "status": "DriverStateInput"} {
		if properties[member] == nil {
			return // a document of other rows
		}
		schemas[name] = map[string]any{"type": "object", "additionalProperties": false, "required": []any{member},
			"properties": map[string]any{member: properties[member]}}
		choices = append(choices, map[string]any{"$ref": schemaPrefix + name})
	}
	slices.SortFunc(choices, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	schemas["DriverStatusInput"] = map[string]any{"oneOf": choices}
}

// fillParameters gives parameters values with which a request works, for programs that
// fill in every parameter of a request: the first page, any state, and the value of a
// parameter that has only one. They know enum, and not const.
func fillParameters(paths any) {
	visit("", paths, func(_ string, n map[string]any) {
		schema, _ := n["schema"].(map[string]any)
		if n["in"] == "query" && schema["const"] != nil {
			schema["enum"] = []any{schema["const"]}
			delete(schema, "const")
		}
		switch n["name"] {
		case "cursor":
			schema["default"] = ""
		case "If-Match":
			schema["default"] = "*"
		}
	})
}

// pruneSchemas removes members that huma writes and JSON Schema does not define, and
// replaces our own format of a time: a client sends the standard's form of it.
func pruneSchemas(node any) {
	switch n := node.(type) {
	case map[string]any:
		delete(n, "patternDescription")
		if n["format"] == "iso8601" {
			n["format"] = "date-time"
		}
		for _, child := range n {
			pruneSchemas(child)
		}
	case []any:
		for _, child := range n {
			pruneSchemas(child)
		}
	}
}

func successMedia(op *huma.Operation) *huma.MediaType {
	for _, status := range []int{http.StatusOK, http.StatusCreated} {
		if r := op.Responses[strconv.Itoa(status)]; r != nil && r.Content != nil {
			return cmp.Or(r.Content["application/json"], r.Content["text/event-stream"])
		}
	}
	return nil
}
