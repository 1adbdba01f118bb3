package mcp

import (
	"encoding/json"
	"testing"
)

// A tool's response is JSON, and contains the payload twice: as a text and as a
// value.
func TestSuccess(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{`{}`, `{"a":"b","c":[1,2.50]}`, `{"quote":"\"","backslash":"\\","newline":"\n"}`,
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
			r := got.Result
			if got.Version != "2.0" || string(got.ID) != id || (r.ResultType == "complete") != isModern || len(r.Content) != 2 ||
				r.Content[0].Type != "text" || r.Content[0].Text != payload || r.Content[1].Text != note ||
				string(r.StructuredContent) != payload || r.IsError == nil || *r.IsError {
				t.Errorf("%s: %s", payload, body)
			}
		}
	}
}
