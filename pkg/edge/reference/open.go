package reference

import (
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Open makes the document the one to publish: a response and a message to a webhook
// may have members that it does not declare, because later versions add some. What a
// request may have stays closed. A schema of both becomes two, and that of the
// requests has the suffix Input.
func Open(doc *huma.OpenAPI) {
	schemas := doc.Components.Schemas
	requests, answers := bodies(doc)
	asked, answered := reached(schemas, requests), reached(schemas, answers)
	twice := map[string]string{} // the reference for requests, by that of both
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

func isClosed(s *huma.Schema) bool { return s.AdditionalProperties == false }

// clone copies a schema with the schemas that stand in it.
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

// bodies returns the schemas of the requests and those of what is sent.
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

// reached returns the schemas that the schemas contain or refer to, and themselves.
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
