package repository_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/domain/event"
)

// TestEventTypesPage: docs/events.md lists every type of event, and every change without an event with the reason. With
// -update the test writes both lists.
func TestEventTypesPage(t *testing.T) {
	var lines []string
	line, resource := "", ""
	for _, kind := range event.Types() {
		of, _, _ := strings.Cut(kind.Name, ".")
		switch word := "`" + kind.Name + "`"; {
		case of != resource:
			lines, line, resource = append(lines, line), "- "+word, of
		case len(line)+len(word) > 97:
			lines, line = append(lines, line+","), "  "+word
		default:
			line += ", " + word
		}
	}
	drawn(t, "../../../docs/events.md", "types", strings.Join(append(lines[1:], line), "\n")+"\n")
	silent := "| change | why |\n| --- | --- |\n"
	for _, r := range app.Rows(nil) {
		if r.NoEvent != "" {
			silent += fmt.Sprintf("| `%s %s` | %s |\n", r.Method, strings.TrimPrefix(r.Path, "/api/v1"), r.NoEvent)
		}
	}
	drawn(t, "../../../docs/events.md", "silent", silent)
}

// TestDocumentHasEachEvent: the document's webhooks are the challenge and every type
// of event, each with a schema, an example of it and the headers that sign it.
func TestDocumentHasEachEvent(t *testing.T) {
	text, err := os.ReadFile(documentFile)
	testkit.Must(t, err)
	type media struct {
		Schema struct {
			Ref        string `json:"$ref"`
			Properties map[string]any
		}
		Example struct {
			Type     string
			Resource string
			Data     map[string]any
		}
	}
	var doc struct {
		Webhooks map[string]struct {
			Post struct {
				Description string
				Parameters  []struct{ Name string }
				RequestBody struct{ Content map[string]media }
				Responses   map[string]struct{ Content map[string]media }
			}
		}
	}
	testkit.Must(t, json.Unmarshal(text, &doc))
	if len(doc.Webhooks) != len(event.Types())+1 {
		t.Errorf("%d webhooks, want one for each of %d types and the challenge", len(doc.Webhooks), len(event.Types()))
	}
	for _, kind := range event.Types() {
		post := doc.Webhooks[kind.Name].Post
		body := post.RequestBody.Content["application/json"]
		if body.Schema.Ref != "#/components/schemas/FeedEvent" || body.Example.Type != kind.Name ||
			body.Example.Resource == "" || post.Description != kind.Text || len(post.Parameters) != 3 {
			t.Errorf("%s: %+v", kind.Name, post)
		}
	}
	challenge := doc.Webhooks["verification"].Post
	if challenge.RequestBody.Content["application/json"].Schema.Properties["challenge"] == nil ||
		challenge.Responses["2XX"].Content["application/json"].Schema.Properties["challenge"] == nil {
		t.Errorf("the challenge: %+v", challenge)
	}
}
