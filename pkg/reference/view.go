package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// entry is one operation on the reference page.
type entry struct {
	Method, Path, ID, Summary, Text string
	Scopes                          []string
	Permission, Feature             string
	Parameters                      []parameter
	Fields                          []parameter
	Answers                         []string // status codes
	Example                         string
}

type parameter struct{ Name, In, Type, Text string }

type section struct {
	Name, Text string
	Entries    []entry
}

type content struct {
	Title, Version, Text string
	Sections             []section
}

func view(doc *huma.OpenAPI) content {
	byTag := map[string][]entry{}
	for _, path := range doc.Paths {
		for _, op := range operations(path) {
			tag := "Other"
			if len(op.Tags) > 0 {
				tag = op.Tags[0]
			}
			byTag[tag] = append(byTag[tag], describe(doc, op))
		}
	}
	out := content{Title: doc.Info.Title, Version: doc.Info.Version, Text: doc.Info.Description}
	for _, tag := range doc.Tags {
		entries := byTag[tag.Name]
		slices.SortFunc(entries, func(a, b entry) int {
			return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(slices.Index(methods, a.Method), slices.Index(methods, b.Method)))
		})
		out.Sections = append(out.Sections, section{tag.Name, tag.Description, entries})
	}
	return out
}

// methods are in the order in which one reads of them.
var methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}

// prose is a text as HTML: what stands between backticks is code.
func prose(text string) template.HTML {
	var out strings.Builder
	for i, part := range strings.Split(text, "`") {
		part = template.HTMLEscapeString(part)
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		out.WriteString(part)
	}
	return template.HTML(out.String()) //nolint:gosec // every part is escaped
}

func describe(doc *huma.OpenAPI, op *huma.Operation) entry {
	e := entry{Method: op.Method, Path: op.Path, ID: op.OperationID, Summary: op.Summary, Text: op.Description}
	for _, s := range op.Security {
		for _, scopes := range s {
			e.Scopes = append(e.Scopes, scopes...)
		}
	}
	if policy, ok := op.Extensions["x-policy"].(map[string]any); ok {
		e.Permission, _ = policy["permission"].(string)
		e.Feature, _ = policy["feature"].(string)
	}
	e.Answers = slices.Sorted(maps.Keys(op.Responses))
	for _, p := range op.Parameters {
		e.Parameters = append(e.Parameters, parameter{p.Name, p.In, kind(p.Schema), p.Description})
	}
	if op.RequestBody != nil {
		for _, media := range op.RequestBody.Content {
			e.Fields = fields(doc, media.Schema)
		}
	}
	if media := success(op); media != nil && media.Example != nil {
		if text, err := json.MarshalIndent(media.Example, "", "  "); err == nil {
			e.Example = string(text)
		}
	}
	return e
}

func fields(doc *huma.OpenAPI, s *huma.Schema) []parameter {
	if s.Ref != "" {
		s = doc.Components.Schemas.SchemaFromRef(s.Ref)
	}
	var out []parameter
	for name, property := range s.Properties {
		need := "optional"
		if slices.Contains(s.Required, name) {
			need = "required"
		}
		out = append(out, parameter{name, need, kind(property), property.Description})
	}
	slices.SortFunc(out, func(a, b parameter) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func kind(s *huma.Schema) string {
	switch {
	case s == nil:
		return ""
	case len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			words[i] = fmt.Sprint(v)
		}
		return strings.Join(words, " | ")
	case s.Type == huma.TypeArray:
		return "array of " + kind(s.Items)
	case s.Format != "" && s.Type == huma.TypeString:
		return s.Type + ", " + s.Format
	}
	out := s.Type
	if s.Minimum != nil && s.Maximum != nil {
		out += fmt.Sprintf(", %v to %v", *s.Minimum, *s.Maximum)
	}
	if s.Default != nil {
		out += fmt.Sprintf(", default %v", s.Default)
	}
	return out
}
