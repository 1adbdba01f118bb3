package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/domain/person"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
	"svc/pkg/oauth/flow"
)

// agentAddress is the actor's address of the MCP server.
func agentAddress(a apptest.Actor) string {
	if a.Audience == authz.Dashboard {
		return "/mcp"
	}
	return "/mcp/" + string(a.Audience) + "/" + a.Tenant
}

// agent signs the actor in for its address of the MCP server, and names no
// tenant.
func (s *suite) agent(t *testing.T, a apptest.Actor, scopes ...string) string {
	t.Helper()
	return s.agentTokens(t, a, scopes...).AccessToken
}

func (s *suite) agentTokens(t *testing.T, a apptest.Actor, scopes ...string) flow.Tokens {
	t.Helper()
	return s.SignInFor(t, a, agentAddress(a), scopes...)
}

// meta is the _meta member of every request of revision 2026-07-28.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`

// modern returns a request of revision 2026-07-28; params are the members
// beside _meta.
func modern(path, token, method, name, params string) apptest.Request {
	if params != "" {
		params = "," + params
	}
	return apptest.Request{Method: http.MethodPost, Path: path, Token: token,
		Header: map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
			"Accept": "application/json, text/event-stream"},
		Body: `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + meta + params + `}}`}
}

func toolCall(path, token, tool, arguments string) apptest.Request {
	return modern(path, token, "tools/call", tool, `"name":"`+tool+`","arguments":`+arguments)
}

// toolAnswer is a response to tools/call.
type toolAnswer struct {
	Result struct {
		ResultType        string
		Content           []struct{ Type, Text string }
		StructuredContent json.RawMessage
		IsError           bool
		RequestState      string
		InputRequests     map[string]struct {
			Method string
			Params struct{ Message string }
		}
	}
	Error struct {
		Code    int
		Message string
	}
}

// refusal returns the API's error code in the result of a call.
func (a toolAnswer) refusal() string {
	if !a.Result.IsError {
		return ""
	}
	var body struct{ Error string }
	_ = json.Unmarshal([]byte(a.Result.Content[0].Text), &body) // not a body: no code
	return body.Error
}

func (s *suite) call(t *testing.T, r apptest.Request) toolAnswer {
	t.Helper()
	return apptest.JSON[toolAnswer](t, s.Do(t, r).Must(t, 200))
}

// TestAgentsSeeTheirTools: each audience is offered the operations that its
// scopes allow, in the same order each time.
func TestAgentsSeeTheirTools(t *testing.T) {
	s := newSuite(t)
	for audience, actor := range s.actors {
		var want []string
		for _, r := range app.Rows(s.DB) {
			if _, in := r.Policy.Scopes[audience]; in && audience != r.NoTool {
				want = append(want, r.ID)
			}
		}
		path, token := agentAddress(actor), s.agent(t, actor)
		for range 2 {
			a := s.Do(t, modern(path, token, "tools/list", "", "")).Must(t, 200)
			list := apptest.JSON[struct {
				Result struct {
					Tools []struct {
						Name                      string
						InputSchema, OutputSchema map[string]any
					}
					TTLMs      int
					CacheScope string
				}
			}](t, a)
			if len(list.Result.Tools) != len(want) || list.Result.CacheScope != "private" || list.Result.TTLMs <= 0 {
				t.Fatalf("%s: %d tools, want %v: %s", audience, len(list.Result.Tools), want, a.Body)
			}
			last := ""
			for _, tool := range list.Result.Tools {
				if tool.Name <= last || tool.InputSchema["type"] != "object" || tool.OutputSchema["type"] != "object" {
					t.Errorf("%s after %s: %v", tool.Name, last, tool)
				}
				last = tool.Name
			}
		}
	}
	few := s.agent(t, s.actors[authz.Rider], "rider.wallet:read")
	body := string(s.Do(t, modern("/mcp/rider/metro", few, "tools/list", "", "")).Must(t, 200).Body)
	if !strings.Contains(body, "svc_my_wallet") || strings.Contains(body, "svc_request_ride") {
		t.Errorf("with one scope: %s", body)
	}
}

// TestAgentRequestsARide: a rider's agent requests a ride, the person confirms
// it, and the operator's agent sees the trip. Revoking the token ends the
// agent's access.
func TestAgentRequestsARide(t *testing.T) {
	s := newSuite(t)
	rider, operator := s.actors[authz.Rider], s.actors[authz.Dashboard]
	tokens := s.agentTokens(t, rider)
	const ride = `{"originAddress":"Main St 1","originLat":1,"originLng":2}`
	request := toolCall("/mcp/rider/metro", tokens.AccessToken, "svc_request_ride", ride)
	asked := s.call(t, request)
	question := asked.Result.InputRequests["agreed"]
	if asked.Result.ResultType != "input_required" || question.Method != "elicitation/create" ||
		!strings.Contains(question.Params.Message, `originAddress: "Main St 1"`) {
		t.Fatalf("no question: %+v", asked)
	}
	sent := 0
	agrees := func(arguments, answer string) toolAnswer {
		r := modern("/mcp/rider/metro", tokens.AccessToken, "tools/call", "svc_request_ride",
			`"name":"svc_request_ride","arguments":`+arguments+`,"requestState":"`+asked.Result.RequestState+
				`","inputResponses":{"agreed":`+answer+`}`)
		sent++
		r.Header["Idempotency-Key"] = fmt.Sprint("request-", sent) // as a proxy may add; one yes is still one ride
		return s.call(t, r)
	}
	const yes = `{"action":"accept","content":{"agreed":true}}`
	if got := agrees(ride, `{"action":"decline"}`); got.refusal() != "declined" {
		t.Errorf("after a no: %+v", got)
	}
	const repeated = `{"originAddress":"Elsewhere","originAddress":"Main St 1","originLat":1,"originLng":2}`
	if a := s.Do(t, toolCall("/mcp/rider/metro", tokens.AccessToken, "svc_request_ride", repeated)); !strings.Contains(
		string(a.Body), "names each member once") {
		t.Errorf("a repeated argument: %d %s", a.Status, a.Body)
	}
	made := agrees(ride, yes)
	again := agrees(ride, yes)
	var trip struct{ ID string }
	testkit.Must(t, json.Unmarshal(made.Result.StructuredContent, &trip))
	if trip.ID == "" || string(made.Result.StructuredContent) != string(again.Result.StructuredContent) {
		t.Fatalf("%+v, then %+v", made, again)
	}
	seen := s.call(t, toolCall("/mcp", s.agent(t, operator), "svc_list_trips", `{"limit":5}`))
	if strings.Count(string(seen.Result.StructuredContent), `"id":"trp_`) != 1 ||
		!strings.Contains(string(seen.Result.StructuredContent), trip.ID) {
		t.Errorf("the operator sees %s", seen.Result.StructuredContent)
	}
	s.revoke(t, tokens.AccessToken)
	for _, r := range []apptest.Request{request, modern("/mcp/rider/metro", tokens.AccessToken, "tools/list", "", "")} {
		if a := s.Do(t, r); a.Status != 401 || !strings.Contains(a.Header.Get("WWW-Authenticate"), "invalid_token") {
			t.Errorf("after the revocation: %d %s", a.Status, a.Body)
		}
	}
}

