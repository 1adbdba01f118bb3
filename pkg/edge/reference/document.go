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

const schemaPrefix = "#/components/schemas/"

// Document returns the OpenAPI 3.1 document of the rows and of the OAuth
// endpoints. phrase returns the consent page's text for a scope.
func Document(baseURL string, phrase func(scope string) string, rows ...api.Row) (*huma.OpenAPI, error) {
	s, err := api.New(api.Config{BaseURL: baseURL}, rows...)
	if err != nil {
		return nil, err
	}
	doc := s.OpenAPI()
	scopes := doc.Components.SecuritySchemes["oauth"].Flows.AuthorizationCode.Scopes
	for _, audience := range authz.Audiences {
		for _, scope := range authz.Scopes(audience) {
			scopes[scope] = meaning(scope, phrase(scope))
		}
	}
	errorSchema := doc.Components.Schemas.Schema(reflect.TypeFor[api.ErrorBody](), true, "ErrorBody")
	code := doc.Components.Schemas.SchemaFromRef(errorSchema.Ref).Properties["error"]
	for _, word := range fault.Codes() {
		code.Enum = append(code.Enum, word)
	}
	doc.Components.Responses = map[string]*huma.Response{}
	for _, status := range []int{400, 401, 403, 404, 409, 412, 413, 415, 422, 429, 431, 500, 503} {
		doc.Components.Responses[strings.ReplaceAll(http.StatusText(status), " ", "")] = &huma.Response{
			Description: errorText[status], Headers: errorHeaders(status),
			Content: map[string]*huma.MediaType{"application/json": {Schema: errorSchema}}}
	}
	gateways := doc.Components.Responses["RequestHeaderFieldsTooLarge"]
	gateways.Content["application/json"].Schema = &huma.Schema{Ref: schemaPrefix + "GatewayError"}
	gateways.Headers = nil
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
	if err := describeOAuth(doc); err != nil {
		return nil, err
	}
	doc.Tags = tags(doc)
	return doc, nil
}

// finish adds the description and the headers of success responses.
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

var requestID = &huma.Param{Description: "Id of the request: the caller's X-Request-Id if it has 1 to 128 letters, " +
	"digits and ._:=+/-, else a new id.",
	Schema: &huma.Schema{Type: huma.TypeString}}

var errorText = map[int]string{
	400: "The request is not valid. `details` lists the faults that were found.",
	401: "The token is missing, invalid or revoked, or its person, client or tenant is disabled.",
	403: "The token lacks the scope, the operator lacks the permission, or the tenant has the feature switched off.",
	404: "There is no such resource in this tenant.",
	409: "The resource's state does not allow the action.",
	412: "The resource has changed since the ETag in If-Match was read.",
	413: "The body is larger than 64 KiB. Above 10 MB, the gateway responds itself, with the body `{\"message\": …}`.",
	415: "The body is not application/json, or has a content coding.",
	422: "The Idempotency-Key was used for another request.",
	431: "The request line and headers exceed 10,240 bytes. The gateway responds itself: `{\"message\": …}`.",
	429: "Too many requests. At its own limits, the gateway responds itself, with the body `{\"message\": …}`.",
	500: "The service failed.",
	503: "The service is busy and changed nothing (`temporarily_unavailable`), or a change may or may not have been " +
		"made (`outcome_unknown`).",
}

func errorHeaders(status int) map[string]*huma.Param {
	headers := map[string]*huma.Param{"X-Request-Id": requestID}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		headers["WWW-Authenticate"] = &huma.Param{Description: "How to get a token that is accepted (RFC 6750 section 3).",
			Schema: &huma.Schema{Type: huma.TypeString}}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		headers["Retry-After"] = &huma.Param{Description: "Seconds to wait.", Schema: &huma.Schema{Type: huma.TypeInteger}}
	}
	return headers
}

// extension ends the description of a member that the specification does not have.
const extension = "An extension of the specification."

// markExtensions marks the members of a specified schema that are extensions.
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

// tags returns the groups of operations, in the order of the reference page.
func tags(doc *huma.OpenAPI) []*huma.Tag {
	used := map[string]bool{}
	for _, path := range doc.Paths {
		for _, op := range Operations(path) {
			for _, name := range op.Tags {
				used[name] = true
			}
		}
	}
	var out []*huma.Tag
	for _, one := range []huma.Tag{
		{Name: "Me", Description: "The signed-in person: profile, addresses, payment methods, orders and a driver's status."},
		{Name: "Trips", Description: "Operators see the tenant's trips. Riders and drivers see and change their own trips."},
		{Name: "Trip operations", Description: "Operators book trips and change them for riders and drivers."},
		{Name: "Dispatch", Description: "Drivers report where they are, so that trips can be offered to them."},
		{Name: "Fares", Description: "What a ride would cost."},
		{Name: "Drivers", Description: "The tenant's drivers."},
		{Name: "Customers", Description: "The tenant's riders."},
		{Name: "Settings", Description: "The company: branding, settings, service types and zones."},
		{Name: "Imports", Description: "Files of people and addresses that a company brings along."},
		{Name: "Privacy", Description: "Copies of a person's data, and erasure."},
		{Name: "Exports", Description: "Files of the tenant's records, made in the background."},
		{Name: "Ratings", Description: "What riders think of a ride."},
		{Name: "Receipts", Description: "What a ride cost, with tax, payment and corrections."},
		{Name: "Statements", Description: "A driver's month: rides, commission, payouts, and the balance before and after."},
		{Name: "Withdrawals", Description: "Drivers ask for money of their wallets, and operators pay it."},
		{Name: "Sandbox", Description: "Robots of a company in which nothing is real."},
		{Name: "Webhooks", Description: "Endpoints of the tenant's own to which events are sent."},
		{Name: "Reports", Description: "Counts and sums of a period."},
		{Name: "Wallets", Description: "Balances of drivers and riders."},
		{Name: "Delivery", Description: "Businesses and food orders."},
		{Name: "Feedback", Description: "The platform's roadmap, shared by all tenants."},
		{Name: "Events", Description: "What happened to the resources that the person may see, in order."},
		{Name: "OAuth", Description: "Registration, authorization, tokens and discovery."},
	} {
		if used[one.Name] {
			out = append(out, &one)
			delete(used, one.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		out = append(out, &huma.Tag{Name: name})
	}
	return out
}
