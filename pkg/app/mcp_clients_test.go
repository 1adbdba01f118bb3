package app_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/edge/api"
	"svc/pkg/oauth/flow"
)

// TestToolsArePortable: no schema of a tool refers to another one, or has a
// keyword that clients of some models reject.
func TestToolsArePortable(t *testing.T) {
	s := newSuite(t)
	var walk func(at string, node any)
	walk = func(at string, node any) {
		switch n := node.(type) {
		case []any:
			for _, child := range n {
				walk(at, child)
			}
		case map[string]any:
			for name, child := range n {
				_, several := child.([]any)
				if name == "$ref" || name == "$defs" || name == "patternDescription" || name == "type" && several {
					t.Errorf("%s: %s is %v", at, name, child)
				}
				walk(at+"."+name, child)
			}
		}
	}
	for _, actor := range s.actors {
		body := s.Do(t, modern(agentAddress(actor), s.agent(t, actor), "tools/list", "", "")).Must(t, 200)
		for _, tool := range apptest.JSON[struct {
			Result struct {
				Tools []struct {
					Name                      string
					InputSchema, OutputSchema any
				}
			}
		}](t, body).Result.Tools {
			walk(tool.Name+" takes", tool.InputSchema)
			walk(tool.Name+" returns", tool.OutputSchema)
		}
	}
}

// TestArgumentsAsModelsWriteThem: a whole number may have a decimal point or an
// exponent (JSON Schema: 5.0 is an integer). An empty text for an optional
// argument counts as absent.
func TestArgumentsAsModelsWriteThem(t *testing.T) {
	s := newSuite(t)
	operator := s.agent(t, s.actors[authz.Dashboard])
	for arguments, refusal := range map[string]string{`{"limit":5}`: "", `{"limit":5.0}`: "", `{"limit":5e0}`: "",
		`{"limit":50E-1}`: "", `{"limit":"5"}`: "", `{"limit":""}`: "",
		`{"cursor":"","status":"","from":"","driverId":""}`: "",
		`{"limit":5.5}`: "invalid_request", `{"limit":1e400}`: "invalid_request", `{"limit":1e15}`: "invalid_request",
		`{"limit":-0.0}`: "invalid_request", `{"limit":" "}`: "invalid_request", `{"other":""}`: "invalid_request"} {
		if got := s.call(t, toolCall("/mcp", operator, "svc_list_trips", arguments)); got.refusal() != refusal {
			t.Errorf("%s: %+v", arguments, got.Result.Content)
		}
	}
	person := s.agent(t, s.actors[authz.Rider])
	for _, name := range []string{"type", "resource", "after"} { // the whole feed would be another answer
		for _, got := range []toolAnswer{s.call(t, toolCall("/mcp", operator, "svc_list_events", `{"`+name+`":""}`)),
			s.call(t, toolCall("/mcp/rider/metro", person, "svc_my_events", `{"limit":1,"`+name+`":""}`))} {
			if got.refusal() != "invalid_request" || !strings.Contains(got.Result.Content[0].Text, `"query.`+name+`"`) {
				t.Errorf("an empty %s: %+v", name, got.Result.Content)
			}
		}
	}
	detail := s.call(t, toolCall("/mcp", operator, "svc_wallet_totals", `{"type":"driver","detail":1.0}`))
	if detail.Result.IsError {
		t.Errorf("detail 1.0: %+v", detail.Result.Content)
	}
	const address = "/mcp/rider/metro"
	rider := s.agent(t, s.actors[authz.Rider])
	const ride = `{"originAddress":"A","originLat":1.0,"originLng":2e0,"destAddress":"","notes":"","paymentType":"",` +
		`"serviceTypeId":"","idempotencyKey":"","confirmation":""}`
	asked := s.call(t, toolCall(address, rider, "svc_request_ride", ride))
	question := asked.Result.InputRequests["agreed"].Params.Message
	if asked.Result.ResultType != "input_required" || strings.Contains(question, "notes") {
		t.Errorf("with empty texts: %+v", asked)
	}
	made := s.call(t, agree(address, rider, "svc_request_ride", ride, asked))
	var trip struct{ Notes, PaymentType *string }
	if json.Unmarshal(made.Result.StructuredContent, &trip) != nil || trip.Notes != nil || *trip.PaymentType != "CASH" {
		t.Errorf("%s", made.Result.StructuredContent)
	}
	for arguments, field := range map[string]string{`{"originAddress":"","originLat":1,"originLng":2}`: "originAddress",
		`{"originAddress":"A","originLat":"","originLng":2}`: "originLat"} {
		got := s.call(t, toolCall(address, rider, "svc_request_ride", arguments))
		if got.refusal() != "invalid_request" || !strings.Contains(got.Result.Content[0].Text, field) {
			t.Errorf("a required argument is empty: %+v", got)
		}
	}
}

