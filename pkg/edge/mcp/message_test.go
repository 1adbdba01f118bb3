package mcp

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// TestReadMessage: anything but a JSON-RPC request is rejected with the code
// that the protocol specifies.
func TestReadMessage(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		code int // 0: accepted
	}{
		"request":         {`{"jsonrpc":"2.0","id":1,"method":"ping"}`, 0},
		"text id":         {`{"jsonrpc":"2.0","id":"a","method":"ping"}`, 0},
		"notification":    {`{"jsonrpc":"2.0","method":"notifications/initialized"}`, 0},
		"spaces":          {" \n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n", 0},
		"emoji":           {`{"jsonrpc":"2.0","id":"\ud83d\ude95","method":"ping"}`, 0},
		"no UTF-8":        {"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", codeParse},
		"half a pair":     {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"arguments":{"q":["\ud83d"]}}}`, codeParse},
		"half, as a name": {`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"arguments":{"\ude95":1}}}`, codeParse},
		"empty":           {``, codeParse},
		"two values":      {`{"jsonrpc":"2.0","id":1,"method":"ping"}{}`, codeParse},
		"a list":          {`[]`, codeRequest},
		"another version": {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, codeRequest},
		"no method":       {`{"jsonrpc":"2.0","id":1}`, codeRequest},
		"null id":         {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, codeRequest},
		"object id":       {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, codeRequest},
		"params a list":   {`{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`, codeParams},
		"name a number":   {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}`, codeParams},
		"too deep":        {strings.Repeat(`{"a":`, deepest+1) + "1" + strings.Repeat("}", deepest+1), codeRequest},
		"too large":       {`"` + strings.Repeat("a", mostBytes) + `"`, codeRequest},
	} {
		t.Run(name, func(t *testing.T) {
			m, refused := readMessage(httptest.NewRequest("POST", "/mcp", strings.NewReader(c.body)))
			switch {
			case m == nil:
				t.Error("no message")
			case c.code == 0 && refused != nil, c.code != 0 && (refused == nil || refused.Code != c.code):
				t.Errorf("%+v, want code %d", refused, c.code)
			}
		})
	}
}

// TestHeaderValue: a header may hold a name in Base64.
func TestHeaderValue(t *testing.T) {
	for given, want := range map[string]string{"svc_me": "svc_me", "=?base64?c3ZjX21l?=": "svc_me",
		"=?base64?x": "=?base64?x"} {
		if got, ok := headerValue(given); !ok || got != want {
			t.Errorf("%q: %q %v, want %q", given, got, ok, want)
		}
	}
	if _, ok := headerValue("=?base64?!?="); ok {
		t.Error("broken Base64 is accepted")
	}
}
