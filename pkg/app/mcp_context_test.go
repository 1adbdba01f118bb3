package app_test

import (
	"encoding/json"
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/pkg/access/authz"
	"svc/pkg/domain/tenant"
	"svc/pkg/edge/api"
)

// contextAnswer is a response to a method of resources or prompts.
type contextAnswer struct {
	Result struct {
		ResourceTemplates, Prompts []struct{ URITemplate, Name string }
		Contents                   []struct{ URI, MimeType, Text string }
		Messages                   []struct{ Content struct{ Text string } }
		TTLMs                      int
	}
	Error struct {
		Code    int
		Message string
		Data    struct{ URI string }
	}
}

func (s *suite) ask(t *testing.T, path, token, method, name, params string, status int) contextAnswer {
	t.Helper()
	return apptest.JSON[contextAnswer](t, s.Do(t, modern(path, token, method, name, params)).Must(t, status))
}

// TestResources: an operator's agent reads a trip by its address, with the
// checks and the cost of its operation; nobody else does.
func TestResources(t *testing.T) {
	s := newSuite(t)
	s.agentsMayAll(t)
	made := apptest.JSON[struct{ ID string }](t, s.Post(t, s.Token(t, s.actors[authz.Rider]), "/api/v1/me/trips",
		`{"originAddress":"A","originLat":1,"originLng":2}`).Must(t, 201))
	uri := "svc://trips/" + made.ID
	operator, rider := s.agent(t, s.actors[authz.Dashboard]), s.agent(t, s.actors[authz.Rider])
	read := func(path, token, uri string, status int) contextAnswer {
		t.Helper()
		return s.ask(t, path, token, "resources/read", uri, `"uri":"`+uri+`"`, status)
	}
	direct := s.Get(t, s.Token(t, s.actors[authz.Dashboard]), "/api/v1/trips/"+made.ID).Must(t, 200)
	got := read("/mcp", operator, uri, 200)
	if len(got.Result.Contents) != 1 || got.Result.Contents[0].Text != string(direct.Body) ||
		got.Result.Contents[0].URI != uri || got.Result.TTLMs != 0 {
		t.Errorf("the trip: %+v, want %s", got, direct.Body)
	}
	foreign := s.agent(t, s.Operator(t, "harbor", "otto"))
	there := read("/mcp", foreign, uri, 400)
	nowhere := read("/mcp", foreign, "svc://trips/trp_"+strings.Repeat("0", 26), 400)
	if there.Error.Code != -32602 || there.Error.Message != nowhere.Error.Message || there.Error.Data.URI != uri {
		t.Errorf("another tenant's trip: %+v, and none: %+v", there, nowhere)
	}
	for _, address := range []string{uri, "svc://nothing", "file:///etc/passwd", "svc://trips/"} {
		if got := read("/mcp/rider/metro", rider, address, 400); got.Error.Code != -32602 {
			t.Errorf("%s for a rider: %+v", address, got)
		}
	}
	few := s.agent(t, s.actors[authz.Dashboard], other(authz.Dashboard, "tenant.trips:read"))
	s.refused(t, modern("/mcp", few, "resources/read", uri, `"uri":"`+uri+`"`), 403, `scope="tenant.trips:read"`)
	for token, want := range map[string]int{operator: 1, few: 0} {
		got := s.ask(t, "/mcp", token, "resources/templates/list", "", "", 200)
		if len(got.Result.ResourceTemplates) != want {
			t.Errorf("templates: %+v, want %d", got, want)
		}
	}
	document := read("/mcp/rider/metro", rider, "svc://openapi", 200)
	var doc struct{ OpenAPI string }
	if json.Unmarshal([]byte(document.Result.Contents[0].Text), &doc) != nil || doc.OpenAPI != "3.1.0" {
		t.Errorf("the document: %.200s", document.Result.Contents[0].Text)
	}
	s.Change(t, "metro", func(n *tenant.Tenant) { n.AgentActions = authz.AgentsOff })
	if got := read("/mcp", operator, uri, 400); len(got.Result.Contents) != 0 {
		t.Errorf("with agents off: %+v", got)
	}
}

// TestPrompts: each audience has its own prompts, arguments are quoted, and a
// prompt names only tools that exist.
func TestPrompts(t *testing.T) {
	s := newSuite(t)
	tools := map[string]bool{}
	everyTool(s, func(r api.Row, a authz.Audience) { tools[string(a)+r.ID] = true })
	for audience, name := range map[authz.Audience]string{authz.Dashboard: "shift_report", authz.Rider: "ride",
		authz.Driver: ""} {
		path, token := agentAddress(s.actors[audience]), s.agent(t, s.actors[audience])
		list := s.ask(t, path, token, "prompts/list", "", "", 200).Result.Prompts
		if name == "" {
			if len(list) != 0 {
				t.Errorf("%s: %v", audience, list)
			}
			continue
		}
		if len(list) != 1 || list[0].Name != name {
			t.Fatalf("%s: %v", audience, list)
		}
		got := s.ask(t, path, token, "prompts/get", name,
			`"name":"`+name+`","arguments":{"from":"A \"B\"\nC","to":"{from}"}`, 200)
		text := got.Result.Messages[0].Content.Text
		if !strings.Contains(text, `from "A \"B\"\nC" to "{from}"`) {
			t.Errorf("%s: %s", name, text)
		}
		for _, word := range strings.FieldsFunc(text, func(c rune) bool { return c != '_' && (c < 'a' || c > 'z') }) {
			if strings.HasPrefix(word, "svc_") && !tools[string(audience)+word] {
				t.Errorf("%s names %s", name, word)
			}
		}
		s.ask(t, path, token, "prompts/get", name, `"name":"`+name+`","arguments":{"from":"A"}`, 400)
		s.ask(t, path, token, "prompts/get", name, `"name":"`+name+`","arguments":{"from":1}`, 400)
	}
	s.ask(t, "/mcp/driver/metro", s.agent(t, s.actors[authz.Driver]), "prompts/get", "ride", `"name":"ride"`, 400)
}
