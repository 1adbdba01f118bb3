package agents

import (
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/app"
	"svc/pkg/domain/dispatch"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
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
	c := &caller{t, s, rita, dan, operator, rider, driver, map[string]bool{}}
	lists := map[*agent][]string{operator: operator.tools(), rider: rider.tools(), driver: driver.tools()}
	first := c.rides()
	c.own()
	c.people()
	c.catalog()
	c.operate(first)
	c.money(first)
	s.Drain(t)
	for a, tools := range lists {
		for _, tool := range tools {
			if !c.called[tool] || !needsArguments(tool) {
				c.call(a, tool, "", nil)
			}
		}
	}
	for _, r := range app.Rows(s.DB) {
		if !c.called[r.ID] && r.ID != "svc_stream_events" { // it is no tool
			t.Errorf("%s was not called", r.ID)
		}
	}
}

// caller calls the tools of three people of one tenant.
type caller struct {
	*testing.T
	s                       *apptest.Service
	rita, dan               apptest.Actor
	operator, rider, driver *agent
	called                  map[string]bool
}

func (c *caller) call(a *agent, tool, id string, arguments map[string]any) answer {
	c.Helper()
	if arguments == nil {
		arguments = map[string]any{}
	}
	if id != "" {
		arguments["id"] = id
	}
	c.called[tool] = true
	got := a.call(tool, arguments)
	if got.failed != "" || got.IsError || len(got.StructuredContent) == 0 {
		c.Errorf("%s: %+v", tool, got)
	}
	return got
}

// rides has a ride driven, one released and declined, and one cancelled. It
// returns the first.
func (c *caller) rides() (first string) {
	first = c.rider.ride(c.T, "Main St 1")
	second := c.rider.ride(c.T, "Main St 2")
	c.called["svc_request_ride"] = true
	c.call(c.driver, "svc_set_driver_status", "", map[string]any{"online": true})
	c.call(c.driver, "svc_report_location", "", map[string]any{"lat": 40.7, "lng": -74,
		"recordedAt": "2026-01-01T00:00:00Z"})
	for _, step := range []string{"svc_accept_trip", "svc_mark_arrived", "svc_start_trip", "svc_complete_trip"} {
		c.call(c.driver, step, first, nil)
	}
	c.missed("svc_report_no_show", c.driver, "Main St 5")
	c.missed("svc_report_no_show_for_driver", c.operator, "Main St 6")
	back := c.rider.ride(c.T, "Main St 4")
	c.call(c.driver, "svc_accept_trip", back, nil)
	c.call(c.driver, "svc_release_trip", back, map[string]any{"reason": "ill"})
	tn := c.s.Tenant("metro")
	it, err := tn.Get(c.Context(), trip.Key(tn, back))
	testkit.Must(c, err)
	released, err := trip.FromItem(it)
	testkit.Must(c, err)
	offer := dispatch.NewOffer(released, 1, c.s.Clock.Now().Add(time.Hour))
	testkit.Must(c, tn.Load(c.Context(), offer.Item(tn, c.dan.ID)))
	c.call(c.driver, "svc_decline_trip", back, nil)
	c.call(c.rider, "svc_cancel_my_trip", second, map[string]any{"reason": "late"})
	return first
}

// missed has a ride end as a no-show, after the driver has waited.
func (c *caller) missed(tool string, by *agent, from string) {
	id := c.rider.ride(c.T, from)
	c.call(c.driver, "svc_accept_trip", id, nil)
	c.call(c.driver, "svc_mark_arrived", id, nil)
	tn := c.s.Tenant("metro")
	it, err := tn.Get(c.Context(), trip.Key(tn, id))
	testkit.Must(c, err)
	waited, err := trip.FromItem(it)
	testkit.Must(c, err)
	long := "2026-01-01T00:00:00.000Z"
	waited.ArrivedAt = &long
	testkit.Must(c, tn.Load(c.Context(), waited.Item(tn, 1)))
	c.call(by, tool, id, nil)
}

// ended returns an import of past trips that is done.
func (c *caller) ended() string {
	id := idOf(c.T, c.call(c.operator, "svc_create_import", "", map[string]any{"kind": "trips"}))
	tn := c.s.Tenant("metro")
	it, err := tn.Get(c.Context(), imports.Key(tn, id))
	testkit.Must(c, err)
	one, err := imports.Kind.FromItem(it)
	testkit.Must(c, err)
	one.Status = imports.Done
	testkit.Must(c, tn.Load(c.Context(), imports.Kind.Item(tn, "", one)))
	return id
}

