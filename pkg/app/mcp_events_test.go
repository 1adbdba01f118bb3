package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/domain/event"
	"svc/pkg/domain/webhook"
	"svc/pkg/edge/api"
	"svc/pkg/oauth/flow"
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
			"settings.updated": audience == authz.Dashboard, "member.deleted": audience == authz.Dashboard,
			"company.updated": audience == authz.Dashboard, "menu_item.created": audience == authz.Dashboard,
			"export.completed": audience == authz.Dashboard, "document.created": audience != authz.Rider,
			"privacy_request.created": true} {
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
		"an empty cursor":     {`"name":"all","cursor":""`, -32602},
		"a forged cursor":     {`"name":"all","cursor":"` + s.forged(strings.Repeat("1.", 500)+"1") + `"`, -32602},
		"a forged position":   {`"name":"all","cursor":"` + s.forged("1.x") + `"`, -32602},
		"an empty resource":   {`"name":"all","arguments":{"resource":""}`, -32602},
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

// forged returns a cursor of the dashboard's feed in the form that needs no key.
func (s *suite) forged(position string) string {
	return *api.Cursor(position, "events", s.Tenant("metro").ID(), "", "", "")
}

// TestKeyedCursorsOfTheService: with the setting, the feeds and agents share cursors with a
// key, which cost no request; cursors without a key go on.
func TestKeyedCursorsOfTheService(t *testing.T) {
	s := &suite{Service: apptest.With(t, apptest.Options{KeyedCursors: true}), actors: map[authz.Audience]apptest.Actor{}}
	operator := s.Operator(t, "metro", "olga")
	direct, token := s.Token(t, operator), s.agent(t, operator)
	first := s.page(t, direct, "/api/v1/events?after=earliest&limit=1")
	if !strings.HasPrefix(first.Cursor, "2.") {
		t.Fatalf("the cursor is %s", first.Cursor)
	}
	s.actors[authz.Dashboard] = operator
	polled := s.events(t, 200, "/mcp", token, "poll", `"name":"all","cursor":"`+first.Cursor+`"`).Result
	for _, cursor := range []string{polled.Cursor, first.Cursor, s.forged("0")} {
		if n := s.Get(t, direct, "/api/v1/events?after="+cursor).Must(t, 200).Seen.Usage.Requests; n > 2 {
			t.Errorf("a page after %s cost %d requests", cursor, n)
		}
	}
	s.events(t, 400, "/mcp", token, "poll", `"name":"all","cursor":"`+first.Cursor+`A"`)
}

// inbox is a receiver of an agent's events. It echoes challenges.
type inbox struct {
	*httptest.Server
	mu  sync.Mutex
	got []delivered
}

type delivered struct {
	header http.Header
	body   []byte
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	in := &inbox{}
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var b struct{ Type, Challenge string }
		_ = json.Unmarshal(body, &b)
		if b.Type == "verification" {
			_, _ = fmt.Fprintf(w, `{"challenge": %q}`, b.Challenge)
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		in.got = append(in.got, delivered{r.Header, body})
	}))
	t.Cleanup(in.Close)
	return in
}

func (in *inbox) take() []delivered {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.got)
}

// waits waits until the inbox has n messages.
func (in *inbox) waits(t *testing.T, s *suite, n int) []delivered {
	t.Helper()
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		s.Drain(t)
		if got := in.take(); len(got) >= n {
			return got
		}
	}
	t.Fatalf("%d messages, want %d", len(in.take()), n)
	return nil
}

const eventSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="

func subscription(name, url string) string {
	return fmt.Sprintf(`"name":%q,"delivery":{"mode":"webhook","url":%q,"secret":%q},"cursor":null`, name, url,
		eventSecret)
}

func (s *suite) ride(t *testing.T) {
	t.Helper()
	s.Post(t, s.SignIn(t, s.actors[authz.Rider]).AccessToken, "/api/v1/me/trips", `{"originAddress":"A","originLat":1,"originLng":2}`).
		Must(t, 201)
	s.Drain(t)
}

