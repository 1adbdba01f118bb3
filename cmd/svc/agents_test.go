package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/local/demo"
	"svc/pkg/oauth/flow"
)

// svc tenant set --agent-actions decides what agents may do in a tenant, from the
// next call on. It does not affect the same person's requests to the API.
func TestAgentActionsAreLive(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	w := start(t)
	resource := w.base + "/mcp/rider/metro"
	tokens, err := flow.Token(t.Context(), flow.Options{BaseURL: w.base, Tenant: "metro", Audience: "rider",
		Email: "rider1@metro.example", Password: demo.Password, Resource: resource})
	if err != nil {
		t.Fatal(err)
	}
	rider := w.token("rider", "rider1@metro.example")
	const refused = `\"error\":\"feature_disabled\"`
	save := `"svc_save_address","arguments":{"address":"1 Pier","lat":40.5,"lng":-73.5}`
	for _, tt := range []struct {
		actions       string
		reads, writes bool // whether the tenant allows a tool that reads, and one that changes something
	}{{"off", false, false}, {"read", true, false}, {"confirm", true, true}, {"all", true, true}, {"off", false, false}} {
		w.ok("tenant", "set", "metro", "--agent-actions", tt.actions)
		if text := w.tool(resource, tokens.AccessToken, `"svc_me","arguments":{}`); strings.Contains(text, refused) == tt.reads {
			t.Errorf("%s: svc_me: %s", tt.actions, text)
		}
		if text := w.tool(resource, tokens.AccessToken, save); strings.Contains(text, refused) == tt.writes {
			t.Errorf("%s: svc_save_address: %s", tt.actions, text)
		}
		w.expect("/api/v1/me", rider, 200, "")
	}
	if _, errs, code := w.run("tenant", "set", "metro", "--agent-actions", "maybe"); code != 1 ||
		!strings.Contains(errs, "expected off, read, confirm or all") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// tool calls a tool of the MCP server, and returns the response.
func (w *world) tool(resource, token, call string) string {
	w.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":` + call + `}}`
	r, err := http.NewRequestWithContext(w.Context(), http.MethodPost, resource, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2025-06-18"}}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		w.Fatalf("%d %v: %s", res.StatusCode, err, text)
	}
	return string(text)
}