// schemaHasText reports whether a schema of an argument allows a text.
func schemaHasText(schema any) bool {
	s, _ := schema.(map[string]any)
	anyOf, _ := s["anyOf"].([]any)
	oneOf, _ := s["oneOf"].([]any)
	branches := append(anyOf, oneOf...)
	return s["type"] == "string" || s["type"] == nil && len(branches) == 0 || slices.ContainsFunc(branches, schemaHasText)
}

// withTexts returns a value in which every number, boolean, object and array is written
// as a text, also within objects and arrays, where the schema allows no text.
func withTexts(schema, value any) any {
	s, _ := schema.(map[string]any)
	switch v := value.(type) {
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		for name, member := range v {
			v[name] = withTexts(properties[name], member)
		}
	case []any:
		for i, one := range v {
			v[i] = withTexts(s["items"], one)
		}
	}
	if _, isText := value.(string); isText || s == nil || schemaHasText(schema) {
		return value
	}
	text, _ := json.Marshal(value) // it was decoded
	return string(text)
}

// TestTextsBecomeWhatIsDeclared: on every tool, arguments that are written as texts, with
// others that a host adds, are the call with the declared values: the same question, and
// the same confirmation.
func TestTextsBecomeWhatIsDeclared(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	metro := s.newEstate(t, "metro")
	s.Still(t)
	rows, converted := map[string]api.Row{}, 0
	for _, r := range app.Rows(s.DB) {
		rows[r.ID] = r
	}
	// Operators come last, because they delete what others use.
	for _, audience := range []authz.Audience{authz.Rider, authz.Driver, authz.Dashboard} {
		actor := metro.actors[audience]
		address, token := agentAddress(actor), s.agent(t, actor)
		list := s.Do(t, modern(address, token, "tools/list", "", "")).Must(t, 200)
		for _, tool := range apptest.JSON[struct {
			Result struct {
				Tools []struct {
					Name        string
					InputSchema map[string]any
				}
			}
		}](t, list).Result.Tools {
			if strings.HasPrefix(rows[tool.Name].Path, "/api/v1/feedback/{") {
				continue // all tenants share the roadmap
			}
			arguments := metro.arguments(t, rows[tool.Name])
			plain, err := json.Marshal(arguments)
			testkit.Must(t, err)
			texts, _ := withTexts(map[string]any{"type": "string", "properties": tool.InputSchema["properties"]},
				arguments).(map[string]any)
			texts["toolCallId"], texts["_meta"] = "call_1", map[string]any{"trace": 1}
			written, err := json.Marshal(texts)
			testkit.Must(t, err)
			first := s.call(t, toolCall(address, token, tool.Name, string(plain)))
			again := s.call(t, toolCall(address, token, tool.Name, string(written)))
			asked := first.Result.InputRequests["agreed"].Params.Message
			if again.Result.InputRequests["agreed"].Params.Message != asked || again.Result.ResultType !=
				first.Result.ResultType || again.refusal() == "invalid_request" && first.refusal() != "invalid_request" {
				t.Errorf("%s as %s: %s gets %+v, and %s %+v", tool.Name, audience, plain, first, written, again)
			}
			if asked == "" {
				continue
			}
			converted++
			done := s.call(t, agree(address, token, tool.Name, string(written), first)) // confirmed with the plain values
			if done.Error.Code != 0 || done.refusal() == "invalid_request" {
				t.Errorf("%s as %s, confirmed: %+v", tool.Name, audience, done)
			}
		}
	}
	if converted < 30 {
		t.Errorf("only %d tools asked", converted)
	}
}

