package app_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/app/apptest"
	"svc/pkg/domain/event"
	"svc/pkg/local/testkit"
)

// eventAnswer is a response to a method of events.
type eventAnswer struct {
	Result struct {
		ResultType string
		Events     []struct {
			EventID, Name, Timestamp, Description string
			Delivery                              []string
			PayloadSchema, InputSchema            map[string]any
			Data                                  json.RawMessage
		}
		Cursor             string
		Truncated, HasMore bool
		NextPollMs         int
		ID, RefreshBefore  string
		RequestState       string
		InputRequests      map[string]struct{ Params struct{ Message string } }
		DeliveryStatus     map[string]any
		Capabilities       map[string]json.RawMessage
		SupportedVersions  []string
	}
	Error struct {
		Code    int
		Message string
	}
}

func (a eventAnswer) ids() (out []string) {
	for _, e := range a.Result.Events {
		out = append(out, e.EventID)
	}
	return out
}

func (s *suite) events(t *testing.T, status int, path, token, method, params string) eventAnswer {
	t.Helper()
	return apptest.JSON[eventAnswer](t, s.Do(t, modern(path, token, "events/"+method, "", params)).Must(t, status))
}

// page reads a page of a feed at the API.
func (s *suite) page(t *testing.T, token, path string) event.Feed {
	t.Helper()
	return apptest.JSON[event.Feed](t, s.Get(t, token, path).Must(t, 200))
}

// TestAgentsPollTheFeed: events/poll has the events of the feed that the person
// reads at the API, by the same cursors, and ends with the token.
func TestAgentsPollTheFeed(t *testing.T) {
	s := newSuite(t)
	operator, rider := s.actors[authz.Dashboard], s.actors[authz.Rider]
	direct, own := s.Token(t, operator), s.Token(t, rider)
	token, mine := s.agent(t, operator), s.agentTokens(t, rider)
	now := s.events(t, 200, "/mcp", token, "poll", `"name":"all","cursor":null`)
	if len(now.Result.Events) > 0 || now.Result.Cursor == "" || now.Result.Truncated || now.Result.NextPollMs < 1000 {
		t.Fatalf("from now: %+v", now)
	}
	for range 3 {
		s.Post(t, own, "/api/v1/me/trips", `{"originAddress":"A","originLat":1,"originLng":2}`).Must(t, 201)
	}
	s.Drain(t)
	for _, c := range []struct{ path, token, direct, feed string }{
		{"/mcp", token, direct, "/api/v1/events"},
		{"/mcp/rider/metro", mine.AccessToken, own, "/api/v1/me/events"},
	} {
		for name, query := range map[string]string{"all": "", "trip.requested": "&type=trip.requested"} {
			want := s.page(t, c.direct, c.feed+"?after=earliest&limit=200"+query)
			got := s.events(t, 200, c.path, c.token, "poll", `"name":"`+name+`","cursor":"earliest","maxEvents":2`)
			ids := got.ids()
			for got.Result.HasMore {
				got = s.events(t, 200, c.path, c.token, "poll", fmt.Sprintf(`"name":%q,"cursor":%q,"maxEvents":2`, name,
					got.Result.Cursor))
				ids = append(ids, got.ids()...)
			}
			var all []string
			for _, e := range want.Items {
				all = append(all, e.ID)
			}
			if len(all) < 3 || !slices.Equal(ids, all) || got.Result.Cursor != want.Cursor {
				t.Errorf("%s %s: %v by %s, want %v by %s", c.path, name, ids, got.Result.Cursor, all, want.Cursor)
			}
		}
	}
	one := s.page(t, direct, "/api/v1/events?after=earliest&type=trip.requested").Items[0]
	got := s.events(t, 200, "/mcp", token, "poll", fmt.Sprintf(
		`"name":"trip.requested","arguments":{"resource":%q},"cursor":"earliest"`, one.Resource)).Result.Events
	var data event.Event
	testkit.Must(t, json.Unmarshal(got[0].Data, &data))
	if len(got) != 1 || got[0].EventID != one.ID || got[0].Name != "trip.requested" || data != one {
		t.Errorf("of one trip: %+v, want %+v", got, one)
	}
	s.Clock.Advance(time.Minute)
	old := s.events(t, 200, "/mcp", token, "poll", `"name":"all","cursor":"earliest","maxAgeMs":1000`).Result
	if len(old.Events) > 0 || !old.Truncated {
		t.Errorf("older than asked for: %+v", old)
	}
	s.revoke(t, mine.AccessToken)
	s.Do(t, modern("/mcp/rider/metro", mine.AccessToken, "events/poll", "", `"name":"all","cursor":"earliest"`)).Must(t, 401)
}

