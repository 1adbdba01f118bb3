package agents

import (
	"slices"
	"strings"
	"testing"
	"time"

	"svc/pkg/app"
	"svc/pkg/app/apptest"
	"svc/pkg/domain/dispatch"
	"svc/pkg/domain/trip"
	"svc/pkg/local/testkit"
)

// TestEveryResultIsOfItsSchema calls every tool of every audience. The client
// validates structured content against the tool's output schema, and throws an
// error on a mismatch.
func TestEveryResultIsOfItsSchema(t *testing.T) {
	testkit.Long(t)
	s := apptest.New(t)
	command, redirect := []string{node(t), "client.mjs"}, "http://127.0.0.1:9/cb"
	join := func(path string, who apptest.Actor) *agent {
		a := connect(t, s, command, task{URL: s.URL + path, Redirect: redirect}, who)
		t.Cleanup(a.stop)
		return a
	}
	rita, dan := s.Rider(t, "metro", "rita"), s.Driver(t, "metro", "dan")
	operator := join("/mcp", s.Operator(t, "metro", "olga"))
	rider := join("/mcp/rider/metro", rita)
	driver := join("/mcp/driver/metro", dan)
	called := map[string]bool{}
	call := func(a *agent, tool, id string, arguments map[string]any) answer {
		t.Helper()
		if arguments == nil {
			arguments = map[string]any{}
		}
		if id != "" {
			arguments["id"] = id
		}
		called[tool] = true
		got := a.call(tool, arguments)
		if got.failed != "" || got.IsError || len(got.StructuredContent) == 0 {
			t.Errorf("%s: %+v", tool, got)
		}
		return got
	}
	lists := map[*agent][]string{operator: operator.tools(), rider: rider.tools(), driver: driver.tools()}
	first, second := rider.ride(t, "Main St 1"), rider.ride(t, "Main St 2")
	called["svc_request_ride"] = true
	call(driver, "svc_set_driver_status", "", map[string]any{"online": true})
	call(driver, "svc_report_location", "", map[string]any{"lat": 40.7, "lng": -74, "recordedAt": "2026-01-01T00:00:00Z"})
	for _, step := range []string{"svc_accept_trip", "svc_mark_arrived", "svc_start_trip", "svc_complete_trip"} {
		call(driver, step, first, nil)
	}
	back := rider.ride(t, "Main St 4")
	call(driver, "svc_accept_trip", back, nil)
	call(driver, "svc_release_trip", back, map[string]any{"reason": "ill"})
	tn := s.Tenant("metro")
	it, err := tn.Get(t.Context(), trip.Key(tn, back))
	testkit.Must(t, err)
	released, err := trip.FromItem(it)
	testkit.Must(t, err)
	testkit.Must(t, tn.Load(t.Context(), dispatch.NewOffer(released, 1, s.Clock.Now().Add(time.Hour)).Item(tn, dan.ID)))
	call(driver, "svc_decline_trip", back, nil)
	call(rider, "svc_cancel_my_trip", second, map[string]any{"reason": "late"})
	s.ServiceType(t, "metro", "0.2")
	call(rider, "svc_estimate_ride", "", map[string]any{"originLat": 40.7, "originLng": -74, "destLat": 40.8,
		"destLng": -73.9})
	call(rider, "svc_save_address", "", map[string]any{"address": "Home", "lat": 1.5, "lng": 2.5})
	call(operator, "svc_update_branding", "", map[string]any{"appName": "Metro"})
	call(operator, "svc_update_settings", "", map[string]any{"payments": map[string]any{"cash": nil}})
	for _, kind := range []string{"driver", "customer"} {
		made := idOf(t, call(operator, "svc_invite_"+kind, "", map[string]any{"email": kind + "9@metro.example",
			"firstName": "Iris"}))
		call(operator, "svc_get_"+kind, made, nil)
		call(operator, "svc_update_"+kind, made, map[string]any{"disabled": true})
		if kind == "driver" {
			paper := idOf(t, call(operator, "svc_create_driver_document", made, map[string]any{"kind": "INSURANCE"}))
			call(operator, "svc_list_driver_documents", made, nil)
			call(operator, "svc_update_driver_document", made, map[string]any{"document": paper, "state": "APPROVED"})
		}
	}
	home := idOf(t, call(rider, "svc_save_address", "", map[string]any{"address": "Gone", "lat": 3, "lng": 4}))
	call(rider, "svc_delete_address", home, nil)
	call(rider, "svc_update_me", "", map[string]any{"lastName": "Novak"})
	card := idOf(t, call(rider, "svc_add_payment_method", "", map[string]any{"token": "pm_1", "brand": "visa",
		"last4": "4242", "expMonth": 4, "expYear": 2031}))
	call(rider, "svc_choose_payment_method", card, map[string]any{"isDefault": true})
	call(rider, "svc_remove_payment_method", card, nil)
	area := map[string]any{"type": "Polygon", "coordinates": [][][]int{{{0, 0}, {1, 0}, {1, 1}, {0, 0}}}}
	for kind, create := range map[string]map[string]any{"service": {"name": "Van", "baseFare": 5},
		"zone": {"name": "Pier", "area": area}} {
		made := idOf(t, call(operator, "svc_create_"+kind, "", create))
		call(operator, "svc_get_"+kind, made, nil)
		call(operator, "svc_update_"+kind, made, map[string]any{"name": "Other"})
		call(operator, "svc_delete_"+kind, made, nil)
	}
	hooked(t, s, func(tool, id string, arguments map[string]any) answer { return call(operator, tool, id, arguments) })
	call(operator, "svc_get_trip", first, nil)
	call(rider, "svc_rate_trip", first, map[string]any{"rating": 5})
	file := idOf(t, call(operator, "svc_create_export", "", map[string]any{"kind": "trips"}))
	call(operator, "svc_get_export", file, nil)
	booked := idOf(t, call(operator, "svc_book_trip", "", map[string]any{"customerId": rita.ID, "originAddress": "Home",
		"originLat": 1, "originLng": 2}))
	given := map[string]any{"driverId": dan.ID}
	call(operator, "svc_assign_trip", booked, given)
	call(operator, "svc_unassign_trip", booked, map[string]any{"reason": "ill"})
	call(operator, "svc_assign_trip", booked, given)
	for _, step := range []string{"svc_arrive_for_driver", "svc_start_for_driver", "svc_complete_for_driver"} {
		call(operator, step, booked, nil)
	}
	third := rider.ride(t, "Main St 3")
	call(operator, "svc_cancel_trip", third, map[string]any{"reason": "no car"})
	call(operator, "svc_delete_trip", third, nil)
	post := idOf(t, call(operator, "svc_submit_feedback", "", map[string]any{"title": "A title", "body": "A body"}))
	call(operator, "svc_comment_feedback", post, map[string]any{"body": "A comment"})
	wallet := map[string]any{"driverId": dan.ID}
	call(operator, "svc_list_postings", "", wallet)
	wallet["type"], wallet["amount"], wallet["description"] = "TOP_UP", 5, "Paid in"
	call(operator, "svc_post_to_wallet", "", wallet)
	call(operator, "svc_correct_fare", first, map[string]any{"finalFare": 12.5, "reason": "A typo"})
	call(operator, "svc_get_receipt", first, nil)
	for _, tool := range []string{"svc_my_trip", "svc_my_receipt"} {
		call(rider, tool, first, nil)
		call(driver, tool, first, nil)
	}
	for _, end := range []string{"pay", "refuse", "cancel"} {
		asked, by, more := idOf(t, call(driver, "svc_request_withdrawal", "", map[string]any{"amount": 1})), operator,
			map[string]any{}
		if end == "cancel" {
			by = driver
		}
		if end == "refuse" {
			more["reason"] = "No account"
		}
		call(by, "svc_"+end+"_withdrawal", asked, more)
	}
	for _, tool := range []string{"svc_vote_feedback", "svc_unvote_feedback", "svc_get_feedback"} {
		call(operator, tool, post, nil)
	}
	s.Drain(t)
	for a, tools := range lists {
		for _, tool := range tools {
			if !called[tool] || !needsArguments(tool) {
				call(a, tool, "", nil)
			}
		}
	}
	for _, r := range app.Rows(s.DB) {
		if !called[r.ID] {
			t.Errorf("%s was not called", r.ID)
		}
	}
}

// needsArguments reports whether the tool was called with arguments above.
func needsArguments(tool string) bool {
	steps := []string{"rate", "request", "cancel", "accept", "arrived", "start", "complete", "save", "set_", "update",
		"estimate",
		"create", "delete", "payment_method", "get_service", "get_zone", "get_trip", "get_feedback", "_export", "submit",
		"comment", "vote",
		"invite", "driver_documents", "get_driver", "get_customer",
		"book", "assign", "arrive", "release", "decline", "report_location", "posting", "post_to", "fare",
		"receipt", "my_trip", "withdrawal", "webhook"}
	return slices.ContainsFunc(steps, func(step string) bool { return strings.Contains(tool, step) })
}