// arguments returns arguments of the row's tool: the document's example of its body, and
// the identifiers of its path.
func (e estate) arguments(t *testing.T, r api.Row) map[string]any {
	t.Helper()
	out := map[string]any{}
	if body := e.body(r); body != "" {
		decoder := json.NewDecoder(strings.NewReader(body))
		decoder.UseNumber()
		testkit.Must(t, decoder.Decode(&out))
	}
	path, template := strings.Split(pathOf(t, e, r), "/"), strings.Split(r.Path, "/")
	for i, segment := range template {
		if strings.HasPrefix(segment, "{") {
			out[strings.Trim(segment, "{}")] = path[i]
		}
	}
	return out
}

// TestTextsKeepTheirSyntax: a text counts as a number, boolean, object or array only in
// JSON's syntax, and never where the schema has texts.
func TestTextsKeepTheirSyntax(t *testing.T) {
	s := newSuite(t)
	s.ServiceType(t, "metro", "0.2")
	address, rider := "/mcp/rider/metro", s.agent(t, s.actors[authz.Rider])
	driver := s.Driver(t, "metro", "dan").ID
	operator := s.agent(t, s.actors[authz.Dashboard])
	amount := func(text string) toolAnswer {
		return s.call(t, toolCall("/mcp", operator, "svc_post_to_wallet", `{"driverId":"`+driver+
			`","type":"TOP_UP","description":"d","amount":`+text+`}`))
	}
	for text, shown := range map[string]string{`"18.50"`: "18.50", `"1e1"`: "1e1", `"0.10"`: "0.10", `18.5`: "18.5"} {
		if got := amount(text); !strings.Contains(got.Result.InputRequests["agreed"].Params.Message,
			"amount: "+shown) {
			t.Errorf("%s: %+v", text, got)
		}
	}
	for _, text := range []string{`"18,50"`, `"1.850,00"`, `"1_000"`, `"0x10"`, `"+5"`, `".5"`, `"5."`, `"05"`, `" 5"`,
		`"5 "`,
		`"5\n"`, `"Infinity"`, `"NaN"`, `"5 USD"`, `"$5"`, `"five"`, `"٥"`, `"５"`, `"true"`, `"null"`, `"[5]"`, `"\"5\""`,
		`""`, `true`, `["5"]`} {
		if got := amount(text); got.refusal() != "invalid_request" {
			t.Errorf("the amount %s: %+v", text, got)
		}
	}
	ride := func(more string) toolAnswer {
		return apptest.JSON[toolAnswer](t, s.Do(t, toolCall(address, rider, "svc_request_ride",
			`{"originLat":"40.5","originLng":"-73.5",`+more+`}`)))
	}
	for _, text := range []string{`5`, `true`, `{"a":1}`, `[1]`, `null`, `_x`} {
		value, _ := json.Marshal(text) // a string cannot fail
		got := ride(`"originAddress":` + string(value))
		if !strings.Contains(got.Result.InputRequests["agreed"].Params.Message, "originAddress: "+string(value)) {
			t.Errorf("an address %s: %+v", value, got)
		}
	}
	for _, more := range []string{`"originAddress":5`, `"originAddress":"A","originLat":1`,
		`"originAddress":"A","toolCallID":1`, `"originAddress":"A","x_meta":1`} { // a repeated name is no call
		if got := ride(more); got.refusal() != "invalid_request" && got.Error.Code != -32602 {
			t.Errorf("%s: %+v", more, got)
		}
	}
	whole, _ := json.Marshal(`{"originAddress":"A","originLat":1,"originLng":"2","_meta":{}}`) // a string cannot fail
	if got := s.call(t, toolCall(address, rider, "svc_request_ride", string(whole))); got.Result.ResultType !=
		"input_required" || strings.Contains(got.Result.InputRequests["agreed"].Params.Message, "_meta") {
		t.Errorf("all arguments as one text: %+v", got)
	}
}

