package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

// A tool's response is JSON, and contains the payload twice: as a text and as a
// value.
func TestSuccess(t *testing.T) {
	t.Parallel()
	escaped := strings.NewReplacer("\u2028", `\u2028`, "\ufe0f\u200b", `\ufe0f\u200b`, "\U000e0041", `\udb40\udc41`)
	for _, payload := range []string{"{\n\"a\": \"b\ufe0f\u200bc\U000e0041 👨\u200d👧 ❤\ufe0f\"\n}", `{}`, `{"a":"b","c":[1,2.50]}`, `{"quote":"\"","backslash":"\\","newline":"\n"}`,
		"{\"ü\":\"\U0001F600 <&>\u2028\"}", "{\n\t\"a\": 1\r\n}", `{"nul":"\u0000"}`} {
		for id, isModern := range map[string]bool{`1`: true, `"a\"b"`: false} {
			answer := newRecorder()
			_, _ = answer.Write([]byte(payload)) // it never fails
			body := answer.success(json.RawMessage(id), isModern)
			var got struct {
				Version string `json:"jsonrpc"`
				ID      json.RawMessage
				Result  struct {
					ResultType        string
					Content           []struct{ Type, Text string }
					StructuredContent json.RawMessage
					IsError           *bool
				}
			}
			if err := json.Unmarshal(body, &got); err != nil {
				t.Fatalf("%s: %v in %s", payload, err, body)
			}
			r, want := got.Result, escaped.Replace(payload)
			if got.Version != "2.0" || string(got.ID) != id || (r.ResultType == "complete") != isModern || len(r.Content) != 2 ||
				r.Content[0].Type != "text" || r.Content[0].Text != want || r.Content[1].Text != note ||
				string(r.StructuredContent) != want || r.IsError == nil || *r.IsError {
				t.Errorf("%s: %s", payload, body)
			}
		}
	}
}
