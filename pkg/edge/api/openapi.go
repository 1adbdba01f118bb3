package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/base/fault"
	"svc/pkg/base/money"
)

// Version is the version of the API description and of the MCP server.
const Version = "1.1.0"

// newHuma returns the huma API with the frame of the OpenAPI document. huma binds and
// validates input (github.com/danielgtaylor/huma).
func newHuma(a huma.Adapter, baseURL string) huma.API {
	registry := huma.NewMapRegistry("#/components/schemas/", schemaName)
	registry.RegisterTypeAlias(reflect.TypeFor[json.Number](), reflect.TypeFor[float64]())
	registry.RegisterTypeAlias(reflect.TypeFor[money.Amount](), reflect.TypeFor[float64]())
	return huma.NewAPI(huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{Title: "svc: multi-tenant mobility and delivery API", Version: Version,
				Description: "For operators, riders and drivers of ride-hailing and delivery fleets, " +
					"and for programs that act for them. Every token is bound to one tenant.",
				Contact: &huma.Contact{Name: "The operator of this service", URL: baseURL},
				License: &huma.License{Name: "Apache License 2.0", Identifier: "Apache-2.0"}},
			Servers: []*huma.Server{{URL: baseURL, Description: "This service."}},
			Components: &huma.Components{Schemas: registry, SecuritySchemes: map[string]*huma.SecurityScheme{
				"oauth": {Type: "oauth2", Flows: &huma.OAuthFlows{AuthorizationCode: &huma.OAuthFlow{
					AuthorizationURL: baseURL + "/oauth/authorize", TokenURL: baseURL + "/oauth/token",
					RefreshURL: baseURL + "/oauth/token", Scopes: map[string]string{}},
					ClientCredentials: &huma.OAuthFlow{TokenURL: baseURL + "/oauth/token", Scopes: map[string]string{}}}}}},
		},
		Formats:       map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat: "application/json",
	}, a)
}

// schemaName names a schema after its type, without its package: Trip, PageTrip.
func schemaName(t reflect.Type, hint string) string {
	if t == reflect.TypeFor[fault.Detail]() {
		return "Fault"
	}
	if t == reflect.TypeFor[ErrorBody]() {
		return "ErrorBody"
	}
	name := huma.DefaultSchemaNamer(t, hint)
	return strings.NewReplacer("Svc", "", "Pkg", "").Replace(name)
}

// OpenAPI returns the OpenAPI document of the server's endpoints.
func (s *Server) OpenAPI() *huma.OpenAPI {
	doc := s.huma.OpenAPI()
	schemas := doc.Components.Schemas.Map()
	delete(schemas, "Complaint") // huma's own error model, which is never sent
	for _, object := range schemas {
		for _, member := range object.Properties {
			if member.Nullable && member.Enum != nil && !slices.Contains(member.Enum, nil) {
				member.Enum = append(slices.Clone(member.Enum), nil) // an enum without null would forbid null
			}
		}
	}
	return doc
}

// describe returns the OpenAPI operation of the endpoint, with its error responses.
func (r Row) describe() huma.Operation {
	op := huma.Operation{Method: r.Method, Path: r.Path, OperationID: r.ID, Summary: r.Summary, Description: r.Text,
		DefaultStatus: r.Status, MaxBodyBytes: int64(r.maxBody) + 1, Responses: map[string]*huma.Response{}}
	if r.Tag != "" {
		op.Tags = []string{r.Tag}
	}
	if op.Deprecated = !r.deprecated.IsZero(); op.Deprecated {
		op.Description += "\n\nDeprecated. It works until " + r.sunset.UTC().Format(time.DateOnly) + " at least."
	}
	for _, status := range r.statuses() {
		op.Responses[strconv.Itoa(status)] = &huma.Response{Ref: "#/components/responses/" + responseName(status)}
	}
	var scopes []string
	policy := map[string]any{}
	for audience, scope := range r.Policy.Scopes {
		policy[string(audience)] = scope
		if scope != "" {
			scopes = append(scopes, scope)
		}
	}
	slices.Sort(scopes)
	if len(scopes) < len(r.Policy.Scopes) { // one audience needs no scope: any of its tokens is valid
		op.Security = []map[string][]string{{"oauth": {}}}
	}
	for _, scope := range scopes { // any one of the scopes is enough
		op.Security = append(op.Security, map[string][]string{"oauth": {scope}})
	}
	extension := map[string]any{"audiences": policy}
	if r.Policy.Permission != "" {
		extension["permission"] = r.Policy.Permission
	}
	if r.Policy.Feature != "" {
		extension["feature"] = r.Policy.Feature
	}
	op.Extensions = map[string]any{"x-policy": extension}
	if r.Extension {
		op.Extensions["x-extension"] = true
	}
	if r.Method == http.MethodPost {
		op.Parameters = append(op.Parameters, &huma.Param{Name: idempotencyKey, In: "header",
			Description: "To repeat a request safely, send it with the same key within 24 hours. If the first request " +
				"succeeded, or got a 404 or 409, the repeat changes nothing and gets the same response. " +
				"A value with a comma must be in double quotes.",
			Schema: &huma.Schema{Type: huma.TypeString, MinLength: new(1), MaxLength: new(255), Pattern: idempotencyPattern}})
	}
	if r.matches() {
		op.Parameters = append(op.Parameters, &huma.Param{Name: ifMatch, In: "header",
			Description: "The `ETag` of the state that the caller has read. If the resource has changed since, nothing is " +
				"changed, and the response is a 412.", Schema: &huma.Schema{Type: huma.TypeString}})
	}
	if r.Versioned {
		op.Responses[strconv.Itoa(r.Status)] = &huma.Response{Headers: map[string]*huma.Param{"ETag": {
			Description: "Names the state of the resource, for `If-Match`.", Schema: &huma.Schema{Type: huma.TypeString}}}}
	}
	r.describeForms(&op)
	return op
}

// statuses returns the status codes of the endpoint's error responses.
func (r Row) statuses() []int {
	out := []int{400, 401, 403, 404, 429, 431, 500, 503}
	if r.Method != http.MethodGet || r.Conflicts {
		out = append(out, 409)
	}
	if r.Expires {
		out = append(out, 410)
	}
	if r.Method != http.MethodGet {
		out = append(out, 413, 415)
	}
	if r.Method == http.MethodPost {
		out = append(out, 422)
	}
	if r.matches() {
		out = append(out, 412)
	}
	return out
}

// responseName returns the name of an error response in the document, such as NotFound.
func responseName(status int) string { return strings.ReplaceAll(http.StatusText(status), " ", "") }
