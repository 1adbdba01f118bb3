package app_test

import (
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"svc/pkg/app"
	"svc/pkg/app/apptest"
	"svc/pkg/authz"
	"svc/pkg/local/demo"
	"svc/pkg/reference"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	documentFile = "../../docs/openapi.json"
	examplesFile = "../reference/examples.json"
	pageFile     = "../reference/published/page.html"
)

// tour calls every operation once on the demo data, as its people would.
func tour(t *testing.T, s *apptest.Service) map[string]apptest.Answer {
	ctx := context.Background()
	_, err := demo.Load(ctx, s.DB, s.Clock.Now())
	must(t, err)
	s.Drain(t)
	token := func(audience authz.Audience, email string) string {
		return s.Token(t, apptest.Actor{Tenant: "metro", Audience: audience, Email: email})
	}
	op, rider, driver := token(authz.Dashboard, "operator@metro.example"), token(authz.Rider, "rider1@metro.example"), token(authz.Driver, "driver1@metro.example")
	answers := map[string]apptest.Answer{}
	call := func(id, token, method, path, body string) apptest.Answer {
		t.Helper()
		a := s.Do(t, apptest.Request{Method: method, Path: "/api/v1" + path, Token: token, Body: body})
		if a.Status >= 300 {
			t.Fatalf("%s: %d %s", id, a.Status, a.Body)
		}
		if a.Seen.Operation != id {
			t.Fatalf("%s answered as %s", id, a.Seen.Operation)
		}
		answers[id] = a
		return a
	}
	type item struct{ ID string }
	type list struct{ Items []item }
	get := func(id, token, path string) { call(id, token, http.MethodGet, path, "") }
	get("svc_me", rider, "/me")
	get("svc_list_services", op, "/services")
	service := apptest.JSON[list](t, answers["svc_list_services"]).Items[0].ID
	ride := `{"originAddress":"350 5th Ave","originLat":40.7484,"originLng":-73.9857,"destAddress":"JFK Airport, Terminal 4","destLat":40.6441,"destLng":-73.7821,"paymentType":"CARD","notes":"Two suitcases","serviceTypeId":"` + service + `"}`
	call("svc_request_ride", rider, http.MethodPost, "/me/trips", ride)
	cancelled := apptest.JSON[item](t, answers["svc_request_ride"]).ID
	call("svc_cancel_my_trip", rider, http.MethodPost, "/me/trips/"+cancelled+"/cancel", `{"reason":"Plans changed"}`)
	call("svc_request_ride", rider, http.MethodPost, "/me/trips", ride)
	trip := apptest.JSON[item](t, answers["svc_request_ride"]).ID
	call("svc_set_driver_status", driver, http.MethodPatch, "/me/status", `{"online":true}`)
	call("svc_accept_trip", driver, http.MethodPost, "/me/trips/"+trip+"/accept", "")
	call("svc_mark_arrived", driver, http.MethodPost, "/me/trips/"+trip+"/arrived", "")
	call("svc_start_trip", driver, http.MethodPost, "/me/trips/"+trip+"/start", "")
	call("svc_complete_trip", driver, http.MethodPost, "/me/trips/"+trip+"/complete", `{"finalFare":41.5,"actualDistance":27.3,"actualDuration":2460}`)
	call("svc_save_address", rider, http.MethodPost, "/me/addresses", `{"address":"350 5th Ave, New York","lat":40.7484,"lng":-73.9857,"label":"Work"}`)
	draft := call("svc_submit_feedback", op, http.MethodPost, "/feedback", `{"title":"Scheduled rides","body":"Riders ask to book for tomorrow morning.","type":"IDEA","titleEn":"Scheduled rides","category":"rides"}`)
	post := apptest.JSON[item](t, draft).ID
	call("svc_comment_feedback", op, http.MethodPost, "/feedback/"+post+"/comments", `{"body":"Airports first, please."}`)
	call("svc_unvote_feedback", op, http.MethodDelete, "/feedback/"+post+"/vote", "")
	call("svc_vote_feedback", op, http.MethodPost, "/feedback/"+post+"/vote", "")
	call("svc_update_branding", op, http.MethodPatch, "/branding", `{"primaryColor":"#0b57d0","supportUrl":"https://metro.example/help"}`)
	s.Drain(t)
	for _, c := range []struct{ id, token, path string }{
		{"svc_list_trips", op, "/trips?limit=2"}, {"svc_get_trip", op, "/trips/" + trip}, {"svc_list_drivers", op, "/drivers?limit=2"},
		{"svc_list_customers", op, "/customers?q=" + url.QueryEscape("a") + "&limit=2"}, {"svc_get_settings", op, "/settings"}, {"svc_list_zones", op, "/zones"},
		{"svc_get_branding", op, "/branding"}, {"svc_reports_summary", op, "/reports/summary"}, {"svc_wallet_totals", op, "/wallets"},
		{"svc_list_businesses", op, "/businesses?limit=2"}, {"svc_list_orders", op, "/orders?limit=2"}, {"svc_search_feedback", op, "/feedback?limit=2"},
		{"svc_get_feedback", op, "/feedback/" + post}, {"svc_my_trips", rider, "/me/trips?limit=2"}, {"svc_list_addresses", rider, "/me/addresses"},
		{"svc_my_wallet", driver, "/me/wallet"}, {"svc_list_payment_methods", rider, "/me/payment-methods"}, {"svc_my_orders", rider, "/me/orders?limit=2"},
	} {
		get(c.id, c.token, c.path)
	}
	return answers
}

