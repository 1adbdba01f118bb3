package reference

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/edge/api"
)

// schemaPrefix begins a reference to a schema of the document.
const schemaPrefix = "#/components/schemas/"

// Document returns the OpenAPI 3.1 document of the API's endpoints, which the rows declare,
// and of the OAuth endpoints. phrase returns the consent page's text for a scope.
func Document(baseURL string, phrase func(scope string) string, rows ...api.Row) (*huma.OpenAPI, error) {
	s, err := api.New(api.Config{BaseURL: baseURL}, rows...)
	if err != nil {
		return nil, err
	}
	doc := s.OpenAPI()
	flows := doc.Components.SecuritySchemes["oauth"].Flows
	for _, audience := range authz.Audiences {
		for _, scope := range authz.Scopes(audience) {
			flows.AuthorizationCode.Scopes[scope] = meaning(scope, phrase(scope))
			if rule, _ := authz.FindRule(scope); rule.Audience == authz.Dashboard { // those of machines
				flows.ClientCredentials.Scopes[scope] = meaning(scope, phrase(scope))
			}
		}
	}
	errorSchema := doc.Components.Schemas.Schema(reflect.TypeFor[api.ErrorBody](), true, "ErrorBody")
	code := doc.Components.Schemas.SchemaFromRef(errorSchema.Ref).Properties["error"]
	for _, word := range fault.Codes() {
		code.Enum = append(code.Enum, word)
	}
	fixed, err := readFixed()
	if err != nil {
		return nil, err
	}
	doc.Components.Responses = fixed.Components.Responses
	for _, path := range doc.Paths {
		for _, op := range Operations(path) {
			finish(op)
		}
	}
	for _, s := range doc.Components.Schemas.Map() {
		markExtensions(s)
	}
	describeBodies(doc)
	if err := describeWebhooks(doc, rows); err != nil {
		return nil, err
	}
	maps.Copy(doc.Paths, fixed.Paths)
	maps.Copy(doc.Components.Schemas.Map(), fixed.Components.Schemas)
	maps.Copy(doc.Components.SecuritySchemes, fixed.Components.SecuritySchemes)
	doc.Tags = tags(doc, fixed.Tags)
	return doc, nil
}

// finish adds descriptions and headers to the success responses of an operation.
func finish(op *huma.Operation) {
	for status, response := range op.Responses {
		if response.Ref != "" || !strings.HasPrefix(status, "2") {
			continue
		}
		response.Description = "Done."
		if response.Headers == nil {
			response.Headers = map[string]*huma.Param{}
		}
		response.Headers["X-Request-Id"] = requestID
		if op.Method == http.MethodPost {
			response.Headers["Idempotent-Replayed"] = &huma.Param{
				Description: "`true` if this is the stored response to an earlier request with this key.",
				Schema:      &huma.Schema{Type: huma.TypeString, Enum: []any{"true"}}}
		}
	}
}

// requestID describes the header X-Request-Id of a response.
var requestID = &huma.Param{Description: "Id of the request: the caller's X-Request-Id if it has 1 to 128 letters, " +
	"digits and ._:=+/-, else a new id.",
	Schema: &huma.Schema{Type: huma.TypeString}}

// extension is the last sentence in the description of a member that the specification
// does not have.
const extension = "An extension of the specification."

// markExtensions marks the members of the schema that the specification does not have.
func markExtensions(s *huma.Schema) {
	for _, member := range s.Properties {
		if strings.HasSuffix(member.Description, extension) {
			member.Extensions = map[string]any{"x-extension": true}
		}
	}
}

// meaning returns the description of a scope: the consent page's phrase as a
// sentence, and what the scope needs.
func meaning(scope, phrase string) string {
	sentence := strings.ToUpper(phrase[:1]) + phrase[1:] + "."
	rule, _ := authz.FindRule(scope)
	switch {
	case len(rule.Permissions) > 0:
		return sentence + " Needs the permission " + strings.Join(rule.Permissions, " or ") + "."
	case rule.Feature != "":
		return sentence + " Needs the tenant's feature " + rule.Feature + "."
	}
	return sentence
}

// Operations returns the operations of a path.
func Operations(path *huma.PathItem) []*huma.Operation {
	var out []*huma.Operation
	for _, op := range []*huma.Operation{path.Get, path.Post, path.Put, path.Patch, path.Delete} {
		if op != nil {
			out = append(out, op)
		}
	}
	return out
}

// tags returns the groups of the document's operations: those of known in their order,
// then the others by name.
func tags(doc *huma.OpenAPI, known []*huma.Tag) []*huma.Tag {
	used := map[string]bool{}
	for _, path := range doc.Paths {
		for _, op := range Operations(path) {
			for _, name := range op.Tags {
				used[name] = true
			}
		}
	}
	var out []*huma.Tag
	for _, one := range known {
		if used[one.Name] {
			out = append(out, one)
			delete(used, one.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		out = append(out, &huma.Tag{Name: name})
	}
	return out
}
