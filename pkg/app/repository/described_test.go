package repository_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"svc/internal/test/testkit"
)

// TestDocumentIsDescribed: every field, parameter and scope of the document has
// a description, every operation a summary and a description, and every request
// body and path parameter an example.
func TestDocumentIsDescribed(t *testing.T) {
	var doc struct {
		Paths      map[string]map[string]operation
		Components struct {
			Schemas         map[string]schema
			SecuritySchemes map[string]struct {
				Flows struct {
					AuthorizationCode struct{ Scopes map[string]string }
				}
			}
		}
	}
	testkit.Must(t, json.Unmarshal(documents(t, canonical)[documentFile], &doc))
	var missing []string
	for name, s := range doc.Components.Schemas {
		missing = append(missing, s.undescribed(name)...)
	}
	scopes := doc.Components.SecuritySchemes["oauth"].Flows.AuthorizationCode.Scopes
	for scope, text := range scopes {
		if len(strings.Fields(text)) < 2 || strings.HasPrefix(strings.ToLower(text), scope) {
			missing = append(missing, "the phrase of "+scope+" (pkg/domain/page/languages)")
		}
	}
	operations := 0
	for path, methods := range doc.Paths {
		for method, op := range methods {
			operations++
			missing = append(missing, op.undescribed(strings.ToUpper(method)+" "+path)...)
		}
	}
	if slices.Sort(missing); len(missing) > 0 {
		t.Errorf("the document lacks:\n%s", strings.Join(missing, "\n"))
	}
	if operations < 50 || len(scopes) < 40 || len(doc.Components.Schemas) < 60 {
		t.Errorf("only %d operations, %d scopes and %d schemas were looked at", operations, len(scopes),
			len(doc.Components.Schemas))
	}
}

// schema has the members of a schema that the test reads.
type schema struct {
	Description string
	Properties  map[string]schema
	Items       *schema
	OneOf       []schema
	AnyOf       []schema
}

// undescribed returns the properties without a description, at any depth.
func (s schema) undescribed(at string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		if property.Description == "" {
			out = append(out, "a description of "+at+"."+name)
		}
		out = append(out, property.undescribed(at+"."+name)...)
	}
	if s.Items != nil {
		out = append(out, s.Items.undescribed(at+"[]")...)
	}
	for i, one := range slices.Concat(s.OneOf, s.AnyOf) {
		out = append(out, one.undescribed(fmt.Sprintf("%s|%d", at, i))...)
	}
	return out
}

// operation has the members of an operation that the test reads.
type operation struct {
	Summary, Description string
	Parameters           []struct {
		Name, In, Description string
		Schema                struct{ Examples []any }
	}
	RequestBody struct {
		Content map[string]struct {
			Schema  schema
			Example any
		}
	}
	Responses map[string]struct {
		Content map[string]struct{ Schema schema }
	}
}

func (o operation) undescribed(at string) []string {
	var out []string
	if o.Summary == "" || o.Description == "" {
		out = append(out, "a summary and a description of "+at)
	}
	for _, p := range o.Parameters {
		if p.Description == "" {
			out = append(out, "a description of "+p.Name+" of "+at)
		}
		if p.In == "path" && p.Schema.Examples == nil {
			out = append(out, "an example of "+p.Name+" of "+at)
		}
	}
	for kind, media := range o.RequestBody.Content {
		if media.Example == nil {
			out = append(out, "an example of the request of "+at)
		}
		out = append(out, media.Schema.undescribed(at+" "+kind)...)
	}
	for status, response := range o.Responses {
		for _, media := range response.Content {
			out = append(out, media.Schema.undescribed(at+" "+status)...)
		}
	}
	return out
}
