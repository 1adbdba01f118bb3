package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/app/apptest"
)

// TestAgreementIsUsedOnce: a confirmation allows one PATCH. A repeated call
// returns the first response and does not undo later changes, even if the first
// call changed nothing. It costs no extra round trip.
func TestAgreementIsUsedOnce(t *testing.T) {
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
			yes := modern(address, token, "tools/call", c.tool, `"name":"`+c.tool+`","arguments":`+c.agreed+
				`,"requestState":"`+asked.Result.RequestState+
				`","inputResponses":{"agreed":{"action":"accept","content":{"agreed":true}}}`)
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
				t.Errorf("asked anew: %+v", got)
			}
		})
	}
}
