package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/app"
	"svc/pkg/edge/api"
)

// exclusive has the rows whose body names either a rider or a driver.
var exclusive = map[string]bool{"svc_post_to_wallet": true, "svc_create_privacy_request": true}

// naming returns the request to the row in which the member or parameter is the id.
func (e estate) naming(t *testing.T, r api.Row, path, member, id string) apptest.Request {
	t.Helper()
	out := apptest.Request{Method: r.Method, Path: path, Body: e.body(r)}
	if r.Method == http.MethodGet {
		out.Path += "?" + member + "=" + id
		return out
	}
	body := map[string]any{}
	testkit.Must(t, json.Unmarshal([]byte(out.Body), &body))
	if exclusive[r.ID] && (member == "customerId" || member == "driverId") {
		delete(body, "customerId")
		delete(body, "driverId")
	}
	body[member] = id
	if strings.HasSuffix(member, "Ids") {
		body[member] = []string{id}
	}
	text, err := json.Marshal(body)
	testkit.Must(t, err)
	out.Body = string(text)
	return out
}

// TestOtherTenantsIdentifiersInBodies: a body or a query that names a resource of
// another tenant gets the same response as one that names nothing, in every row and
// every member, and changes nothing.
func TestOtherTenantsIdentifiersInBodies(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	metro, harbor := s.newEstate(t, "metro"), s.newEstate(t, "harbor")
	s.Drain(t)
	tried := 0
	for _, r := range app.Rows(s.DB) {
		for _, member := range members()[r.ID] {
			kind := references[member]
			if kind == "" {
				t.Errorf("%s: add the kind of %s to references", r.ID, member)
				continue
			}
			path := r.Path
			if strings.Contains(path, "{") {
				path = pathOf(t, harbor, r)
			}
			there, nowhere := metro.ids[kind], s.missing(kind)
			for audience := range r.Policy.Scopes {
				do := func(id string) apptest.Answer {
					q := harbor.naming(t, r, path, member, id)
					q.Token = harbor.tokens[audience]
					return s.Do(t, q)
				}
				do(nowhere) // a process reads some of the company's items once
				a, b := do(there), do(nowhere)
				if tried++; r.Method != http.MethodGet && a.Status < 400 {
					t.Errorf("%s takes another tenant's %s: %d %s", r.ID, member, a.Status, a.Body)
				}
				s.alike(t, r.ID+" "+member, a, b, there, nowhere)
			}
		}
	}
	if tried < 20 {
		t.Errorf("only %d identifiers", tried)
	}
	order := func(item string) apptest.Answer {
		return s.Post(t, harbor.tokens[authz.Rider], "/api/v1/me/orders", strings.Replace(harbor.own(
			examples()["svc_place_order"]), harbor.ids["itm"], item, 1)).Must(t, 400)
	}
	nowhere := s.missing("itm")
	s.alike(t, "svc_place_order menuItemId", order(metro.ids["itm"]), order(nowhere), metro.ids["itm"], nowhere)
}