// TestEveryAnswerIsAsDescribed: each operation's answer to a real call holds to
// the document's schema, and the recorded example has the same form.
func TestEveryAnswerIsAsDescribed(t *testing.T) {
	s := apptest.With(t, apptest.Options{Bare: true})
	answers := tour(t, s)
	doc, err := reference.Document(s.URL, app.Rows(nil)...)
	must(t, err)
	recorded := map[string]json.RawMessage{}
	for _, row := range app.Rows(nil) {
		a, called := answers[row.ID]
		if !called {
			t.Errorf("%s was not called", row.ID)
			continue
		}
		if a.Status != row.Status {
			t.Errorf("%s: %d, the row says %d", row.ID, a.Status, row.Status)
		}
		recorded[row.ID] = json.RawMessage(a.Body)
		for _, fault := range mismatch(doc, row.Method, row.Path, a) {
			t.Errorf("%s: %s in %s", row.ID, fault, a.Body)
		}
	}
	if *update {
		text, err := json.MarshalIndent(recorded, "", "  ")
		must(t, err)
		must(t, os.WriteFile(examplesFile, append(text, '\n'), 0o644))
	}
	text, err := os.ReadFile(examplesFile)
	must(t, err)
	kept, err := reference.Examples(text)
	must(t, err)
	for id, a := range answers {
		if diff := cmp.Diff(form(t, kept[id]), form(t, a.Body)); diff != "" {
			t.Errorf("the example of %s has another form than its answer (make golden): %s", id, diff)
		}
	}
}

func mismatch(doc *huma.OpenAPI, method, path string, a apptest.Answer) []string {
	item := doc.Paths[path]
	op := map[string]*huma.Operation{"GET": item.Get, "POST": item.Post, "PATCH": item.Patch, "DELETE": item.Delete}[method]
	response := op.Responses[map[int]string{200: "200", 201: "201"}[a.Status]]
	if response == nil {
		return []string{"no such answer"}
	}
	var value any
	if err := json.Unmarshal(a.Body, &value); err != nil {
		return []string{err.Error()}
	}
	result := &huma.ValidateResult{}
	huma.Validate(doc.Components.Schemas, response.Content["application/json"].Schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, value, result)
	var out []string
	for _, err := range result.Errors {
		out = append(out, err.Error())
	}
	return out
}

// form gives a JSON value's members and kinds; of an array only the first item.
func form(t *testing.T, text []byte) []string {
	t.Helper()
	var value any
	must(t, json.Unmarshal(text, &value))
	var out []string
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				walk(path+"."+name, member)
			}
		case []any:
			out = append(out, path+"[]")
			if len(v) > 0 {
				walk(path+"[]", v[0])
			}
		default:
			out = append(out, path)
		}
	}
	walk("", value)
	slices.Sort(out)
	return out
}

// TestReferencePage: the page and the document are served to anybody, and the
// document is what the rows make for the service's own address.
func TestReferencePage(t *testing.T) {
	s := apptest.New(t)
	for path, want := range map[string]string{"/docs": "svc_list_trips", "/": "/api/v1/me/trips", "/openapi.json": `"openapi": "3.1.0"`, "/health": `"ok"`} {
		a := s.Get(t, "", path).Must(t, 200)
		if !strings.Contains(string(a.Body), want) {
			t.Errorf("%s has no %q", path, want)
		}
	}
	text, _ := made(t, s.URL)
	if diff := cmp.Diff(string(text), string(s.Get(t, "", "/openapi.json").Must(t, 200).Body)); diff != "" {
		t.Errorf("the document of %s: %s", s.URL, diff)
	}
}

// made gives the document and the page as the rows make them.
func made(t *testing.T, baseURL string) (text, page []byte) {
	t.Helper()
	doc, err := reference.Document(baseURL, app.Rows(nil)...)
	must(t, err)
	recorded, err := os.ReadFile(examplesFile)
	must(t, err)
	examples, err := reference.Examples(recorded)
	must(t, err)
	text, err = reference.JSON(doc, examples)
	must(t, err)
	page, err = reference.Page(doc)
	must(t, err)
	for _, row := range app.Rows(nil) {
		if len(examples[row.ID]) == 0 {
			t.Errorf("%s has no example", row.ID)
		}
	}
	return text, page
}

// TestGoldenDocument comes after what records the examples: the OpenAPI document and the page in the repository, which
// are what is served, are the ones the rows make. A change of them is a change of the contract.
func TestGoldenDocument(t *testing.T) {
	text, page := made(t, "https://api.svc.example")
	for file, made := range map[string][]byte{documentFile: append(text, '\n'), pageFile: page} {
		if *update {
			must(t, os.WriteFile(file, made, 0o644))
		}
		want, err := os.ReadFile(file)
		must(t, err)
		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(made), "\n")); diff != "" {
			t.Errorf("%s is not what the rows make (make golden): %s", file, diff)
		}
	}
}
