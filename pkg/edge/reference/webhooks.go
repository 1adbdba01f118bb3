package reference

import (
	"encoding/json"
	"reflect"
	"slices"
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
				OperationID: "on_" + strings.ReplaceAll(w.Name, ".", "_"), Description: w.Text, Security: []map[string][]string{{}}, Parameters: signature(doc),
				RequestBody: &huma.RequestBody{Required: true, Content: body},
				Responses: map[string]*huma.Response{"2XX": received, "410": {
					Description: "Disables the endpoint."}}}}
		}
	}
	return nil
}

func media(doc *huma.OpenAPI, example any) (map[string]*huma.MediaType, error) {
	text, err := json.Marshal(example)
	if err != nil {
		return nil, err
	}
	schema := doc.Components.Schemas.Schema(reflect.TypeOf(example), true, "")
	return map[string]*huma.MediaType{"application/json": {Schema: schema, Example: json.RawMessage(text)}}, nil
}

// signature returns the headers of a message (Standard Webhooks 1.0).
func signature(doc *huma.OpenAPI) []*huma.Param {
	if doc.Components.Parameters == nil {
		doc.Components.Parameters = map[string]*huma.Param{}
	}
	var out []*huma.Param
	for name, text := range map[string]string{
		"webhook-id":        "Identifies the message. It is the same in each attempt.",
		"webhook-timestamp": "When this attempt began, in Unix seconds. Refuse what is older than five minutes.",
		"webhook-signature": "One or more signatures, separated by spaces. Each is `v1,` and the base64 form of " +
			"HMAC-SHA256 over `webhook-id.webhook-timestamp.body`, with the bytes of the body as they came.",
	} {
		doc.Components.Parameters[name] = &huma.Param{Name: name, In: "header", Required: true, Description: text,
			Schema: &huma.Schema{Type: huma.TypeString}}
		out = append(out, &huma.Param{Ref: "#/components/parameters/" + name})
	}
	slices.SortFunc(out, func(a, b *huma.Param) int { return strings.Compare(a.Ref, b.Ref) })
	return out
}