// TestListsHaveOnePage: a list takes no cursor, because no list returns one.
func TestListsHaveOnePage(t *testing.T) {
	s := newSuite(t)
	operator := s.agent(t, s.actors[authz.Dashboard])
	for _, method := range []string{"tools/list", "resources/list", "resources/templates/list", "prompts/list",
		"events/list"} {
		for cursor, status := range map[string]int{`""`: 200, `null`: 200, `"x"`: 400, `"bm90IG9uZQ"`: 400, `5`: 400,
			`{"a":1}`: 400} {
			a := s.Do(t, modern("/mcp", operator, method, "", `"cursor":`+cursor))
			code := apptest.JSON[toolAnswer](t, a).Error.Code
			if a.Status != status || (code == -32602) != (status == 400) {
				t.Errorf("%s with the cursor %s: %d %s", method, cursor, a.Status, a.Body)
			}
		}
	}
}

// TestAddressesAsClientsWriteThem: an address of the MCP server may end with a
// slash, and a resource indicator may have upper-case letters in its scheme and
// host, and the default port (RFC 3986 section 6.2). The metadata repeats the
// address as the client wrote it, because the client compares the two (RFC 9728
// section 3.3).
func TestAddressesAsClientsWriteThem(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	rider, operator := s.actors[authz.Rider], s.actors[authz.Dashboard]
	for path, actor := range map[string]apptest.Actor{"/mcp/": operator, "/mcp/rider/metro/": rider} {
		metadata := "/.well-known/oauth-protected-resource" + path
		challenge := s.Do(t, apptest.Request{Method: http.MethodPost, Path: path}).Must(t, 401).Header.Get("WWW-Authenticate")
		if !strings.Contains(challenge, `resource_metadata="`+s.URL+metadata+`"`) {
			t.Errorf("%s: %s", path, challenge)
		}
		document := s.Get(t, "", metadata).Must(t, 200)
		if got := apptest.JSON[struct{ Resource string }](t, document).Resource; got != s.URL+path {
			t.Errorf("%s: the metadata is of %s", path, got)
		}
		token := s.SignInFor(t, actor, path).AccessToken
		for _, at := range []string{path, strings.TrimSuffix(path, "/")} {
			s.Do(t, modern(at, token, "tools/list", "", "")).Must(t, 200)
		}
	}
	for _, path := range []string{"/mcp//", "/mcp/rider/", "/mcp/rider/metro//", "/mcp/rider//metro", "//mcp"} {
		s.Do(t, apptest.Request{Method: http.MethodPost, Path: path}).Must(t, 404)
	}
	upper := strings.ToUpper(s.URL)
	for resource, want := range map[string]string{upper + "/mcp/rider/metro": "", upper + "/mcp/rider/metro/": "",
		s.URL + "/MCP/rider/metro": "invalid_target", s.URL + "/mcp/rider/metro?": "invalid_target",
		s.URL + "/mcp/rider/metro?x=1": "invalid_target", s.URL + "/mcp/rider/metro#": "invalid_target",
		strings.Replace(s.URL, "://", "://a@", 1) + "/mcp/rider/metro":            "invalid_target",
		strings.Replace(s.URL, "://", "://evil.example/", 1) + "/mcp/rider/metro": "invalid_target",
		"/mcp/rider/metro": "invalid_target", "https://evil.example/mcp": "invalid_target"} {
		if got := s.signInAt(t, rider, resource); got != want {
			t.Errorf("%s: %q, want %q", resource, got, want)
		}
	}
}

