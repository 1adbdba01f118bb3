package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/oauth/flow"
)

// operation is an operation of the deployment's OpenAPI document.
type operation struct {
	method, id string
	path       []string // segments; a parameter is "{name}"
	created    bool
	example    string            // of the request
	types      map[string]string // types of the query parameters
	audiences  map[authz.Audience]string
}

// agents repeats parts of the suite that call the API. It makes each call as a
// tool call of the MCP server, if a tool call can express it (see asTool).
func (s *suite) agents(t *testing.T) {
	s.tools = s.operations(t)
	defer func() { s.tools = nil }()
	s.agentTokens = map[string]agentToken{}
	for _, p := range []person{operator, player, rider, driver, stranger, guest, pilot} {
		resource := "/mcp"
		if p.audience != authz.Dashboard {
			resource += "/" + string(p.audience) + "/" + p.tenant
		}
		tokens := s.signIn(t, p, func(o *flow.Options) { o.Tenant, o.Resource = "", s.BaseURL+resource })
		s.agentTokens[s.token(t, p)] = agentToken{resource, tokens.AccessToken}
	}
	s.succeeded = map[string]bool{}
	if s.FewTools {
		t.Run("ride", s.ride)
		return
	}
	for name, run := range map[string]func(*testing.T){"operator": s.operator, "branding": s.branding,
		"settings": s.settings, "people": s.people, "businesses": s.businesses,
		"webhooks": s.webhooks, "machines": s.machines, "members": s.members, "sandbox": s.sandbox,
		"feedback": s.feedback, "rider": s.rider, "driver": s.driver, "estimate": s.estimated, "ride": s.ride,
		"export": s.exported, "import": s.imported, "privacy": s.privacy,
		"money": s.money, "withdrawals": s.withdrawn, "cancelled ride": s.cancelled, "operated rides": s.operated,
		"dispatch": s.dispatch, "no-show": s.missed} {
		t.Run(name, run)
	}
	t.Run("every operation", s.everyOperation)
}

// agentToken is a person's token for an address of the MCP server.
type agentToken struct{ resource, token string }

// operations returns the operations under /api/v1. Other paths have no policy.
func (s *suite) operations(t *testing.T) []operation {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			ID         string                                         `json:"operationId"`
			Policy     *struct{ Audiences map[authz.Audience]string } `json:"x-policy"`
			Parameters []struct {
				Name   string
				Schema struct{ Type string }
			}
			Responses map[string]any
			Body      struct {
				Content map[string]struct{ Example json.RawMessage }
			} `json:"requestBody"`
		}
	}
	testkit.Must(t, json.Unmarshal(s.get(t, "", "/openapi.json").must(http.StatusOK).body, &doc))
	var out []operation
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if op.Policy == nil {
				continue
			}
			one := operation{strings.ToUpper(method), op.ID, strings.Split(path, "/"), op.Responses["201"] != nil,
				string(op.Body.Content["application/json"].Example), map[string]string{}, op.Policy.Audiences}
			for _, p := range op.Parameters {
				one.types[p.Name] = p.Schema.Type
			}
			out = append(out, one)
		}
	}
	return out
}

// arguments returns the tool's arguments for a request. It reports false if the
// request is for another operation.
func (o operation) arguments(t *testing.T, c call) (map[string]any, bool) {
	t.Helper()
	path, query, _ := strings.Cut(c.path, "?")
	segments := strings.Split(path, "/")
	if o.method != c.method || len(segments) != len(o.path) {
		return nil, false
	}
	out := map[string]any{}
	for i, want := range o.path {
		if name, ok := strings.CutPrefix(want, "{"); ok {
			value, err := url.PathUnescape(segments[i])
			testkit.Must(t, err)
			out[strings.TrimSuffix(name, "}")] = value
		} else if want != segments[i] {
			return nil, false
		}
	}
	values, err := url.ParseQuery(query)
	testkit.Must(t, err)
	for name, given := range values {
		if out[name] = given[0]; o.types[name] == "integer" {
			out[name] = json.Number(given[0])
		}
	}
	if c.body != "" {
		var members map[string]json.RawMessage
		testkit.Must(t, json.Unmarshal([]byte(c.body), &members))
		for name, value := range members {
			out[name] = value
		}
	}
	if c.key != "" {
		out["idempotencyKey"] = c.key
	}
	return out, true
}