// TestAgentsSeeNoOtherTenant: for every tool that takes an identifier, the
// result for another tenant's identifier equals that for a missing one, byte
// for byte.
func TestAgentsSeeNoOtherTenant(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	s.agentsMayAll(t)
	metro, harbor := s.newEstate(t, "metro"), s.newEstate(t, "harbor")
	s.Drain(t)
	tokens := map[authz.Audience]string{}
	for audience, actor := range harbor.actors {
		tokens[audience] = s.agent(t, actor)
	}
	s.everyPlace(t, harbor, metro, func(r api.Row, there, nowhere string) {
		for audience := range r.Policy.Scopes {
			if audience == r.NoTool {
				continue
			}
			call := func(path string) apptest.Answer {
				return s.Do(t, toolCall(agentAddress(harbor.actors[audience]), tokens[audience], r.ID,
					arguments(t, r, path, harbor.body(r)))).Must(t, 200)
			}
			a := call(there)
			if s.alike(t, r.ID, a, call(nowhere), "", "-"); !strings.Contains(string(a.Body), "not_found") {
				t.Errorf("%s: %s", r.ID, a.Body)
			}
		}
	})
	for _, r := range app.Rows(s.DB) {
		if r.Method != http.MethodGet || strings.Contains(r.Path, "{") || strings.HasPrefix(r.Path, "/api/v1/feedback") {
			continue
		}
		for audience := range r.Policy.Scopes {
			if audience == r.NoTool {
				continue
			}
			body := string(s.Do(t, toolCall(agentAddress(harbor.actors[audience]), tokens[audience], r.ID, "{}")).Must(t,
				200).Body)
			for kind, id := range metro.ids {
				if kind != "usr" && strings.Contains(body, id) {
					t.Errorf("%s shows harbor what is metro's: %s", r.ID, body)
				}
			}
		}
	}
}

// arguments returns the arguments of the row's tool for the path and the body.
func arguments(t *testing.T, r api.Row, path, body string) string {
	t.Helper()
	out := map[string]any{}
	if body != "" {
		testkit.Must(t, json.Unmarshal([]byte(body), &out))
	}
	names, values := strings.Split(r.Path, "/"), strings.Split(path, "/")
	for i, name := range names {
		if strings.HasPrefix(name, "{") {
			out[strings.Trim(name, "{}")] = values[i]
		}
	}
	text, err := json.Marshal(out)
	testkit.Must(t, err)
	return string(text)
}

// unasked has the tools that change something and need no confirmation, each with the
// reason.
var unasked = map[string]string{
	"svc_vote_feedback":   "a vote can be taken back",
	"svc_unvote_feedback": "a vote can be given again",
	"svc_save_address":    "an address is for the rider alone",
	"svc_estimate_ride":   "an estimate binds nobody",
	"svc_report_location": "a position is replaced seconds later",

	"svc_create_machine_secret": "no agent can make a secret",
}

// TestAgentsAskBeforeTheyAct: every tool that changes something asks the person
// first, with the values of the call, and until then writes nothing.
func TestAgentsAskBeforeTheyAct(t *testing.T) {
	s := newSuite(t)
	metro := s.newEstate(t, "metro")
	s.Still(t)
	tokens := map[authz.Audience]string{}
	for audience, actor := range metro.actors {
		tokens[audience] = s.agent(t, actor)
	}
	for _, r := range app.Rows(s.DB) {
		if r.Method == http.MethodGet {
			continue
		}
		if (r.Confirm == "") != (unasked[r.ID] != "") {
			t.Errorf("%s changes something: it needs api.Confirm, or its reason in unasked", r.ID)
		}
		if r.Confirm == "" {
			continue
		}
		path := r.Path
		if strings.Contains(path, "{") && !strings.HasPrefix(path, "/api/v1/feedback/") {
			path = pathOf(t, metro, r)
		}
		for audience := range r.Policy.Scopes {
			if audience == r.NoTool {
				continue
			}
			with := arguments(t, r, path, metro.body(r))
			a := s.Do(t, toolCall(agentAddress(metro.actors[audience]), tokens[audience], r.ID, with)).Must(t, 200)
			got := apptest.JSON[toolAnswer](t, a)
			question := got.Result.InputRequests["agreed"].Params.Message
			if got.Result.ResultType != "input_required" || !strings.Contains(question, r.Confirm) {
				t.Errorf("%s %s: %s", r.ID, with, a.Body)
			}
			for _, id := range identifier.FindAllString(with, -1) {
				if !strings.Contains(question, id) {
					t.Errorf("%s asks without %s: %s", r.ID, id, question)
				}
			}
			if a.Seen.Usage.WriteUnits > 0 {
				t.Errorf("%s writes before the person has agreed", r.ID)
			}
		}
	}
}