// signInAt signs the actor in for a resource. It returns invalid_target if the
// server refuses the resource, else "".
func (s *suite) signInAt(t *testing.T, a apptest.Actor, resource string) string {
	t.Helper()
	_, err := flow.Token(t.Context(), flow.Options{BaseURL: s.URL, Tenant: a.Tenant, Audience: string(a.Audience),
		Email: a.Email, Password: apptest.Password, Resource: resource})
	if err != nil && strings.Contains(err.Error(), "invalid_target") { // a redirect, or a page
		return "invalid_target"
	}
	testkit.Must(t, err)
	return ""
}

// TestWrongResourceSaysWhatToAskFor: a token for another resource is rejected
// with the resource to ask for.
func TestWrongResourceSaysWhatToAskFor(t *testing.T) {
	s := newSuite(t)
	rider := s.actors[authz.Rider]
	for path, token := range map[string]string{"/mcp/rider/metro": s.Token(t, rider), "/api/v1": s.agent(t, rider)} {
		want := "resource=" + s.URL + path
		r := modern(path, token, "tools/list", "", "")
		if path == "/api/v1" {
			r = apptest.Request{Method: http.MethodGet, Path: "/api/v1/me", Token: token}
		}
		a := s.Do(t, r).Must(t, 401)
		if !strings.Contains(string(a.Body), want) || !strings.Contains(a.Header.Get("WWW-Authenticate"), want) {
			t.Errorf("%s: %s %s", path, a.Header.Get("WWW-Authenticate"), a.Body)
		}
	}
	a := s.Get(t, s.agent(t, rider), "/oauth/userinfo").Must(t, 401)
	if !strings.Contains(string(a.Body), "resource="+s.URL+"/api/v1") {
		t.Errorf("userinfo: %s", a.Body)
	}
}

// TestTokenWithoutUsableScope: a token that allows no tool gets a 403 with the
// scopes to ask for, and not an empty list. The metadata, the challenges and the
// 403 name only scopes that some tool needs, and an agent gets no other.
func TestTokenWithoutUsableScope(t *testing.T) {
	s := newSuite(t)
	for _, audience := range []authz.Audience{authz.Rider, authz.Driver} {
		used := map[string]bool{}
		everyTool(s, func(r api.Row, a authz.Audience) {
			if a == audience {
				used[r.Policy.Scopes[a]] = true
			}
		})
		want := strings.Join(slices.Sorted(maps.Keys(used)), " ")
		actor := s.actors[audience]
		path := agentAddress(actor)
		document := s.Get(t, "", "/.well-known/oauth-protected-resource"+path).Must(t, 200)
		listed := apptest.JSON[struct {
			Scopes []string `json:"scopes_supported"`
		}](t, document).Scopes
		if got := strings.Join(listed, " "); got != want {
			t.Errorf("%s: the metadata lists %s, want %s", path, got, want)
		}
		s.refused(t, modern(path, "", "tools/list", "", ""), 401, `scope="`+want+`"`)
		s.refused(t, modern(path, s.agent(t, actor, "openid", "profile"), "tools/list", "", ""), 403, `scope="`+want+`"`)
		all := s.agentTokens(t, actor)
		for _, scope := range authz.Split(all.Scope) {
			if strings.ContainsAny(scope, ".:") && !used[scope] {
				t.Errorf("%s: %s was granted, and no tool needs it", path, scope)
			}
		}
	}
	body := s.Do(t, modern("/mcp", s.agent(t, s.actors[authz.Dashboard], "openid"), "tools/list", "", "")).Must(t, 200)
	if !strings.Contains(string(body.Body), `"svc_me"`) {
		t.Errorf("an operator needs no scope for svc_me: %s", body.Body)
	}
}