// statusOf maps the error codes of tool results to HTTP statuses. The service
// never sends 428. It stands for a request for confirmation.
var statusOf = map[string]int{"invalid_request": 400, "forbidden": 403, "feature_disabled": 403, "not_found": 404,
	"invalid_state": 409, "too_many_open_trips": 409, "insufficient_balance": 409,
	"idempotency_mismatch": 422, "rate_limited": 429, "temporarily_unavailable": 503, "confirmation_required": 428}

// asTool makes the request as a tool call, and confirms it in place of the
// person. It reports false if the request cannot be a tool call: it is not to
// /api/v1, has no known token, is a PATCH without a body, or is an operation of
// another audience.
func (s *suite) asTool(t *testing.T, c call) (answer, bool) {
	t.Helper()
	agent, ok := s.agentTokens[c.token]
	if !ok || !strings.HasPrefix(c.path, "/api/v1/") || c.method == http.MethodPatch && c.body == "" {
		return answer{}, false
	}
	for _, op := range s.tools {
		arguments, ok := op.arguments(t, c)
		if !ok {
			continue
		}
		a := s.callTool(t, agent, op, arguments)
		if a.status == 0 {
			break
		}
		if _, code, asked := strings.Cut(a.text("error_description"), `"confirmation": "`); asked {
			arguments["confirmation"], _, _ = strings.Cut(code, `"`)
			a = s.callTool(t, agent, op, arguments)
		}
		a.call = c.method + " " + c.path
		if path, _, _ := strings.Cut(c.path, "?"); a.status < 300 {
			s.succeeded[c.method+" "+path] = true
		}
		return a, true
	}
	return answer{}, false
}

// callTool calls a tool. If the service is too busy, the result of the tool says so, and callTool calls it again, at
// most 60 times. The transport (retrying) sees only the status of the response, which is 200 then.
func (s *suite) callTool(t *testing.T, agent agentToken, op operation, arguments map[string]any) (a answer) {
	t.Helper()
	for range 60 {
		a = s.callToolOnce(t, agent, op, arguments)
		if a.status != http.StatusServiceUnavailable || !strings.Contains(string(a.body), `"temporarily_unavailable"`) {
			break
		}
		time.Sleep(time.Second)
	}
	return a
}

func (s *suite) callToolOnce(t *testing.T, agent agentToken, op operation, arguments map[string]any) answer {
	t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": len(s.succeeded), "method": "tools/call",
		"params": map[string]any{"name": op.id, "arguments": arguments}})
	testkit.Must(t, err)
	got := s.do(t, call{method: http.MethodPost, path: agent.resource, token: agent.token, body: string(body)})
	if got.status != http.StatusOK {
		return got
	}
	var reply struct {
		Result struct {
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
			IsError           bool
		}
		Error struct{ Message string }
	}
	if err := json.Unmarshal(got.body, &reply); err != nil || len(reply.Result.Content) == 0 && reply.Error.Message == "" {
		t.Fatalf("%s: %v: %s", op.id, err, got.body)
	}
	if reply.Error.Message == "Unknown tool" {
		return answer{}
	}
	got.body = reply.Result.StructuredContent
	if op.created {
		got.status = http.StatusCreated
	}
	if reply.Result.IsError {
		got.body = []byte(reply.Result.Content[0].Text)
		got.status = statusOf[got.text("error")]
	} else if text := reply.Result.Content[0].Text; text != string(got.body) {
		t.Errorf("%s: the text and the structured content differ: %s", op.id, fmt.Sprint(text))
	}
	return got
}
