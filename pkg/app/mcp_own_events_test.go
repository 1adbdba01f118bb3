package app_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/domain/event"
	"svc/pkg/domain/webhook"
	"svc/pkg/oauth/flow"
)

// own returns the subscriptions of a person's agents.
func (s *suite) own(t *testing.T, a apptest.Actor) []webhook.Record {
	t.Helper()
	it, err := s.Tenant(a.Tenant).Get(t.Context(), webhook.BookKey(s.Tenant(a.Tenant), a.ID))
	testkit.Must(t, err)
	book, err := webhook.Kind.FromItem(it)
	testkit.Must(t, err)
	return book.Endpoints
}

// withoutOwn waits until a person's agents have no subscription.
func (s *suite) withoutOwn(t *testing.T, a apptest.Actor) {
	t.Helper()
	for range 100 {
		if len(s.own(t, a)) == 0 {
			return
		}
		s.Drain(t)
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("subscriptions are left: %+v", s.own(t, a))
}

// rides lets a rider request a ride, and returns its identifier.
func (s *suite) rides(t *testing.T, rider apptest.Actor) string {
	t.Helper()
	got := s.Post(t, s.SignIn(t, rider).AccessToken, "/api/v1/me/trips", `{"originAddress":"A","originLat":1,"originLng":2}`).
		Must(t, 201)
	s.Drain(t)
	return apptest.JSON[struct{ ID string }](t, got).ID
}

// agree subscribes: it answers the question of the server with yes.
func (s *suite) agree(t *testing.T, path, token, params string) eventAnswer {
	t.Helper()
	asked := s.events(t, 200, path, token, "subscribe", params)
	if asked.Result.ResultType != "input_required" {
		t.Fatalf("nobody is asked: %+v", asked)
	}
	return s.events(t, 200, path, token, "subscribe", params+`,"requestState":"`+asked.Result.RequestState+
		`","inputResponses":{"agreed":{"action":"accept","content":{"agreed":true}}}`)
}

// TestPersonsAgentSubscribes: a rider's agent gets what the rider reads at
// GET /me/events, signed, and nothing of another rider. Each way in which its access
// ends also ends the messages, and the company's endpoints are not concerned.
func TestPersonsAgentSubscribes(t *testing.T) {
	testkit.Long(t)
	const path = "/mcp/rider/metro"
	for name, end := range map[string]func(*suite, flow.Tokens, *inbox){
		"unsubscribed twice": func(s *suite, tokens flow.Tokens, in *inbox) {
			for range 2 {
				s.events(t, 200, path, tokens.AccessToken, "unsubscribe", `"name":"trip.requested","url":"`+in.URL+`"`)
			}
		},
		"token revoked": func(s *suite, tokens flow.Tokens, _ *inbox) { s.revoke(t, tokens.AccessToken) },
		"refresh token revoked an hour later": func(s *suite, tokens flow.Tokens, _ *inbox) {
			s.Clock.Advance(90 * time.Minute)
			s.Do(t, posted("/oauth/revoke", "token", tokens.RefreshToken, "client_id", tokens.ClientID)).Must(t, 200)
		},
		"agents may read only": func(s *suite, _ flow.Tokens, _ *inbox) { s.setAgentActions(t, authz.AgentsRead) },
		"disabled": func(s *suite, _ flow.Tokens, _ *inbox) {
			s.Patch(t, s.Token(t, s.actors[authz.Dashboard]), "/api/v1/customers/"+s.actors[authz.Rider].ID,
				`{"disabled":true}`).Must(t, 200)
		},
		"expired": func(s *suite, _ flow.Tokens, _ *inbox) { s.Clock.Advance(25 * time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			s, in := newSuite(t), newInbox(t)
			rider, other := s.actors[authz.Rider], s.Rider(t, "metro", "rita")
			tokens := s.agentTokens(t, rider)
			params := subscription("trip.requested", in.URL)
			made := s.agree(t, path, tokens.AccessToken, params).Result
			s.rides(t, other)
			mine := s.rides(t, rider)
			s.rides(t, other)
			got := in.waits(t, s, 2)
			hook, err := standardwebhooks.NewWebhook(eventSecret)
			testkit.Must(t, err)
			e := apptest.JSON[struct{ Data event.Event }](t, apptest.Answer{Body: got[1].body})
			want := s.page(t, s.SignIn(t, rider).AccessToken, "/api/v1/me/events?type=trip.requested").Items
			if hook.VerifyIgnoringTimestamp(got[1].body, got[1].header) != nil || e.Data.Resource != mine ||
				len(want) != 1 || e.Data != want[0] || got[1].header.Get("X-MCP-Subscription-Id") != made.ID {
				t.Errorf("%s, want %+v", got[1].body, want)
			}
			again := s.events(t, 200, path, tokens.AccessToken, "subscribe", params).Result
			if again.ID != made.ID || again.DeliveryStatus["active"] != true || len(s.own(t, rider)) != 1 ||
				len(s.hooks(t)) != 0 {
				t.Errorf("renewed: %+v", again)
			}
			end(s, tokens, in)
			if name == "disabled" {
				s.Post(t, s.Token(t, s.actors[authz.Dashboard]), "/api/v1/trips", fmt.Sprintf(
					`{"customerId":%q,"originAddress":"A","originLat":1,"originLng":2}`, rider.ID))
			} else {
				s.rides(t, rider)
			}
			s.Drain(t)
			if name != "disabled" {
				s.withoutOwn(t, rider)
			}
			if s.Still(t); len(in.take()) != 2 {
				t.Errorf("%d messages, want 2", len(in.take()))
			}
		})
	}
}

// TestDriversAgentSubscribes: a driver's agent gets the driver's events from the offer
// on, and no other driver's.
func TestDriversAgentSubscribes(t *testing.T) {
	s, in, others := newSuite(t), newInbox(t), newInbox(t)
	driver, stranger := s.actors[authz.Driver], s.Driver(t, "metro", "dora")
	path := agentAddress(driver)
	s.agree(t, path, s.agent(t, driver), subscription("all", in.URL))
	s.agree(t, path, s.agent(t, stranger), subscription("all", others.URL))
	in.waits(t, s, 1)
	others.waits(t, s, 1)
	trip := s.rides(t, s.actors[authz.Rider])
	s.Post(t, s.Token(t, s.actors[authz.Dashboard]), "/api/v1/trips/"+trip+"/assign", fmt.Sprintf(`{"driverId":%q}`,
		driver.ID)).Must(t, 200)
	got := in.waits(t, s, 2)
	s.Still(t)
	var types []string
	for _, one := range got[1:] {
		var e struct{ Data event.Event }
		testkit.Must(t, json.Unmarshal(one.body, &e))
		if e.Data.Data.DriverID != driver.ID {
			t.Errorf("of another: %s", one.body)
		}
		types = append(types, e.Data.Type)
	}
	if !slices.Contains(types, "trip.accepted") {
		t.Errorf("got %q", types)
	}
	for _, one := range others.take()[1:] {
		if strings.Contains(string(one.body), trip) {
			t.Errorf("another driver's agent got %s", one.body)
		}
	}
}

// TestPersonsSubscriptionsAreBounded: a person has at most four, which are not among the
// company's sixteen, and begins now. Types of others are no types.
func TestPersonsSubscriptionsAreBounded(t *testing.T) {
	testkit.Long(t)
	s, in := newSuite(t), newInbox(t)
	s.setAgentActions(t, authz.AgentsAll)
	rider := s.actors[authz.Rider]
	path, token := agentAddress(rider), s.agent(t, rider)
	s.rides(t, rider)
	for i := range webhook.MaxPersonal {
		made := s.events(t, 200, path, token, "subscribe", strings.Replace(subscription("all",
			fmt.Sprintf("%s/%d", in.URL, i)), "null", `"earliest"`, 1)).Result
		now := s.events(t, 200, path, token, "poll", `"name":"all","cursor":null`).Result
		if !made.Truncated || made.Cursor != now.Cursor {
			t.Errorf("begun in the past: %+v, now is %s", made, now.Cursor)
		}
	}
	if got := s.events(t, 400, path, token, "subscribe", subscription("all", in.URL+"/x")); got.Error.Code != -32013 {
		t.Errorf("one too many: %+v", got.Error)
	}
	second := s.Rider(t, "metro", "rita")
	s.events(t, 200, path, s.agent(t, second), "subscribe", subscription("all", in.URL))
	direct := s.Token(t, s.actors[authz.Dashboard])
	for range webhook.MaxEndpoints {
		s.Post(t, direct, "/api/v1/webhooks", `{"url":"https://hooks.example/"}`).Must(t, 201)
	}
	if len(s.own(t, rider)) != webhook.MaxPersonal || len(s.own(t, second)) != 1 {
		t.Errorf("the rider has %d, the other %d", len(s.own(t, rider)), len(s.own(t, second)))
	}
	for name, code := range map[string]int{"driver.updated": -32011, "webhook.disabled": -32011, "nothing": -32011} {
		if got := s.events(t, 400, path, token, "subscribe", subscription(name, in.URL)); got.Error.Code != code {
			t.Errorf("%s: %+v", name, got.Error)
		}
	}
	few := s.agent(t, rider, "rider.trips:read")
	s.Do(t, modern(path, few, "events/subscribe", "", subscription("all", in.URL))).Must(t, 403)
	s.events(t, 200, path, s.agent(t, second), "unsubscribe", `"name":"all","url":"`+in.URL+`/0"`)
	if len(s.own(t, rider)) != webhook.MaxPersonal {
		t.Error("another rider ended the subscription")
	}
}
