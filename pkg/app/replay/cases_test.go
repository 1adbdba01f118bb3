package replay_test

import (
	"net/url"

	"svc/pkg/local/demo"
)

// request is one event of events/api. Its name is the operation it calls and,
// after a hyphen, the variant; the event named as the operation alone succeeds.
type request struct {
	name, person, method, path, query, body string
	header                                  map[string]string
}

const (
	boss   = "operator@metro.example"
	rider1 = "rider1@metro.example"
	rider3 = "rider3@metro.example"
	drives = "driver1@metro.example"
	second = "driver2@metro.example"
	third  = "driver3@metro.example"

	driverID = "drv_01JMETR0000000000000000003" // of third
)

// Trips of the demo: 21 is in progress with the second driver, the first driver
// has arrived for 22, 23 is assigned to the third driver, and 24 and 25 have no
// driver.

func trip(n string) string { return "trp_01JMETR0" + "0000000000000000"[:18-len(n)] + n }

// ride contains what an encoding error would change: a comma, a trailing zero,
// a letter outside ASCII.
const ride = `{"originAddress": "Pier 3", "originLat": 40.70010, "originLng": -74.0, "notes": "Ring twice: a,b; ü"}`

// initialize is the first message of an agent of an older revision.
const initialize = `{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}`

var form = map[string]string{"content-type": "application/x-www-form-urlencoded"}