// own calls what a rider does alone.
func (c *caller) own() {
	c.s.ServiceType(c, "metro", "0.2")
	c.call(c.rider, "svc_estimate_ride", "", map[string]any{"originLat": 40.7, "originLng": -74, "destLat": 40.8,
		"destLng": -73.9})
	c.call(c.rider, "svc_save_address", "", map[string]any{"address": "Home", "lat": 1.5, "lng": 2.5})
	home := idOf(c.T, c.call(c.rider, "svc_save_address", "", map[string]any{"address": "Gone", "lat": 3, "lng": 4}))
	c.call(c.rider, "svc_delete_address", home, nil)
	c.call(c.rider, "svc_update_me", "", map[string]any{"lastName": "Novak"})
	card := idOf(c.T, c.call(c.rider, "svc_add_payment_method", "", map[string]any{"token": "pm_1", "brand": "visa",
		"last4": "4242", "expMonth": 4, "expYear": 2031}))
	c.call(c.rider, "svc_choose_payment_method", card, map[string]any{"isDefault": true})
	c.call(c.rider, "svc_remove_payment_method", card, nil)
}

// people calls what an operator does about people and settings.
func (c *caller) people() {
	c.call(c.operator, "svc_update_branding", "", map[string]any{"appName": "Metro"})
	c.call(c.operator, "svc_update_settings", "", map[string]any{"payments": map[string]any{"cash": nil}})
	for _, kind := range []string{"driver", "customer"} {
		made := idOf(c.T, c.call(c.operator, "svc_invite_"+kind, "", map[string]any{"email": kind + "9@metro.example",
			"firstName": "Iris"}))
		c.call(c.operator, "svc_get_"+kind, made, nil)
		c.call(c.operator, "svc_update_"+kind, made, map[string]any{"disabled": true})
		if kind == "driver" {
			paper := idOf(c.T, c.call(c.operator, "svc_create_driver_document", made, map[string]any{"kind": "INSURANCE"}))
			c.call(c.operator, "svc_list_driver_documents", made, nil)
			c.call(c.operator, "svc_update_driver_document", made, map[string]any{"document": paper, "state": "APPROVED"})
		}
	}
}

// catalog calls what an operator does about services, zones and webhooks.
func (c *caller) catalog() {
	area := map[string]any{"type": "Polygon", "coordinates": [][][]int{{{0, 0}, {1, 0}, {1, 1}, {0, 0}}}}
	for kind, create := range map[string]map[string]any{"service": {"name": "Van", "baseFare": 5},
		"zone": {"name": "Pier", "area": area}} {
		made := idOf(c.T, c.call(c.operator, "svc_create_"+kind, "", create))
		c.call(c.operator, "svc_get_"+kind, made, nil)
		c.call(c.operator, "svc_update_"+kind, made, map[string]any{"name": "Other"})
		c.call(c.operator, "svc_delete_"+kind, made, nil)
	}
	tn := c.s.Tenant("metro")
	tx := tn.Write()
	tenant.SetFlags(tx, tn, map[string]any{"sandbox": true})
	testkit.Must(c, tx.Commit(c.Context()))
	c.call(c.operator, "svc_advance_sandbox", "", map[string]any{"seconds": 60})
	c.business()
	hooked(c.T, c.s, func(tool, id string, arguments map[string]any) answer {
		return c.call(c.operator, tool, id, arguments)
	})
}

// business calls what an operator does about a business and its menu.
func (c *caller) business() {
	made := idOf(c.T, c.call(c.operator, "svc_create_business", "", map[string]any{"name": "Deli",
		"category": "restaurant", "address": "1 Street", "lat": 40.7, "lng": -74}))
	c.call(c.operator, "svc_get_business", made, nil)
	c.call(c.operator, "svc_update_business", made, map[string]any{"deliveryFee": 2})
	dish := idOf(c.T, c.call(c.operator, "svc_create_menu_item", made, map[string]any{"name": "Tea", "price": 3}))
	c.call(c.operator, "svc_update_menu_item", made, map[string]any{"item": dish, "price": 4})
	c.call(c.operator, "svc_list_menu", made, nil)
	c.call(c.rider, "svc_list_my_menu", made, nil)
	order := map[string]any{"businessId": made, "deliveryAddress": "1 Street",
		"items": []map[string]any{{"menuItemId": dish, "quantity": 1}}}
	placed := idOf(c.T, c.call(c.rider, "svc_place_order", "", order))
	c.call(c.rider, "svc_my_order", placed, nil)
	c.call(c.rider, "svc_cancel_my_order", placed, nil)
	placed = idOf(c.T, c.call(c.rider, "svc_place_order", "", order))
	c.call(c.operator, "svc_get_order", placed, nil)
	c.call(c.operator, "svc_update_order", placed, map[string]any{"status": "ACCEPTED"})
}