// TestAgentsListEvents: each audience is told of the types that its feed has, with
// the schema of the feed's events, and a server tells of events in both ways.
func TestAgentsListEvents(t *testing.T) {
	s := newSuite(t)
	for audience, actor := range s.actors {
		path, token := agentAddress(actor), s.agent(t, actor)
		got := s.events(t, 200, path, token, "list", "").Result
		if got.ResultType != "complete" || got.Events[0].Name != "all" {
			t.Fatalf("%s: %+v", audience, got)
		}
		names := map[string]bool{}
		for _, e := range got.Events {
			names[e.Name] = true
			_, livemode := e.PayloadSchema["properties"].(map[string]any)["livemode"]
			if e.Description == "" || !slices.Contains(e.Delivery, "poll") || !livemode || e.InputSchema["type"] != "object" {
				t.Errorf("%s: %+v", audience, e)
			}
		}
		for name, want := range map[string]bool{"trip.completed": true, "wallet.posted": true, "verification": false,
			"customer.updated": audience != authz.Driver, "driver.updated": audience != authz.Rider,
			"settings.updated": audience == authz.Dashboard} {
			if names[name] != want {
				t.Errorf("%s has %s: %v", audience, name, names[name])
			}
		}
		for _, method := range []string{"server/discover", "initialize"} {
			r := modern(path, token, method, "", "")
			if method == "initialize" {
				r.Header = nil
				r.Body = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
			}
			can := apptest.JSON[eventAnswer](t, s.Do(t, r).Must(t, 200)).Result.Capabilities
			if string(can["events"]) != "{}" || !strings.Contains(string(can["extensions"]), "io.modelcontextprotocol/events") {
				t.Errorf("%s: %s", method, can)
			}
		}
	}
	few := s.agent(t, s.actors[authz.Rider], "rider.wallet:read")
	for _, method := range []string{"list", "poll"} {
		s.Do(t, modern("/mcp/rider/metro", few, "events/"+method, "", `"name":"all"`)).Must(t, 403)
	}
}

// TestBadPolls: what is wrong with a request for events is said by the error's
// number, and another tenant's cursor is as bad as an invented one.
func TestBadPolls(t *testing.T) {
	s := newSuite(t)
	operator := s.actors[authz.Dashboard]
	token := s.agent(t, operator)
	foreign := s.events(t, 200, "/mcp", s.agent(t, s.Operator(t, "harbor", "hanna")), "poll", `"name":"all"`).Result.Cursor
	for name, c := range map[string]struct {
		params string
		code   int
	}{
		"unknown event":       {`"name":"trip.vanished"`, -32011},
		"no name":             {`"cursor":null`, -32011},
		"another argument":    {`"name":"all","arguments":{"shop":"1"}`, -32602},
		"a number":            {`"name":"all","arguments":{"resource":1}`, -32602},
		"arguments of a list": {`"name":"all","arguments":[]`, -32602},
		"twice":               {`"name":"all","cursor":null,"cursor":"earliest"`, -32602},
		"other case":          {`"name":"all","Cursor":"earliest"`, -32602},
		"a cursor of another": {`"name":"all","cursor":"` + foreign + `"`, -32602},
		"an invented cursor":  {`"name":"all","cursor":"x"`, -32602},
		"no events":           {`"name":"all","maxEvents":0`, -32602},
	} {
		if got := s.events(t, 400, "/mcp", token, "poll", c.params); got.Error.Code != c.code {
			t.Errorf("%s: %+v", name, got.Error)
		}
	}
	r := modern("/mcp", token, "events/poll", "", `"name":"trip.vanished"`)
	r.Body = strings.Replace(r.Body, `{"elicitation":{}}`, `{"extensions":{"io.modelcontextprotocol/events":{}}}`, 1)
	if got := apptest.JSON[eventAnswer](t, s.Do(t, r).Must(t, 400)); got.Error.Code != -32023 {
		t.Errorf("to a client that declares the extension: %+v", got.Error)
	}
	s.setAgentActions(t, authz.AgentsOff)
	if got := s.events(t, 400, "/mcp", token, "poll", `"name":"all"`); got.Error.Code != -32012 {
		t.Errorf("with agents off: %+v", got.Error)
	}
}