// revoke revokes an access token by its id.
func (s *suite) revoke(t *testing.T, token string) {
	t.Helper()
	ctx := context.Background()
	claims, err := s.Runtime.Keys().Verify(ctx, token)
	testkit.Must(t, err)
	testkit.Must(t, s.Runtime.AuthorizationServer().RevokeToken(ctx, s.Tenant("metro"), s.By(), claims.ID))
}

// emptyCall returns a call of the row's tool that passes the checks; the
// resource need not exist.
func emptyCall(r api.Row, path, token string) apptest.Request {
	arguments := "{}"
	if strings.Contains(r.Path, "{id}") {
		arguments = `{"id":"trp_` + strings.Repeat("0", 26) + `"}`
	}
	return toolCall(path, token, r.ID, arguments)
}

// TestEveryToolIsGuarded checks that every row's tool makes the row's checks.
func TestEveryToolIsGuarded(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	tokens := map[string]string{} // by audience and scopes: each takes a complete sign-in
	agent := func(audience authz.Audience, scopes ...string) string {
		name := fmt.Sprint(audience, scopes)
		if tokens[name] == "" {
			tokens[name] = s.agent(t, s.actors[audience], scopes...)
		}
		return tokens[name]
	}
	for _, r := range app.Rows(s.DB) {
		for audience, scope := range r.Policy.Scopes {
			if audience == r.NoTool {
				continue
			}
			actor := s.actors[audience]
			path, token := agentAddress(actor), agent(audience)
			good := emptyCall(r, path, token)
			if got := s.call(t, good).refusal(); got == "forbidden" || got == "feature_disabled" {
				t.Errorf("%s with everything: %s", r.ID, got)
			}
			s.refused(t, emptyCall(r, path, ""), 401, "resource_metadata=")
			s.refused(t, emptyCall(r, path, s.Token(t, actor)), 401, "invalid_token") // a token for the API
			if scope != "" {
				few := agent(audience, "openid")
				s.refused(t, emptyCall(r, path, few), 403, `scope="`+scope+`"`)
			}
			if r.Policy.Permission != "" && audience == authz.Dashboard {
				store := person.Store{DB: s.DB}
				_, err := store.Revoke(t.Context(), s.Tenant("metro"), s.By(), actor.ID, r.Policy.Permission)
				testkit.Must(t, err)
				if got := s.call(t, good).refusal(); got != "forbidden" {
					t.Errorf("%s without the permission: %q", r.ID, got)
				}
				_, err = store.Grant(t.Context(), s.Tenant("metro"), s.By(), actor.ID, r.Policy.Permission)
				testkit.Must(t, err)
			}
			if r.Policy.Feature != "" {
				s.Change(t, "metro", func(n *tenant.Tenant) { n.TaxiEnabled, n.DeliveryEnabled = false, false })
				if got := s.call(t, good).refusal(); got != "feature_disabled" {
					t.Errorf("%s without the feature: %q", r.ID, got)
				}
				s.Change(t, "metro", func(n *tenant.Tenant) { n.TaxiEnabled, n.DeliveryEnabled = true, true })
			}
		}
	}
}

