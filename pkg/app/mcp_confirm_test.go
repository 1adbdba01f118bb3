package app_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/data/audit"
)

// agree returns the call after the person confirmed it.
func agree(path, token, tool, arguments string, asked toolAnswer) apptest.Request {
	return modern(path, token, "tools/call", tool, `"name":"`+tool+`","arguments":`+arguments+
		`,"requestState":"`+asked.Result.RequestState+
		`","inputResponses":{"agreed":{"action":"accept","content":{"agreed":true}}}`)
}

// TestRequestStateIsVerified: a requestState that was issued for another call, or
// has expired, is rejected whatever the person answered, and nothing changes.
func TestRequestStateIsVerified(t *testing.T) {
	s := newSuite(t)
	const address, tool = "/mcp/rider/metro", "svc_request_ride"
	const ride = `{"originAddress":"A","originLat":1,"originLng":2}`
	elsewhere := strings.Replace(ride, `"A"`, `"B"`, 1)
	rider := s.actors[authz.Rider]
	token, other := s.agent(t, rider), s.agent(t, rider)
	asked := s.call(t, toolCall(address, token, tool, ride))
	changed := asked
	changed.Result.RequestState += "-TAMPERED"
	late := func(t *testing.T) { s.Clock.Advance(11 * time.Minute) }
	for _, c := range []struct {
		name    string
		request apptest.Request
		before  func(*testing.T)
	}{
		{"changed", agree(address, token, tool, ride, changed), nil},
		{"of other arguments", agree(address, token, tool, elsewhere, asked), nil},
		{"of no key", agree(address, token, tool, strings.Replace(ride, "{", `{"idempotencyKey":"k",`, 1), asked), nil},
		{"of another token", agree(address, other, tool, ride, asked), nil},
		{"expired", agree(address, token, tool, ride, asked), late},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.before != nil {
				c.before(t)
			}
			declined := c.request
			declined.Body = strings.Replace(declined.Body, `"agreed":true`, `"agreed":false`, 1)
			for _, r := range []apptest.Request{c.request, declined} {
				got := apptest.JSON[toolAnswer](t, s.Do(t, r).Must(t, 400))
				if got.Error.Code != -32602 || !strings.Contains(got.Error.Message, "requestState") {
					t.Errorf("%+v", got)
				}
			}
		})
	}
	trips := s.Get(t, s.Token(t, rider), "/api/v1/me/trips").Must(t, 200)
	if strings.Contains(string(trips.Body), "trp_") {
		t.Errorf("a trip was made: %s", trips.Body)
	}
	s.call(t, agree(address, token, tool, ride, s.call(t, toolCall(address, token, tool, ride))))
	trips = s.Get(t, s.Token(t, rider), "/api/v1/me/trips").Must(t, 200)
	if strings.Count(string(trips.Body), `"id":"trp_`) != 1 {
		t.Errorf("after a valid state: %s", trips.Body)
	}
}

// TestLateAgreement: a confirmation is bound to the values that the person read.
// If it is used late, it changes no other values, and a trip that is no longer in
// that state rejects it.
func TestLateAgreement(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	operator, rider := s.actors[authz.Dashboard], s.actors[authz.Rider]
	const update, named = "svc_update_branding", `{"appName":"Agreed"}`
	token, direct := s.agent(t, operator), s.Token(t, operator)
	s.Patch(t, direct, "/api/v1/branding", `{"appName":"Before","primaryColor":"#000001"}`).Must(t, 200)
	asked := s.call(t, toolCall("/mcp", token, update, named))
	s.Patch(t, direct, "/api/v1/branding", `{"appName":"Between","primaryColor":"#000002"}`).Must(t, 200)
	s.call(t, agree("/mcp", token, update, named, asked))
	got := string(s.Get(t, direct, "/api/v1/branding").Must(t, 200).Body)
	if !strings.Contains(got, `"appName":"Agreed"`) || !strings.Contains(got, `"primaryColor":"#000002"`) {
		t.Errorf("after the confirmation: %s", got)
	}

	const address, cancel = "/mcp/rider/metro", "svc_cancel_my_trip"
	token, direct = s.agent(t, rider), s.Token(t, rider)
	trip := apptest.JSON[struct{ ID string }](t, s.Post(t, direct, "/api/v1/me/trips",
		`{"originAddress":"A","originLat":1,"originLng":2}`).Must(t, 201)).ID
	arguments := `{"id":"` + trip + `","reason":"late"}`
	asked = s.call(t, toolCall(address, token, cancel, arguments))
	s.Post(t, direct, "/api/v1/me/trips/"+trip+"/cancel", `{"reason":"sooner"}`).Must(t, 200)
	if late := s.call(t, agree(address, token, cancel, arguments, asked)); late.refusal() != "invalid_state" {
		t.Errorf("a trip that was cancelled in between: %+v", late)
	}
}

