package mcp

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"svc/pkg/edge/api"
	"svc/pkg/edge/reference"
)

// Addresses of the MCP resources, and the tool that reads one of them.
const (
	openAPIAddress = "svc://openapi"
	tripAddress    = "svc://trips/" // the id of the trip follows
	tripTool       = "svc_get_trip" // the tool that reads a trip, with its checks
)

const jsonType = "application/json"

// resources lists the resources or, with templates, the templates of resources.
// It lists the template of trips only if the token allows tripTool.
func (x *exchange) resources(templates bool) {
	scopes, ok := x.admit(nil)
	if !ok {
		return
	}
	if !templates {
		x.answered(map[string]any{"resources": []any{map[string]any{"uri": openAPIAddress, "name": "openapi",
			"title": "OpenAPI document", "description": "Every endpoint of the API, which the tools are made from.",
			"mimeType": jsonType}}})
		return
	}
	out := []any{}
	if t := x.byName[tripTool]; t != nil && t.allows(x.entry.Resource.Audience, scopes) {
		out = append(out, map[string]any{"uriTemplate": tripAddress + "{id}", "name": "trip", "title": "A trip",
			"description": "A trip by its id, such as trp_…, as svc_get_trip returns it.", "mimeType": jsonType})
	}
	x.answered(map[string]any{"resourceTemplates": out})
}

// refuseCursor sends the error for a cursor. Every list of this server has one page only.
func (x *exchange) refuseCursor() {
	if x.admitted() {
		x.fail(refuse(x.protocolStatus(), codeParams, "The cursor is not of this list, which has one page. Leave it out."))
	}
}

// readResource sends a resource: the OpenAPI document or a trip.
func (x *exchange) readResource() {
	uri := x.m.params.URI
	if id, ok := strings.CutPrefix(uri, tripAddress); ok && id != "" {
		x.readTrip(id)
		return
	}
	if !x.admitted() {
		return
	}
	if uri != openAPIAddress {
		x.noResource("Resource not found")
		return
	}
	text, err := x.document()
	if err != nil {
		x.fail(refuse(http.StatusInternalServerError, codeInternal, "Internal error"))
		return
	}
	x.contents(text, listLife)
}

// readTrip sends a trip as the operation of tripTool returns it.
func (x *exchange) readTrip(id string) {
	t := x.byName[tripTool]
	if t == nil || !t.admits(x.entry.Resource.Audience) {
		if x.admitted() {
			x.noResource("Resource not found")
		}
		return
	}
	value, _ := json.Marshal(id) // marshaling a string cannot fail
	answer := newRecorder()
	x.api.Call(answer, call{tool: t, arguments: []argument{{"id", value}}}.request(x.r), x.entry)
	x.copyHeader(answer.header)
	switch {
	case answer.status < http.StatusMultipleChoices:
		x.contents(answer.body.Bytes(), 0) // a trip changes at any time
	case answer.header.Get("WWW-Authenticate") != "", answer.status == http.StatusTooManyRequests,
		answer.status >= http.StatusInternalServerError:
		x.failAs(answer)
	default:
		var body api.ErrorBody
		_ = json.Unmarshal(answer.body.Bytes(), &body) // the body is our own JSON, so this cannot fail
		x.noResource(body.Description)
	}
}

// noResource sends the error for a resource that the caller may not see. The error is the
// same for a missing resource and for another tenant's (revision 2026-07-28, "Resources").
func (x *exchange) noResource(text string) {
	e := refuse(x.protocolStatus(), codeParams, text)
	e.Data = map[string]any{"uri": x.m.params.URI}
	x.fail(e)
}

// contents sends the text of a resource. life is how long a client may cache the text.
func (x *exchange) contents(text []byte, life time.Duration) {
	result := x.described(map[string]any{"contents": []any{map[string]any{"uri": x.m.params.URI, "mimeType": jsonType,
		"text": string(text)}}})
	if x.m.modern {
		result["ttlMs"] = life.Milliseconds()
	}
	x.result(result)
}

// documentOf returns a function that encodes the OpenAPI document at its first
// call.
func documentOf(baseURL string, rows []api.Row) func() ([]byte, error) {
	return sync.OnceValues(func() ([]byte, error) {
		doc, err := reference.Document(baseURL, func(scope string) string { return scope }, rows...)
		if err != nil {
			return nil, err
		}
		reference.Open(doc)
		return json.Marshal(doc)
	})
}