// listed has the requests that cannot be derived from a row alone, in the order
// in which they are sent: those with an id, a body or a query, and those that
// are rejected.
var listed = []request{
	{name: "health", method: "GET", path: "/health"},
	{name: "health-ready", method: "GET", path: "/health/ready"},
	{name: "health-live", method: "GET", path: "/health/live"},
	{name: "root", method: "GET", path: "/"},
	{name: "openapi", method: "GET", path: "/openapi.json"},
	{name: "docs", method: "GET", path: "/docs"},
	{name: "default-not-found", method: "GET", path: "/nothing/here"},
	{name: "default-method", method: "PUT", path: "/api/v1/me/status", body: `{}`},

	{name: "mcp-anonymous", method: "POST", path: "/mcp", body: initialize},
	{name: "mcp-slash", method: "POST", path: "/mcp/", body: initialize},
	{name: "mcp-rider-anonymous", method: "POST", path: "/mcp/rider/metro", body: initialize},
	{name: "mcp-resource", person: boss, method: "POST", path: "/mcp", body: initialize},
	{name: "mcp-method", method: "GET", path: "/mcp"},

	{name: "svc_list_trips", person: boss, method: "GET", path: "/api/v1/trips", query: "limit=3"},
	{name: "svc_list_trips-filters", person: boss, method: "GET", path: "/api/v1/trips",
		query: "status=COMPLETED&from=2026-05-20T00%3A00%3A00%2B00%3A00&to=2026-05-25T00:00:00Z"},
	{name: "svc_list_trips-faults", person: boss, method: "GET", path: "/api/v1/trips",
		query: "limit=0&status=GONE&nothing=1"},
	{name: "svc_list_trips-anonymous", method: "GET", path: "/api/v1/trips"},
	{name: "svc_list_trips-rider", person: rider1, method: "GET", path: "/api/v1/trips"},
	{name: "svc_get_trip", person: boss, method: "GET", path: "/api/v1/trips/" + trip("19")},
	{name: "svc_get_trip-missing", person: boss, method: "GET", path: "/api/v1/trips/trp_01ARZ3NDEKTSV4RRFFQ69G5FAV"},
	{name: "svc_list_events", person: boss, method: "GET", path: "/api/v1/events",
		query: "limit=3&resource=" + trip("19")},
	{name: "svc_list_events-cursor", person: boss, method: "GET", path: "/api/v1/events", query: "after=AAAA"},
	{name: "svc_my_events", person: rider1, method: "GET", path: "/api/v1/me/events",
		query: "limit=2&resource=" + trip("19")},
	{name: "svc_list_customers-search", person: boss, method: "GET", path: "/api/v1/customers",
		query: "q=zo%C3%AB+laurent"},
	{name: "svc_get_driver", person: boss, method: "GET", path: "/api/v1/drivers/drv_01JMETR0000000000000000001"},
	{name: "svc_invite_driver", person: boss, method: "POST", path: "/api/v1/drivers",
		body: `{"email": "driver9@metro.example", "firstName": "Lena", "lastName": "Fischer", "vehiclePlate": "MTR-2201"}`},
	{name: "svc_update_driver", person: boss, method: "PATCH", path: "/api/v1/drivers/drv_01JMETR0000000000000000001",
		body: `{"vehicleColor": "Green", "photoUrl": null}`},
	{name: "svc_create_driver_document", person: boss, method: "POST",
		path: "/api/v1/drivers/drv_01JMETR0000000000000000001/documents",
		body: `{"kind": "DRIVING_LICENCE", "numberLast4": "4711", "expiresOn": "2031-04-30"}`},
	{name: "svc_list_driver_documents", person: boss, method: "GET",
		path: "/api/v1/drivers/drv_01JMETR0000000000000000001/documents"},
	{name: "svc_update_driver_document", person: boss, method: "PATCH",
		path: "/api/v1/drivers/drv_01JMETR0000000000000000001/documents/doc_01JMETR0000000000000000001",
		body: `{"state": "APPROVED"}`},
	{name: "svc_list_my_documents", person: drives, method: "GET", path: "/api/v1/me/documents"},
	{name: "svc_get_customer", person: boss, method: "GET", path: "/api/v1/customers/cus_01JMETR0000000000000000001"},
	{name: "svc_invite_customer", person: boss, method: "POST", path: "/api/v1/customers",
		body: `{"email": "rider9@metro.example", "firstName": "Iris", "lastName": "Novak", "phone": "+1 212 555 0190"}`},
	{name: "svc_update_customer", person: boss, method: "PATCH",
		path: "/api/v1/customers/cus_01JMETR0000000000000000001", body: `{"phone": null}`},
	{name: "svc_update_branding", person: boss, method: "PATCH", path: "/api/v1/branding",
		body: `{"appName": "Metro, repainted", "faviconUrl": null}`},
	{name: "svc_create_export", person: boss, method: "POST", path: "/api/v1/exports",
		body: `{"kind": "trips", "from": "2026-05-01", "to": "2026-05-31", "columns": ["id", "finalFare"]}`},
	{name: "svc_create_export-faults", person: boss, method: "POST", path: "/api/v1/exports",
		body: `{"kind": "trips", "from": "2026-05-01", "to": "2026-04-30", "columns": ["id", "id", "secret"]}`},
	{name: "svc_get_export", person: boss, method: "GET", path: "/api/v1/exports/" + demo.Export},
	{name: "svc_update_settings", person: boss, method: "PATCH", path: "/api/v1/settings",
		body: `{"pricing": {"freeWaitingMinutes": 4}, "dispatch": {"searchRadiusKm": null}}`},
	{name: "svc_create_service", person: boss, method: "POST", path: "/api/v1/services",
		body: `{"name": "Bicycle", "baseFare": 1.5, "perKm": 0.80, "commissionRate": 0.1, "capacity": 1}`},
	{name: "svc_get_service", person: boss, method: "GET", path: "/api/v1/services/svt_01JMETR0000000000000000001"},
	{name: "svc_update_service", person: boss, method: "PATCH", path: "/api/v1/services/svt_01JMETR0000000000000000002",
		body: `{"description": "Up to six people", "iconUrl": null}`},
	{name: "svc_delete_service", person: boss, method: "DELETE",
		path: "/api/v1/services/svt_01JMETR0000000000000000002"},
	{name: "svc_create_zone", person: boss, method: "POST", path: "/api/v1/zones",
		body: `{"name": "Pier", "area": {"type": "Polygon", "coordinates": [[[-74.02, 40.7], [-74, 40.7], [-74, 40.71], [-74.02, 40.7]]]}}`},
	{name: "svc_get_zone", person: boss, method: "GET", path: "/api/v1/zones/zon_01JMETR0000000000000000001"},
	{name: "svc_update_zone", person: boss, method: "PATCH", path: "/api/v1/zones/zon_01JMETR0000000000000000001",
		body: `{"priority": 7}`},
	{name: "svc_delete_zone", person: boss, method: "DELETE", path: "/api/v1/zones/zon_01JMETR0000000000000000002"},
	{name: "svc_reports_summary", person: boss, method: "GET", path: "/api/v1/reports/summary",
		query: "from=2026-05-01T00:00:00Z&to=2026-06-02T00:00:00Z"},
	{name: "svc_wallet_totals-detail", person: boss, method: "GET", path: "/api/v1/wallets",
		query: "type=driver&detail=1"},
	{name: "svc_list_postings", person: boss, method: "GET", path: "/api/v1/wallets/postings",
		query: "driverId=" + driverID + "&limit=2"},
	{name: "svc_post_to_wallet", person: boss, method: "POST", path: "/api/v1/wallets/postings",
		body: `{"driverId": "` + driverID + `", "type": "TOP_UP", "amount": 80.50, "description": "Paid in at the office"}`},
	{name: "svc_correct_fare", person: boss, method: "POST", path: "/api/v1/trips/" + trip("19") + "/fare",
		body: `{"finalFare": 18.50, "reason": "One zero too many"}`},
	{name: "svc_get_receipt", person: boss, method: "GET", path: "/api/v1/trips/" + trip("19") + "/receipt"},
	{name: "svc_my_trip", person: rider1, method: "GET", path: "/api/v1/me/trips/" + trip("19")},
	{name: "svc_my_receipt", person: rider1, method: "GET", path: "/api/v1/me/trips/" + trip("19") + "/receipt"},
	{name: "svc_request_withdrawal", person: third, method: "POST", path: "/api/v1/me/wallet/withdrawals",
		body: `{"amount": 5.50}`},
	{name: "svc_list_withdrawals", person: boss, method: "GET", path: "/api/v1/withdrawals",
		query: "status=REQUESTED"},
	{name: "svc_my_withdrawals", person: third, method: "GET", path: "/api/v1/me/wallet/withdrawals"},
	{name: "svc_pay_withdrawal", person: boss, method: "POST", path: "/api/v1/withdrawals/{{withdrawal}}/pay"},
	{name: "svc_request_withdrawal-second", person: third, method: "POST", path: "/api/v1/me/wallet/withdrawals",
		body: `{"amount": 7}`},
	{name: "svc_refuse_withdrawal", person: boss, method: "POST", path: "/api/v1/withdrawals/{{withdrawal}}/refuse",
		body: `{"reason": "The bank account is missing"}`},
	{name: "svc_request_withdrawal-third", person: third, method: "POST", path: "/api/v1/me/wallet/withdrawals",
		body: `{"amount": 9}`},
	{name: "svc_cancel_withdrawal", person: third, method: "POST",
		path: "/api/v1/me/wallet/withdrawals/{{withdrawal}}/cancel"},
	{name: "svc_list_orders", person: boss, method: "GET", path: "/api/v1/orders", query: "limit=2"},
	{name: "svc_list_orders-feature", person: "operator@harbor.example", method: "GET", path: "/api/v1/orders"},
	{name: "svc_submit_feedback", person: boss, method: "POST", path: "/api/v1/feedback",
		body: `{"title": "Größere Karte", "body": "Die Karte ist zu klein.", "titleEn": "A larger map", "type": "BUG", "bug": {"platform": "IOS", "appVersion": "1.2"}}`},
	{name: "svc_search_feedback", person: boss, method: "GET", path: "/api/v1/feedback", query: "limit=2"},
	{name: "svc_search_feedback-mine", person: boss, method: "GET", path: "/api/v1/feedback",
		query: "mine=1&status=ALL&sort=newest&q=gr%C3%B6%C3%9Fere"},
	{name: "svc_get_feedback", person: boss, method: "GET", path: "/api/v1/feedback/{{post}}"},
	{name: "svc_vote_feedback", person: boss, method: "POST", path: "/api/v1/feedback/{{post}}/vote"},
	{name: "svc_unvote_feedback", person: boss, method: "DELETE", path: "/api/v1/feedback/{{post}}/vote"},
	{name: "svc_comment_feedback", person: boss, method: "POST", path: "/api/v1/feedback/{{post}}/comments",
		body: `{"body": "Yes, please."}`},

	{name: "svc_me-operator", person: boss, method: "GET", path: "/api/v1/me"},
	{name: "svc_me-driver", person: drives, method: "GET", path: "/api/v1/me"},
	{name: "svc_my_trips-operator", person: boss, method: "GET", path: "/api/v1/me/trips"},
	{name: "svc_save_address", person: rider1, method: "POST", path: "/api/v1/me/addresses",
		body: `{"address": "12 Harbor Street", "lat": 40.70010, "lng": -74.0, "label": "Work"}`},
	{name: "svc_delete_address", person: rider1, method: "DELETE",
		path: "/api/v1/me/addresses/adr_01JMETR0000000000000000003"},
	{name: "svc_update_me", person: rider1, method: "PATCH", path: "/api/v1/me",
		body: `{"firstName": "Ava", "phone": "+1 212 555 0191"}`},
	{name: "svc_add_payment_method", person: rider1, method: "POST", path: "/api/v1/me/payment-methods",
		body: `{"token": "pm_1PqR5sT7uV", "brand": "visa", "last4": "1881", "expMonth": 4, "expYear": 2031}`},
	{name: "svc_choose_payment_method", person: rider1, method: "PATCH",
		path: "/api/v1/me/payment-methods/pay_01JMETR0000000000000000002", body: `{"isDefault": true}`},
	{name: "svc_remove_payment_method", person: rider1, method: "DELETE",
		path: "/api/v1/me/payment-methods/pay_01JMETR0000000000000000001"},
	{name: "svc_my_wallet", person: drives, method: "GET", path: "/api/v1/me/wallet"},
	{name: "svc_set_driver_status", person: drives, method: "PATCH", path: "/api/v1/me/status",
		body: `{"status": "BUSY"}`},
	{name: "svc_request_ride", person: rider1, method: "POST", path: "/api/v1/me/trips",
		body: `{"originAddress": "350 5th Ave", "originLat": 40.7484, "originLng": -73.9857,
		"destAddress": "JFK Airport, Terminal 4", "destLat": 40.6441, "destLng": -73.7821, "paymentType": "CARD",` +
			` "notes": "Two suitcases", "serviceTypeId": "svt_01JMETR0000000000000000001"}`},
	{name: "svc_request_ride-key", person: rider1, method: "POST", path: "/api/v1/me/trips", body: ride,
		header: map[string]string{"idempotency-key": `"replay,1"`}},
	{name: "svc_request_ride-repeated", person: rider1, method: "POST", path: "/api/v1/me/trips", body: ride,
		header: map[string]string{"idempotency-key": `"replay,1"`}},
	{name: "svc_request_ride-faults", person: rider1, method: "POST", path: "/api/v1/me/trips",
		body: `{"originLat": "north", "originLng": 200, "x": 1}`},
	{name: "svc_estimate_ride", person: rider1, method: "POST", path: "/api/v1/me/estimates",
		body: `{"originLat": 40.7484, "originLng": -73.9857, "destLat": 40.6441, "destLng": -73.7821}`},
	{name: "svc_report_location", person: drives, method: "PUT", path: "/api/v1/me/location",
		body: `{"lat": 40.7484, "lng": -73.9857, "heading": 90, "speed": 8.3, "accuracy": 5, ` +
			`"recordedAt": "2026-03-01T12:00:00Z"}`},
	{name: "svc_list_my_offers", person: drives, method: "GET", path: "/api/v1/me/offers"},
	{name: "svc_list_open_trips", person: "driver1@harbor.example", method: "GET", path: "/api/v1/me/open-trips"},
	{name: "svc_decline_trip", person: drives, method: "POST", path: "/api/v1/me/trips/" + trip("25") + "/decline"},
	{name: "svc_accept_trip", person: drives, method: "POST", path: "/api/v1/me/trips/" + trip("25") + "/accept"},
	{name: "svc_accept_trip-again", person: drives, method: "POST", path: "/api/v1/me/trips/" + trip("25") + "/accept"},
	{name: "svc_release_trip", person: drives, method: "POST", path: "/api/v1/me/trips/" + trip("25") + "/release",
		body: `{"reason": "Flat tyre"}`},
	{name: "svc_mark_arrived", person: third, method: "POST", path: "/api/v1/me/trips/" + trip("23") + "/arrived"},
	{name: "svc_start_trip", person: drives, method: "POST", path: "/api/v1/me/trips/" + trip("22") + "/start"},
	{name: "svc_complete_trip", person: second, method: "POST", path: "/api/v1/me/trips/" + trip("21") + "/complete",
		body: `{"finalFare": 20.10, "actualDistance": 7.5, "actualDuration": 900}`},
	{name: "svc_rate_trip", person: rider3, method: "POST", path: "/api/v1/me/trips/" + trip("21") + "/rating",
		body: `{"rating": 5, "comment": "A quiet ride"}`},
	{name: "svc_cancel_my_trip", person: rider3, method: "POST", path: "/api/v1/me/trips/" + trip("24") + "/cancel",
		body: `{"reason": "Plans changed"}`},
	{name: "svc_book_trip", person: boss, method: "POST", path: "/api/v1/trips",
		body: `{"customerId": "cus_01JMETR0000000000000000002", "originAddress": "350 5th Ave", "originLat": 40.7484,
		"originLng": -73.9857, "destAddress": "JFK Airport, Terminal 4", "destLat": 40.6441, "destLng": -73.7821,` +
			` "serviceTypeId": "svt_01JMETR0000000000000000001", "driverId": "drv_01JMETR0000000000000000002"}`},
	{name: "svc_unassign_trip", person: boss, method: "POST", path: "/api/v1/trips/" + trip("23") + "/unassign",
		body: `{"reason": "The driver is ill"}`},
	{name: "svc_assign_trip", person: boss, method: "POST", path: "/api/v1/trips/" + trip("23") + "/assign",
		body: `{"driverId": "drv_01JMETR0000000000000000001"}`},
	{name: "svc_arrive_for_driver", person: boss, method: "POST", path: "/api/v1/trips/" + trip("23") + "/arrived"},
	{name: "svc_start_for_driver", person: boss, method: "POST", path: "/api/v1/trips/" + trip("23") + "/start"},
	{name: "svc_complete_for_driver", person: boss, method: "POST", path: "/api/v1/trips/" + trip("23") + "/complete",
		body: `{"finalFare": 18.5}`},
	{name: "svc_complete_for_driver-again", person: boss, method: "POST",
		path: "/api/v1/trips/" + trip("23") + "/complete"},
	{name: "svc_cancel_trip", person: boss, method: "POST", path: "/api/v1/trips/" + trip("22") + "/cancel",
		body: `{"reason": "An accident"}`},
	{name: "svc_delete_trip", person: boss, method: "DELETE", path: "/api/v1/trips/" + trip("24")},

	{name: "oauth-metadata", method: "GET", path: "/.well-known/oauth-authorization-server"},
	{name: "oauth-openid", method: "GET", path: "/.well-known/openid-configuration"},
	{name: "oauth-resource", method: "GET", path: "/.well-known/oauth-protected-resource"},
	{name: "oauth-keys", method: "GET", path: "/.well-known/jwks.json"},
	{name: "oauth-register", method: "POST", path: "/oauth/register",
		body: `{"client_name": "Replayed", "redirect_uris": ["https://app.example/cb"], "audiences": ["rider"], "scope": "rider.trips:read", "token_endpoint_auth_method": "none"}`},
	{name: "oauth-register-faults", method: "POST", path: "/oauth/register", body: `{"redirect_uris": ["ftp://x"]}`},
	{name: "oauth-register-read", method: "GET", path: "/oauth/register/cli_01ARZ3NDEKTSV4RRFFQ69G5FAV"},
	{name: "oauth-authorize", method: "GET", path: "/oauth/authorize",
		query: "response_type=code&client_id=cli_01ARZ3NDEKTSV4RRFFQ69G5FAV"},
	{name: "oauth-signin", method: "GET", path: "/oauth/signin"},
	{name: "oauth-consent", method: "GET", path: "/oauth/consent"},
	{name: "oauth-tenant", method: "GET", path: "/oauth/tenant"},
	{name: "oauth-password", method: "GET", path: "/oauth/password"},
	{name: "oauth-logout", method: "GET", path: "/oauth/logout"},
	{name: "oauth-apps", method: "GET", path: "/oauth/apps"},
	{name: "oauth-token", method: "POST", path: "/oauth/token", header: form,
		body: url.Values{"grant_type": {"authorization_code"}, "code": {"nothing"},
			"client_id": {"cli_01ARZ3NDEKTSV4RRFFQ69G5FAV"}, "redirect_uri": {"https://app.example/cb"},
			"code_verifier": {"0123456789012345678901234567890123456789012"}}.Encode()},
	{name: "oauth-revoke", method: "POST", path: "/oauth/revoke", header: form,
		body: "token=nothing&client_id=cli_01ARZ3NDEKTSV4RRFFQ69G5FAV"},
	{name: "oauth-introspect", method: "POST", path: "/oauth/introspect", header: form, body: "token=nothing"},
	{name: "oauth-userinfo", person: rider1, method: "GET", path: "/oauth/userinfo"},
	{name: "oauth-not-found", method: "GET", path: "/oauth/nothing"},
	{name: "oauth-preflight", method: "OPTIONS", path: "/oauth/token",
		header: map[string]string{"origin": "https://app.example", "access-control-request-method": "POST"}},
}