// hooks returns the webhook endpoints that operators see.
func (s *suite) hooks(t *testing.T) []webhook.Endpoint {
	t.Helper()
	return apptest.JSON[api.Items[webhook.Endpoint]](t, s.Get(t, s.SignIn(t, s.actors[authz.Dashboard]).AccessToken,
		"/api/v1/webhooks").Must(t, 200)).Items
}

// withoutHooks waits until the company has no webhook endpoint.
func (s *suite) withoutHooks(t *testing.T) {
	t.Helper()
	s.Still(t)
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if len(s.hooks(t)) == 0 {
			return
		}
		s.Drain(t)
	}
	t.Fatal("the company keeps its webhook endpoints")
}

// TestAgentSubscribes: the person agrees once; then the address gets a challenge and
// signed events with the agent's secret, a renewal needs nobody, and each way in which
// the access ends also ends the messages.
func TestAgentSubscribes(t *testing.T) {
	testkit.Long(t)
	for name, end := range map[string]func(*suite, flow.Tokens){
		"unsubscribed":  nil,
		"token revoked": func(s *suite, tokens flow.Tokens) { s.revoke(t, tokens.AccessToken) },
		"refresh token revoked an hour later": func(s *suite, tokens flow.Tokens) {
			s.Clock.Advance(90 * time.Minute)
			s.Do(t, posted("/oauth/revoke", "token", tokens.RefreshToken, "client_id", tokens.ClientID)).Must(t, 200)
		},
		"agents may read only": func(s *suite, _ flow.Tokens) { s.setAgentActions(t, authz.AgentsRead) },
		"expired":              func(s *suite, _ flow.Tokens) { s.Clock.Advance(25 * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			s, in := newSuite(t), newInbox(t)
			tokens := s.agentTokens(t, s.actors[authz.Dashboard])
			token, params := tokens.AccessToken, subscription("trip.requested", in.URL)
			asked := s.events(t, 200, "/mcp", token, "subscribe", params)
			question := asked.Result.InputRequests["agreed"].Params.Message
			if asked.Result.ResultType != "input_required" || !strings.Contains(question, in.URL) ||
				strings.Contains(question, "whsec_") || len(s.hooks(t)) > 0 {
				t.Fatalf("%+v", asked)
			}
			agreed := `,"requestState":"` + asked.Result.RequestState +
				`","inputResponses":{"agreed":{"action":"accept","content":{"agreed":true}}}`
			made := s.events(t, 200, "/mcp", token, "subscribe", params+agreed).Result
			s.ride(t) // before or after the echo: it is after the subscription
			got := in.waits(t, s, 2)
			hook, err := standardwebhooks.NewWebhook(eventSecret)
			testkit.Must(t, err)
			for _, one := range got {
				if hook.VerifyIgnoringTimestamp(one.body, one.header) != nil || one.header.Get("X-MCP-Subscription-Id") != made.ID {
					t.Errorf("%v %s", one.header, one.body)
				}
			}
			var e struct {
				EventID, Name string
				Data          event.Event
			}
			testkit.Must(t, json.Unmarshal(got[1].body, &e))
			if e.Name != "trip.requested" || e.Data.Type != e.Name || e.EventID != e.Data.ID ||
				got[1].header.Get("Webhook-Id") != e.EventID {
				t.Errorf("%s", got[1].body)
			}
			again := s.events(t, 200, "/mcp", token, "subscribe", params).Result
			if again.ID != made.ID || again.RefreshBefore == "" || again.DeliveryStatus["active"] != true ||
				len(s.hooks(t)) != 1 {
				t.Errorf("renewed: %+v", again)
			}
			if end == nil {
				for range 2 {
					s.events(t, 200, "/mcp", token, "unsubscribe", `"name":"trip.requested","url":"`+in.URL+`"`)
				}
			} else {
				end(s, tokens)
			}
			s.ride(t)
			s.withoutHooks(t)
			if len(in.take()) != 2 || len(s.hooks(t)) > 0 {
				t.Errorf("%d messages, want 2; endpoints %+v", len(in.take()), s.hooks(t))
			}
		})
	}
}