// refused checks that the HTTP response rejects the token and says how to get
// another.
func (s *suite) refused(t *testing.T, r apptest.Request, status int, challenge string) {
	t.Helper()
	a := s.Do(t, r)
	if got := a.Header.Get("WWW-Authenticate"); a.Status != status || !strings.Contains(got, challenge) ||
		!strings.Contains(got, `/.well-known/oauth-protected-resource/mcp`) {
		t.Errorf("%s: %d %s: %s", r.Body, a.Status, got, a.Body)
	}
}

// TestTokensStayAtTheirResource: a token for one resource is rejected at every
// other one, and a person of another tenant gets no token for it.
func TestTokensStayAtTheirResource(t *testing.T) {
	s := newSuite(t)
	token := s.agent(t, s.actors[authz.Rider])
	for _, path := range []string{"/mcp", "/mcp/rider/harbor", "/mcp/driver/metro"} {
		s.refused(t, modern(path, token, "tools/list", "", ""), 401, "invalid_token")
	}
	if a := s.Get(t, token, "/api/v1/me"); a.Status != 401 {
		t.Errorf("at the API: %d %s", a.Status, a.Body)
	}
	s.Do(t, modern("/mcp/rider/metro", token, "tools/list", "", "")).Must(t, 200)
	foreign := s.agent(t, s.Rider(t, "harbor", "rita"))
	s.refused(t, modern("/mcp/rider/metro", foreign, "tools/list", "", ""), 401, "invalid_token")
}

