package reference

import (
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/edge/api"
)

// describeBodies documents which texts a request may contain. It also documents
// that an optional member of a POST body may be null, which counts as absent
// (docs/requests.md).
func describeBodies(doc *huma.OpenAPI) {
	for _, path := range doc.Paths {
		for _, op := range Operations(path) {
			if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
				continue
			}
			body := op.RequestBody.Content["application/json"].Schema
			describeTexts(doc, body)
			if op.Method == http.MethodPost {
				optionalOrNull(doc, body)
			} else {
				nullableEnums(doc, body)
			}
		}
	}
}

// optionalOrNull lets every optional member of an object be null, also in the
// object of an optional member.
func optionalOrNull(doc *huma.OpenAPI, s *huma.Schema) {
	if s.Ref != "" {
		s = doc.Components.Schemas.SchemaFromRef(s.Ref)
	}
	for name, member := range s.Properties {
		switch {
		case slices.Contains(s.Required, name) || member.OneOf != nil:
		case member.Ref != "":
			optionalOrNull(doc, member)
			s.Properties[name] = &huma.Schema{Description: member.Description,
				OneOf: []*huma.Schema{{Ref: member.Ref}, {Type: "null"}}}
		case member.Enum != nil:
			s.Properties[name] = enumOrNull(member)
		case !member.Nullable:
			member.Nullable = true
		}
	}
}

// nullableEnums describes each enumeration of an object that may be null, also in the
// objects in it. An enum without null would forbid null.
func nullableEnums(doc *huma.OpenAPI, s *huma.Schema) {
	if s.Ref != "" {
		s = doc.Components.Schemas.SchemaFromRef(s.Ref)
	}
	for name, member := range s.Properties {
		if member.Nullable && member.Enum != nil {
			s.Properties[name] = enumOrNull(member)
		} else {
			nullableEnums(doc, member)
		}
	}
}

// enumOrNull returns the schema of an enumeration or null. If null were one of the
// values, generators of clients would make it a constant.
func enumOrNull(s *huma.Schema) *huma.Schema {
	values := &huma.Schema{Type: s.Type,
		Enum: slices.DeleteFunc(slices.Clone(s.Enum), func(v any) bool { return v == nil })}
	return &huma.Schema{Description: s.Description, Default: s.Default, Examples: s.Examples,
		OneOf: []*huma.Schema{values, {Type: "null"}}}
}

// describeTexts adds the pattern of allowed texts (api.DocumentText) to the members of an
// object, and to the members of the objects in it.
func describeTexts(doc *huma.OpenAPI, s *huma.Schema) {
	if s.Ref != "" {
		s = doc.Components.Schemas.SchemaFromRef(s.Ref)
	}
	for _, member := range s.Properties {
		api.DocumentText(member)
		describeTexts(doc, member)
	}
}