// operate calls what an operator does about trips, exports and feedback.
func (c *caller) operate(first string) {
	c.call(c.operator, "svc_get_trip", first, nil)
	c.call(c.rider, "svc_rate_trip", first, map[string]any{"rating": 5})
	file := idOf(c.T, c.call(c.operator, "svc_create_export", "", map[string]any{"kind": "trips"}))
	c.call(c.operator, "svc_get_export", file, nil)
	brought := idOf(c.T, c.call(c.operator, "svc_create_import", "", map[string]any{"kind": "customers"}))
	c.call(c.operator, "svc_get_import", brought, nil)
	c.call(c.operator, "svc_list_import_errors", brought, nil)
	c.call(c.operator, "svc_undo_import", c.ended(), nil)
	about := map[string]any{"kind": "erase", "customerId": c.rita.ID}
	asked := idOf(c.T, c.call(c.operator, "svc_create_privacy_request", "", about))
	c.call(c.operator, "svc_get_privacy_request", asked, nil)
	testkit.Must(c, c.s.Runtime.Scheduled()[app.Jobs](c.Context())) // it becomes ready
	c.call(c.operator, "svc_run_privacy_request", asked, nil)
	own := idOf(c.T, c.call(c.rider, "svc_create_my_privacy_request", "", map[string]any{"kind": "export"}))
	c.call(c.rider, "svc_get_my_privacy_request", own, nil)
	booked := idOf(c.T, c.call(c.operator, "svc_book_trip", "", map[string]any{"customerId": c.rita.ID,
		"originAddress": "Home", "originLat": 1, "originLng": 2}))
	given := map[string]any{"driverId": c.dan.ID}
	c.call(c.operator, "svc_assign_trip", booked, given)
	c.call(c.operator, "svc_unassign_trip", booked, map[string]any{"reason": "ill"})
	c.call(c.operator, "svc_assign_trip", booked, given)
	for _, step := range []string{"svc_arrive_for_driver", "svc_start_for_driver", "svc_complete_for_driver"} {
		c.call(c.operator, step, booked, nil)
	}
	third := c.rider.ride(c.T, "Main St 3")
	c.call(c.operator, "svc_cancel_trip", third, map[string]any{"reason": "no car"})
	c.call(c.operator, "svc_delete_trip", third, nil)
	post := idOf(c.T, c.call(c.operator, "svc_submit_feedback", "", map[string]any{"title": "A title", "body": "A body"}))
	c.call(c.operator, "svc_comment_feedback", post, map[string]any{"body": "A comment"})
	for _, tool := range []string{"svc_vote_feedback", "svc_unvote_feedback", "svc_get_feedback"} {
		c.call(c.operator, tool, post, nil)
	}
}

// money calls what moves money.
func (c *caller) money(first string) {
	wallet := map[string]any{"driverId": c.dan.ID}
	c.call(c.operator, "svc_list_postings", "", wallet)
	wallet["type"], wallet["amount"], wallet["description"] = "TOP_UP", 5, "Paid in"
	c.call(c.operator, "svc_post_to_wallet", "", wallet)
	c.call(c.operator, "svc_correct_fare", first, map[string]any{"finalFare": 12.5, "reason": "A typo"})
	c.call(c.operator, "svc_get_receipt", first, nil)
	for _, tool := range []string{"svc_my_trip", "svc_my_receipt"} {
		c.call(c.rider, tool, first, nil)
		c.call(c.driver, tool, first, nil)
	}
	month := testkit.Local(c.T, time.Now(), "America/New_York").Format("2006-01")
	c.call(c.operator, "svc_get_statement", c.dan.ID, map[string]any{"month": month})
	c.call(c.driver, "svc_my_statement", "", map[string]any{"month": month})
	for _, end := range []string{"pay", "refuse", "cancel"} {
		asked := idOf(c.T, c.call(c.driver, "svc_request_withdrawal", "", map[string]any{"amount": 1}))
		by, more := c.operator, map[string]any{}
		if end == "cancel" {
			by = c.driver
		}
		if end == "refuse" {
			more["reason"] = "No account"
		}
		c.call(by, "svc_"+end+"_withdrawal", asked, more)
	}
}

// needsArguments reports whether the tool was called with arguments above.
func needsArguments(tool string) bool {
	steps := []string{"rate", "request", "cancel", "accept", "arrived", "start", "complete", "save", "set_", "update",
		"estimate",
		"create", "delete", "payment_method", "get_service", "get_zone", "get_business", "list_menu", "my_menu",
		"order", "get_trip", "get_feedback", "_export", "_import", "privacy_request", "submit",
		"comment", "vote",
		"invite", "driver_documents", "get_driver", "get_customer",
		"book", "assign", "arrive", "no_show", "release", "decline", "report_location", "posting", "post_to", "fare",
		"receipt", "statement", "my_trip", "withdrawal", "webhook", "sandbox"}
	return slices.ContainsFunc(steps, func(step string) bool { return strings.Contains(tool, step) })
}
