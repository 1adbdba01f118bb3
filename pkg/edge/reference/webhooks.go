package reference

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/edge/api"
)

// describeWebhooks documents the messages that are sent to the tenants' endpoints.
func describeWebhooks(doc *huma.OpenAPI, rows []api.Row) error {
	for _, row := range rows {
		for _, w := range row.Webhooks {
			body, err := media(doc, w.Body)
			if err != nil {
				return err
			}
			received := &huma.Response{Description: "Received. Any other status is a failure, and the message is sent again."}
			if w.Answer != nil {
				if received.Content, err = media(doc, w.Answer); err != nil {
					return err
				}
			}
			if doc.Webhooks == nil {
				doc.Webhooks = map[string]*huma.PathItem{}
			}
			doc.Webhooks[w.Name] = &huma.PathItem{Post: &huma.Operation{Tags: []string{row.Tag}, Summary: w.Name,
				OperationID: "on_" + strings.ReplaceAll(w.Name, ".", "_"), Description: w.Text,
				Security: []map[string][]string{{}}, Parameters: signature,
				RequestBody: &huma.RequestBody{Required: true, Content: body},
				Responses: map[string]*huma.Response{"2XX": received, "410": {
					Description: "Disables the endpoint."}}}}
		}
	}
	return nil
}

// media returns the content of a JSON body, with the schema of the example's type.
func media(doc *huma.OpenAPI, example any) (map[string]*huma.MediaType, error) {
	text, err := json.Marshal(example)
	if err != nil {
		return nil, err
	}
	registry := doc.Components.Schemas
	known := len(registry.Map())
	schema := registry.Schema(reflect.TypeOf(example), true, "")
	if name := strings.TrimPrefix(schema.Ref, schemaPrefix); len(registry.Map()) > known {
		schema = registry.Map()[name] // no endpoint uses the schema, so it is inlined
		delete(registry.Map(), name)
	}
	return map[string]*huma.MediaType{"application/json": {Schema: schema, Example: json.RawMessage(text)}}, nil
}

// signature are the headers of a webhook's message (Standard Webhooks 1.0). Each
// operation has its own copy, because a generator for Go drops the components that only
// webhooks use.
var signature = []*huma.Param{
	header("webhook-id", "Identifies the message. It is the same in each attempt."),
	header("webhook-timestamp", "When this attempt began, in Unix seconds."),
	header("webhook-signature", "`v1,` and the base64 form of HMAC-SHA256 over `webhook-id.webhook-timestamp.body`. "+
		"While a secret is replaced, two of them with a space between."),
}

// header returns a required header parameter.
func header(name, text string) *huma.Param {
	return &huma.Param{Name: name, In: "header", Required: true, Description: text,
		Schema: &huma.Schema{Type: huma.TypeString}}
}