// TestSubscriptionsAreGuarded: a subscription needs what a webhook endpoint needs, and
// counts among them.
func TestSubscriptionsAreGuarded(t *testing.T) {
	testkit.Long(t)
	s, in := newSuite(t), newInbox(t)
	s.setAgentActions(t, authz.AgentsAll)
	operator := s.actors[authz.Dashboard]
	token := s.agent(t, operator)
	forgedBy := func(position string) string {
		return strings.Replace(subscription("all", in.URL), "null", `"`+s.forged(position)+`"`, 1)
	}
	for name, c := range map[string]struct {
		params string
		code   int
	}{
		"an internal address": {subscription("all", "https://10.0.0.1/"), -32602},
		"plain http":          {subscription("all", "http://hooks.example/"), -32602},
		"a short secret":      {strings.Replace(subscription("all", in.URL), eventSecret, "whsec_c2hvcnQ=", 1), -32602},
		"no secret":           {strings.Replace(subscription("all", in.URL), eventSecret, "", 1), -32602},
		"no address":          {subscription("all", ""), -32602},
		"a push":              {strings.Replace(subscription("all", in.URL), `"webhook"`, `"push"`, 1), -32014},
		"an event of no type": {subscription("trip.vanished", in.URL), -32011},
		"another tenants cursor": {strings.Replace(subscription("all", in.URL), "null", `"`+s.events(t, 200, "/mcp",
			s.agent(t, s.Operator(t, "harbor", "hanna")), "poll", `"name":"all"`).Result.Cursor+`"`, 1), -32602},
		"an empty cursor":   {strings.Replace(subscription("all", in.URL), "null", `""`, 1), -32602},
		"an empty resource": {subscription("all", in.URL) + `,"arguments":{"resource":""}`, -32602},
		"a forged cursor":   {forgedBy(strings.Repeat("1.", 500) + "1"), -32602},
		"a forged position": {forgedBy("0.0x"), -32602},
	} {
		if got := s.events(t, 400, "/mcp", token, "subscribe", c.params); got.Error.Code != c.code {
			t.Errorf("%s: %+v", name, got.Error)
		}
	}
	reader := s.agent(t, operator, "tenant.events:read")
	s.Do(t, modern("/mcp", reader, "events/subscribe", "", subscription("all", in.URL))).Must(t, 403)
	writer := s.agent(t, operator, "tenant.webhooks:write")
	s.Do(t, modern("/mcp", writer, "events/subscribe", "", subscription("all", in.URL))).Must(t, 403)
	for i := range webhook.MaxEndpoints {
		s.events(t, 200, "/mcp", token, "subscribe", subscription("all", fmt.Sprintf("%s/%d", in.URL, i)))
	}
	got := s.events(t, 400, "/mcp", token, "subscribe", subscription("all", in.URL+"/x"))
	if got.Error.Code != -32013 {
		t.Errorf("one too many: %+v", got.Error)
	}
	direct, one := s.Token(t, operator), s.hooks(t)[0]
	s.Post(t, direct, "/api/v1/webhooks", `{"url":"https://hooks.example/"}`).Must(t, 409)
	s.Patch(t, direct, "/api/v1/webhooks/"+one.ID, `{"url":"https://hooks.example/"}`).Must(t, 409)
	s.Post(t, direct, "/api/v1/webhooks/"+one.ID+"/rotate", `{}`).Must(t, 409)
	s.Do(t, apptest.Request{Method: "DELETE", Path: "/api/v1/webhooks/" + one.ID, Token: direct}).Must(t, 200)
	if len(s.hooks(t)) != webhook.MaxEndpoints-1 {
		t.Error("an operator cannot remove a subscription")
	}
}