// TestWrongCallsAreNotAsked: no person is asked to confirm a call whose values
// would be refused.
func TestWrongCallsAreNotAsked(t *testing.T) {
	s := newSuite(t)
	for name, test := range map[string]struct {
		audience                 authz.Audience
		address, tool, arguments string
	}{
		"branding":  {authz.Dashboard, "/mcp", "svc_update_branding", `{"logoUrl":"http://cdn.example/l.svg"}`},
		"no status": {authz.Driver, "/mcp/driver/metro", "svc_set_driver_status", `{}`},
		"two":       {authz.Driver, "/mcp/driver/metro", "svc_set_driver_status", `{"online":true,"status":"BUSY"}`},
		"half a pair": {authz.Rider, "/mcp/rider/metro", "svc_request_ride",
			`{"originAddress":"A","originLat":1,"originLng":2,"destLat":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.call(t, toolCall(test.address, s.agent(t, s.actors[test.audience]), test.tool, test.arguments))
			if got.Result.RequestState != "" || got.refusal() != "invalid_request" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestAuditNamesTheAgent: an entry that a request leaves in the audit log names
// the client, and the tool if an agent made the change.
func TestAuditNamesTheAgent(t *testing.T) {
	s := newSuite(t)
	const update, named = "svc_update_branding", `{"appName":"Agreed"}`
	operator := s.actors[authz.Dashboard]
	token := s.agent(t, operator)
	s.call(t, agree("/mcp", token, update, named, s.call(t, toolCall("/mcp", token, update, named))))
	s.Clock.Advance(time.Second)
	s.Patch(t, s.Token(t, operator), "/api/v1/branding", `{"appName":"By hand"}`).Must(t, 200)
	entries, _, err := audit.List(t.Context(), s.Tenant("metro"), "", 2)
	testkit.Must(t, err)
	type made struct{ what, who, tool string }
	var got []made
	for _, e := range entries {
		got = append(got, made{e.What, e.Who, e.Tool})
		if !strings.HasPrefix(e.Client, "cli_") {
			t.Errorf("the entry names no client: %+v", e)
		}
	}
	if want := []made{{"branding.set", operator.ID, ""}, {"branding.set", operator.ID, update}}; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestAgreementIsUsedOnce: a confirmation allows one PATCH. A repeated call
// returns the first response and does not undo later changes, even if the first
// call changed nothing. It costs no extra round trip.
func TestAgreementIsUsedOnce(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	operator, driver := s.actors[authz.Dashboard], s.actors[authz.Driver]
	const branding, status = "/api/v1/branding", "/api/v1/me/status"
	for name, c := range map[string]struct {
		actor                      apptest.Actor
		tool, path, agreed, before string
		after, list, want          string
	}{
		"status": {driver, "svc_set_driver_status", status, `{"online":true}`, `{"online":false}`, `{"status":"BUSY"}`,
			"/api/v1/drivers", `"status":"BUSY"`},
		"branding": {operator, "svc_update_branding", branding, `{"appName":"Agreed"}`, `{"appName":"Before"}`,
			`{"appName":"After"}`, branding, `"appName":"After"`},
		"nothing to change": {operator, "svc_update_branding", branding, `{"appName":"Agreed"}`, `{"appName":"Agreed"}`,
			`{"appName":"After"}`, branding, `"appName":"After"`},
	} {
		t.Run(name, func(t *testing.T) {
			address, token, direct := agentAddress(c.actor), s.agent(t, c.actor), s.Token(t, c.actor)
			set := func(body string) apptest.Answer {
				return s.Do(t, apptest.Request{Method: http.MethodPatch, Path: c.path, Token: direct, Body: body}).Must(t, 200)
			}
			set(c.before)
			plain := set(c.after).Seen.Usage.Requests
			set(c.before)
			asked := s.call(t, toolCall(address, token, c.tool, c.agreed))
			yes := agree(address, token, c.tool, c.agreed, asked)
			first := s.Do(t, yes).Must(t, 200)
			if asked.Result.ResultType != "input_required" || !strings.Contains(string(first.Body), `"isError":false`) ||
				first.Seen.Usage.Requests != plain {
				t.Fatalf("%+v, then %s in %d requests to the table, not %d", asked, first.Body, first.Seen.Usage.Requests, plain)
			}
			set(c.after)
			again := s.Do(t, yes).Must(t, 200)
			if string(again.Body) != string(first.Body) || again.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("repeated: %s, first: %s", again.Body, first.Body)
			}
			if got := s.Get(t, s.Token(t, operator), c.list).Must(t, 200); !strings.Contains(string(got.Body), c.want) {
				t.Errorf("a repeated yes undid a change: %s", got.Body)
			}
			s.Clock.Advance(time.Second)
			if got := s.call(t, toolCall(address, token, c.tool, c.agreed)); got.Result.ResultType != "input_required" ||
				got.Result.RequestState == asked.Result.RequestState {
				t.Errorf("asked again: %+v", got)
			}
		})
	}
}
