package app_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/domain/tenant"
	"svc/pkg/oauth/flow"
)

const (
	rideBody  = `{"originAddress":"A","originLat":1,"originLng":2}`
	placeBody = `{"address":"Home","lat":1,"lng":2}`
)

// setAgentActions changes what metro lets agents do.
func (s *suite) setAgentActions(t *testing.T, mode string) {
	t.Helper()
	s.Change(t, "metro", func(n *tenant.Tenant) { n.AgentActions = mode })
}

// atBoth returns the rider's tokens for the MCP server and the API. The client
// asked for both in one authorization.
func (s *suite) atBoth(t *testing.T) flow.Tokens {
	t.Helper()
	return s.SignInFor(t, s.actors[authz.Rider], "/mcp/rider/metro /api/v1")
}

// atAPI refreshes the tokens and asks for an access token for the API alone.
func (s *suite) atAPI(t *testing.T, from flow.Tokens) string {
	t.Helper()
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {from.RefreshToken},
		"client_id": {from.ClientID}, "resource": {s.URL + "/api/v1"}}
	a := s.Do(t, apptest.Request{Method: http.MethodPost, Path: "/oauth/token", Body: form.Encode(),
		Header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}).Must(t, 200)
	return apptest.JSON[flow.Tokens](t, a).AccessToken
}

// TestAgentsLimitsHoldAtTheAPI: a token of an authorization that named the MCP
// server is an agent's at the API too, even if the client narrowed it to the
// API. A token for the API alone is not an agent's.
func TestAgentsLimitsHoldAtTheAPI(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	s.setAgentActions(t, authz.AgentsAll) // the consent is to all
	both := s.atBoth(t)
	tokens := map[string]string{"both": both.AccessToken, "narrowed": s.atAPI(t, both)}
	app := s.Token(t, s.actors[authz.Rider])
	for _, mode := range []struct {
		name                 string
		read, save, ride, me int
		says                 []string
	}{
		{authz.AgentsOff, 403, 403, 403, 403, []string{"does not let agents act"}},
		{authz.AgentsRead, 200, 403, 403, 200, []string{"read only"}},
		{authz.AgentsConfirm, 200, 201, 403, 200, []string{"svc_request_ride", s.URL + "/mcp/rider/metro"}},
		{"", 200, 201, 403, 200, []string{"svc_request_ride", s.URL + "/mcp/rider/metro"}},
		{authz.AgentsAll, 200, 201, 201, 200, nil},
	} {
		s.setAgentActions(t, mode.name)
		for name, token := range tokens {
			read := s.Get(t, token, "/api/v1/me/trips")
			save := s.Post(t, token, "/api/v1/me/addresses", placeBody)
			me := s.Get(t, token, "/oauth/userinfo")
			ride := s.Post(t, token, "/api/v1/me/trips", rideBody)
			if read.Status != mode.read || save.Status != mode.save || me.Status != mode.me || ride.Status != mode.ride {
				t.Errorf("%q, %s: reading %d, saving %d, userinfo %d, a ride %d: %s", mode.name, name, read.Status,
					save.Status, me.Status, ride.Status, ride.Body)
			}
			for _, words := range mode.says {
				if ride.Code() != "feature_disabled" || !strings.Contains(string(ride.Body), words) {
					t.Errorf("%q, %s: %s", mode.name, name, ride.Body)
				}
			}
			if !read.Seen.Agent || !ride.Seen.Agent {
				t.Errorf("%q, %s: the log does not name an agent", mode.name, name)
			}
		}
		if a := s.Post(t, app, "/api/v1/me/trips", rideBody).Must(t, 201); a.Seen.Agent {
			t.Errorf("%q: the log names an application an agent", mode.name)
		}
	}
}

// TestConfirmationIsForTheMCPServer: at the API no header and no key replaces a
// confirmation, and a refused request leaves its key unused.
func TestConfirmationIsForTheMCPServer(t *testing.T) {
	s := newSuite(t)
	both := s.atBoth(t)
	keyed := apptest.Request{Method: http.MethodPost, Path: "/api/v1/me/trips", Token: both.AccessToken, Body: rideBody,
		Header: map[string]string{"Idempotency-Key": "one"}}
	s.Do(t, keyed).Must(t, 403)
	asked := s.call(t, toolCall("/mcp/rider/metro", both.AccessToken, "svc_request_ride", rideBody))
	keyed.Header["Idempotency-Key"] = asked.Result.RequestState
	s.Do(t, keyed).Must(t, 403)
	made := s.call(t, agree("/mcp/rider/metro", both.AccessToken, "svc_request_ride", rideBody, asked))
	if made.Result.IsError {
		t.Fatalf("confirmed: %+v", made)
	}
	trips := s.Get(t, s.Token(t, s.actors[authz.Rider]), "/api/v1/me/trips").Must(t, 200)
	if strings.Count(string(trips.Body), `"id":"trp_`) != 1 {
		t.Errorf("after one confirmation: %s", trips.Body)
	}
}

// TestConsentKeepsItsMode: if the tenant lets agents do more after the person
// consented, the person's consent still holds, in every token of it. If the
// tenant lets them do less, that holds at once.
func TestConsentKeepsItsMode(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	ride := func(token string) toolAnswer {
		t.Helper()
		return s.call(t, toolCall("/mcp/rider/metro", token, "svc_request_ride", rideBody))
	}
	s.setAgentActions(t, authz.AgentsConfirm)
	both := s.atBoth(t)
	s.setAgentActions(t, authz.AgentsRead)
	reader := s.agent(t, s.actors[authz.Rider])
	s.setAgentActions(t, authz.AgentsAll)
	if got := ride(both.AccessToken); got.Result.ResultType != "input_required" {
		t.Errorf("consent to confirm, now all: %+v", got)
	}
	if got := ride(reader); got.refusal() != "feature_disabled" || !strings.Contains(got.Result.Content[0].Text,
		"consent again") {
		t.Errorf("consent to read, now all: %+v", got)
	}
	for name, token := range map[string]string{"first": both.AccessToken, "refreshed": s.atAPI(t, both)} {
		if a := s.Post(t, token, "/api/v1/me/trips", rideBody); a.Status != 403 {
			t.Errorf("%s: consent to confirm, now all: %d %s", name, a.Status, a.Body)
		}
	}
	free := s.agent(t, s.actors[authz.Rider])
	if got := ride(free); got.Result.ResultType != "complete" || got.Result.IsError {
		t.Errorf("consent to all: %+v", got)
	}
	s.setAgentActions(t, authz.AgentsRead)
	if got := ride(free); got.refusal() != "feature_disabled" {
		t.Errorf("consent to all, now read: %+v", got)
	}
}
