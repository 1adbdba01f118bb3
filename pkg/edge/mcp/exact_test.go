package mcp

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
)

// A filter in front of the server could read a repeated member, or a member in
// another letter case, differently than the server. Therefore the server rejects
// both.
func TestMessageMembersAreExact(t *testing.T) {
	t.Parallel()
	for body, good := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`:                                     true,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","other":1,"params":{"name":"a","x":1}}`:                     true,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}`:                                     false,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"tools/call"}`:                                     false,
		`{"jsonrpc":"2.0","ID":1,"method":"tools/list"}`:                                                           false,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","\u006dethod":"tools/call"}`:                                false,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","paramſ":{"name":"a"}}`:                                     false,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}`:                          false,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Arguments":{}}}`:                      false,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{},"_META":{}}}`:               false,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/ProtocolVersion":"x"}}}`: false,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"inputResponses":{"agreed":{"action":"a","action":"b"}}}}`: false,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"inputResponses":{"agreed":{},"Agreed":{}}}}`:              false,
	} {
		_, refused := readMessage(httptest.NewRequest("POST", "/mcp", strings.NewReader(body)))
		if (refused == nil) != good {
			t.Errorf("%s: %+v", body, refused)
		}
	}
}

// A question shows the characters of a value: none can change the text's
// direction, be invisible, or begin a new line.
func TestQuestionShowsHiddenCharacters(t *testing.T) {
	t.Parallel()
	c := call{tool: &tool{Title: "Request a ride"}, arguments: []argument{
		{"notes", json.RawMessage("\"to \u202eriA ot\u200b\u2028end\"")}, {"stops", json.RawMessage("[1,\n2]")},
		{"body", json.RawMessage("\"👩🏽‍⚕️ ok\U000e0154\ufe01\u3164\u2800" + strings.Repeat(" ", 400) + "Also …\"")}}}
	want := "Request a ride? \nnotes: \"to \\u202eriA ot\\u200b\\u2028end\"\nstops: [1,2]\n" +
		`body: "👩🏽‍⚕️ ok\udb40\udd54\ufe01\u3164\u2800 ⟨400 blanks⟩ Also …"`
	if got := c.question(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
