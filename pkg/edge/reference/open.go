package reference

import (
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Open prepares the document for publication. A response and a message to a webhook may
// have members that the document does not declare, because later versions add some. The
// members of a request are all declared. If requests and responses share a schema, Open
// divides it into two; the one for requests gets the suffix Input.
func Open(doc *huma.OpenAPI) {
	schemas := doc.Components.Schemas
	requests, answers := bodies(doc)
	asked, answered := reached(schemas, requests), reached(schemas, answers)
	twice := map[string]string{} // the new reference for requests, by the shared reference
	for name, s := range schemas.Map() {
		if asked[s] && answered[s] && isClosed(s) {
			twice[schemaPrefix+name] = schemaPrefix + name + "Input"
		}
	}
	for from, to := range twice {
		closed := clone(schemas.SchemaFromRef(from))
		schemas.Map()[strings.TrimPrefix(to, schemaPrefix)] = closed
		requests = append(requests, closed)
	}
	for s := range reached(schemas, answers) {
		if isClosed(s) {
			s.AdditionalProperties = nil
		}
	}
	for s := range reached(schemas, requests) {
		if !answered[s] && twice[s.Ref] != "" {
			s.Ref = twice[s.Ref]
		}
	}
}

// isClosed reports whether the schema allows no undeclared members.
func isClosed(s *huma.Schema) bool { return s.AdditionalProperties == false }

// clone copies a schema and the schemas inside it.
func clone(s *huma.Schema) *huma.Schema {
	if s == nil {
		return nil
	}
	out := *s
	out.Items, out.Not = clone(s.Items), clone(s.Not)
	out.Properties = maps.Clone(s.Properties)
	for name, member := range out.Properties {
		out.Properties[name] = clone(member)
	}
	for _, list := range []*[]*huma.Schema{&out.OneOf, &out.AnyOf, &out.AllOf} {
		*list = slices.Clone(*list)
		for i, one := range *list {
			(*list)[i] = clone(one)
		}
	}
	return &out
}

// bodies returns the schemas of what clients send (requests), and of what the service
// sends (answers): responses, and messages to webhooks.
func bodies(doc *huma.OpenAPI) (requests, answers []*huma.Schema) {
	take := func(into *[]*huma.Schema, content map[string]*huma.MediaType) {
		for _, media := range content {
			*into = append(*into, media.Schema)
		}
	}
	for _, response := range doc.Components.Responses {
		take(&answers, response.Content)
	}
	for of, paths := range map[bool]map[string]*huma.PathItem{false: doc.Paths, true: doc.Webhooks} {
		for _, path := range paths {
			for _, op := range Operations(path) {
				if op.RequestBody != nil && of {
					take(&answers, op.RequestBody.Content)
				} else if op.RequestBody != nil {
					take(&requests, op.RequestBody.Content)
				}
				for _, response := range op.Responses {
					take(&answers, response.Content)
				}
			}
		}
	}
	return requests, answers
}

// reached returns the given schemas and all that they contain or refer to.
func reached(schemas huma.Registry, from []*huma.Schema) map[*huma.Schema]bool {
	out := map[*huma.Schema]bool{}
	var visit func(s *huma.Schema)
	visit = func(s *huma.Schema) {
		if s == nil || out[s] {
			return
		}
		out[s] = true
		if s.Ref != "" {
			visit(schemas.SchemaFromRef(s.Ref))
		}
		if member, ok := s.AdditionalProperties.(*huma.Schema); ok {
			visit(member)
		}
		visit(s.Items)
		visit(s.Not)
		for _, list := range [][]*huma.Schema{s.OneOf, s.AnyOf, s.AllOf, slices.Collect(maps.Values(s.Properties))} {
			for _, one := range list {
				visit(one)
			}
		}
	}
	for _, s := range from {
		visit(s)
	}
	return out
}
