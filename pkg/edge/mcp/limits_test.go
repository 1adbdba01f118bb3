package mcp

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestLongResult: a payload that would not fit into a function's response twice
// is only the value of the result, and not its text.
func TestLongResult(t *testing.T) {
	t.Parallel()
	for sign, isLong := range map[string]bool{"a": false, `\"`: true, "\U0001F600": true} {
		payload := `{"body":"` + strings.Repeat(sign, 1_000_000) + `"}`
		answer := newRecorder()
		_, _ = answer.Write([]byte(payload)) // it never fails
		body := answer.success(json.RawMessage("1"), true)
		var got struct {
			Result struct {
				Content           []struct{ Text string }
				StructuredContent json.RawMessage
			}
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		want := payload
		if isLong {
			want = tooLong
		}
		if len(body) > 8_100_000 || isLong && len(body) > mostResult || got.Result.Content[0].Text != want ||
			string(got.Result.StructuredContent) != payload {
			t.Errorf("%q: %d bytes, text of %d", sign, len(body), len(got.Result.Content[0].Text))
		}
	}
}

// TestQuestionShowsAllOfAText: a person reads all of the longest texts that an
// operation accepts, however the agent escaped them.
func TestQuestionShowsAllOfAText(t *testing.T) {
	t.Parallel()
	c := call{tool: &tool{Title: "Comment"}}
	ask := func(value string) string {
		c.arguments = []argument{{"body", json.RawMessage(value)}}
		return c.question()
	}
	long := strings.Repeat("a", 9_994) + "SECRET"
	if got := ask(`"` + long + `"`); !strings.HasSuffix(got, `: "`+long+`"`) {
		t.Errorf("a long text is not shown: %d characters", len(got))
	}
	escaped := strings.Repeat(`\u0041`, 9_994) + `\u0053ECRET`
	if got := ask(`"` + escaped + `"`); !strings.HasSuffix(got, `: "`+strings.Repeat("A", 9_994)+`SECRET"`) {
		t.Errorf("an escaped text is not shown: %.200s", got)
	}
	lines := `"` + strings.Repeat(`\n`, 5_000) + "SECRET" + strings.Repeat(`\"`, 4_994) + `"`
	if got := ask(lines); !strings.HasSuffix(got, ": "+lines) {
		t.Errorf("a text with many line breaks and quotes is not shown: %d characters", len(got))
	}
	many := `{"actualBehavior":"` + long + `","expectedBehavior":"` + long + `","stepsToReproduce":"` + long + `"}`
	if got := ask(many); !strings.HasSuffix(got, ": "+many) {
		t.Errorf("an object with long texts is not shown: %d characters", len(got))
	}
	c.arguments = nil
	for range mostShown + 3 {
		c.arguments = append(c.arguments, argument{"a", json.RawMessage("1")})
	}
	if got := c.question(); !strings.HasSuffix(got, "… 3 values are not shown.") {
		t.Errorf("many values: %q", got)
	}
}

// TestKeyOfACall: the caller's key counts if it is given, whatever its type. Else
// a POST has the key of its id for some minutes, unless a repeated call changes
// nothing.
func TestKeyOfACall(t *testing.T) {
	t.Parallel()
	outer := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	post, vote, patch := &tool{method: "POST"}, &tool{method: "POST", Annotations: annotations{Idempotent: true}},
		&tool{method: "PATCH", Annotations: annotations{Idempotent: true}}
	for name, c := range map[string]struct {
		tool      *tool
		arguments string
		code      string
		own       string // the caller's key
		derived   bool
		short     bool
	}{
		"default":         {tool: post, arguments: `{}`, derived: true, short: true},
		"null":            {tool: post, arguments: `{"idempotencyKey":null}`, derived: true, short: true},
		"own":             {tool: post, arguments: `{"idempotencyKey":"k"}`, own: "k"},
		"a number":        {tool: post, arguments: `{"idempotencyKey":123}`},
		"empty":           {tool: post, arguments: `{"idempotencyKey":""}`},
		"confirmed":       {tool: post, arguments: `{}`, code: "c", derived: true},
		"confirmed, own":  {tool: post, arguments: `{"idempotencyKey":"k"}`, code: "c", own: "k"},
		"vote, own":       {tool: vote, arguments: `{"idempotencyKey":"k"}`, own: "k"},
		"confirmed PATCH": {tool: patch, arguments: `{}`, code: "c", derived: true},
	} {
		made, ok := newCall(c.tool, json.RawMessage(c.arguments))
		key, life, given := made.key(outer, json.RawMessage("1"), c.code)
		if !ok || !given || c.derived != strings.HasPrefix(key, "mcp-") || !c.derived && key != c.own ||
			(life == retryLife) != c.short {
			t.Errorf("%s: %q %v %v", name, key, life, given)
		}
	}
	for name, one := range map[string]*tool{"vote": vote, "PATCH": patch} {
		if key, _, given := (call{tool: one}).key(outer, json.RawMessage("1"), ""); given {
			t.Errorf("%s has the key %q", name, key)
		}
	}
}