// TestMessagesAreBounded: a body that is not a message of the protocol is
// rejected.
func TestMessagesAreBounded(t *testing.T) {
	s := newSuite(t)
	token := s.agent(t, s.actors[authz.Rider])
	good := modern("/mcp/rider/metro", token, "tools/list", "", "")
	for name, c := range map[string]struct {
		change func(*apptest.Request)
		status int
		code   int
	}{
		"large":      {func(r *apptest.Request) { r.Body = `"` + strings.Repeat("a", 100<<10) + `"` }, 413, -32600},
		"deep":       {func(r *apptest.Request) { r.Body = strings.Repeat("[", 10000) }, 400, -32600},
		"no JSON":    {func(r *apptest.Request) { r.Body = `{` }, 400, -32700},
		"batch":      {func(r *apptest.Request) { r.Body = "[" + r.Body + "]" }, 400, -32600},
		"method":     {func(r *apptest.Request) { r.Header["Mcp-Method"] = "tools/call" }, 400, -32020},
		"version":    {func(r *apptest.Request) { r.Header["Mcp-Protocol-Version"] = "2025-06-18" }, 400, -32020},
		"origin":     {func(r *apptest.Request) { r.Header["Origin"] = "https://evil.example" }, 403, -32600},
		"media type": {func(r *apptest.Request) { r.Header["Content-Type"] = "text/plain" }, 415, -32600},
	} {
		t.Run(name, func(t *testing.T) {
			r := good
			r.Header = maps.Clone(good.Header)
			c.change(&r)
			a := s.Do(t, r)
			if got := apptest.JSON[toolAnswer](t, a); a.Status != c.status || got.Error.Code != c.code {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
	s.Do(t, apptest.Request{Method: http.MethodGet, Path: good.Path, Token: token}).Must(t, 405)
	s.Do(t, apptest.Request{Method: http.MethodDelete, Path: good.Path, Token: token}).Must(t, 405)
}

// TestToolCallCostsWhatTheRequestCosts: a tool call makes as many requests to
// the table, with as many units, as the same request to the API.
func TestToolCallCostsWhatTheRequestCosts(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	rider, operator := s.actors[authz.Rider], s.actors[authz.Dashboard]
	const address, request = "/mcp/rider/metro", "svc_request_ride"
	const ride = `{"originAddress":"A","originLat":1,"originLng":2}`
	token, keyed := s.agent(t, rider), map[string]string{"Idempotency-Key": "one"}
	asked := s.call(t, toolCall(address, token, request, ride))
	s.Do(t, apptest.Request{Method: http.MethodPost, Path: "/api/v1/me/trips", Token: s.Token(t, rider), Body: ride}).
		Must(t, 201) // the first ride of a process reads whether there are zones
	for _, c := range []struct{ direct, tool apptest.Request }{
		{apptest.Request{Method: http.MethodPost, Path: "/api/v1/me/trips", Token: s.Token(t, rider), Body: ride,
			Header: keyed}, agree(address, token, request, ride, asked)},
		{apptest.Request{Method: http.MethodGet, Path: "/api/v1/me/trips?limit=5", Token: s.Token(t, rider)},
			toolCall("/mcp/rider/metro", s.agent(t, rider), "svc_my_trips", `{"limit":5}`)},
		{apptest.Request{Method: http.MethodGet, Path: "/api/v1/drivers", Token: s.Token(t, operator)},
			toolCall("/mcp", s.agent(t, operator), "svc_list_drivers", `{}`)},
	} {
		apptest.Unprice(t, s.DB, "metro") // a ride marks the copy of the flags that its token reads
		direct := s.Do(t, c.direct).Seen
		apptest.Unprice(t, s.DB, "metro")
		tool := s.Do(t, c.tool).Must(t, 200).Seen
		if direct.Status/100 != 2 || direct.Usage.ReadUnits != tool.Usage.ReadUnits ||
			direct.Usage.WriteUnits != tool.Usage.WriteUnits || direct.Usage.Requests != tool.Usage.Requests || !tool.Agent {
			t.Errorf("%s: %+v as a request, %+v as a tool", direct.Operation, direct.Usage, tool.Usage)
		}
	}
}

// TestTenantLimitsAgents: a tenant's setting decides what agents may do.
func TestTenantLimitsAgents(t *testing.T) {
	s := newSuite(t)
	s.agentsMayAll(t) // the consent is to all
	token := s.agent(t, s.actors[authz.Rider])
	read := toolCall("/mcp/rider/metro", token, "svc_my_trips", "{}")
	change := toolCall("/mcp/rider/metro", token, "svc_request_ride", `{"originAddress":"A","originLat":1,"originLng":2}`)
	for _, c := range []struct{ actions, read, change, result string }{
		{"off", "feature_disabled", "feature_disabled", "complete"},
		{"read", "", "feature_disabled", "complete"},
		{"confirm", "", "", "input_required"},
		{"", "", "", "input_required"},
		{"all", "", "", "complete"},
	} {
		s.Change(t, "metro", func(n *tenant.Tenant) { n.AgentActions = c.actions })
		if got := s.call(t, read).refusal(); got != c.read {
			t.Errorf("%q, reading: %q", c.actions, got)
		}
		if got := s.call(t, change); got.refusal() != c.change || got.Result.ResultType != c.result {
			t.Errorf("%q, changing: %+v", c.actions, got)
		}
	}
}
