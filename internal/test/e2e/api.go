package e2e

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"svc/pkg/oauth/flow"
)

// operator reads as an operator: lists with their filters, a trip, settings,
// wallets and the report.
func (s *suite) operator(t *testing.T) {
	token := s.token(t, operator)
	me := s.get(t, token, "/api/v1/me").must(200).json()
	if me["actor"] != "dashboard" || me["email"] != operator.email {
		t.Errorf("actor %v", me["actor"])
	}
	company, _ := me["membership"].(map[string]any)
	s.console(t, fmt.Sprint(company["tenantId"]))
	trips := s.get(t, token, "/api/v1/trips?limit=2").some()
	page := s.get(t, token, "/api/v1/trips?limit=2")
	next := s.get(t, token, "/api/v1/trips?limit=2&cursor="+url.QueryEscape(page.text("next_cursor"))).some()
	if next[0]["id"] == trips[0]["id"] || next[0]["id"] == trips[1]["id"] {
		t.Error("the second page repeats the first")
	}
	one := s.get(t, token, "/api/v1/trips/"+trips[0]["id"].(string)).must(200).json()
	if log, _ := one["log"].([]any); len(log) == 0 || one["customer"] == nil {
		t.Error("a trip without log or customer")
	}
	day := time.Now().AddDate(0, 0, -20).UTC().Format(time.DateOnly)
	s.get(t, token, "/api/v1/trips?status=COMPLETED&from="+day+"&driverId="+s.id(t, driver)).items()
	s.get(t, token, "/api/v1/trips?customerId="+s.id(t, rider)).some()
	s.get(t, token, "/api/v1/trips?status=COMPLETED").some()
	s.get(t, token, "/api/v1/drivers").some()
	s.get(t, token, "/api/v1/drivers?status=ONLINE").items()
	s.get(t, token, "/api/v1/customers").some()
	s.eventually(t, "customers by name", func() bool {
		return len(s.get(t, token, "/api/v1/customers?q=thomps").items()) > 0
	})
	if got := s.get(t, token, "/api/v1/settings").must(200).json(); got["company"] == nil || got["settings"] == nil {
		t.Errorf("settings without company or settings")
	}
	s.get(t, token, "/api/v1/services").some()
	orders := s.get(t, token, "/api/v1/orders?limit=1").some()
	s.get(t, token, "/api/v1/orders?status="+orders[0]["status"].(string)+"&customerId="+
		orders[0]["customerId"].(string)).some()
	s.get(t, token, "/api/v1/orders?status="+orders[0]["status"].(string)).some()
	s.get(t, token, "/api/v1/orders?businessId="+orders[0]["businessId"].(string)).some()
	s.eventually(t, "wallets", func() bool {
		return len(s.get(t, token,
			"/api/v1/wallets?type=driver&detail=1").items()) > 0
	})
	if got := s.get(t, token, "/api/v1/wallets").must(200).json(); got["drivers"] == nil || got["customers"] == nil {
		t.Error("wallets without totals")
	}
	s.eventually(t, "report", func() bool {
		return s.get(t, token,
			"/api/v1/reports/summary?from="+day).must(200).text("completedTrips") != "0"
	})
}

// id returns a person's identifier.
func (s *suite) id(t *testing.T, p person) string {
	t.Helper()
	return s.get(t, s.token(t, p), "/api/v1/me").must(200).text("id")
}

func (s *suite) branding(t *testing.T) {
	token := s.token(t, operator)
	was := s.get(t, token, "/api/v1/branding").must(200).text("appName")
	const path = "/api/v1/branding"
	if got := s.patch(t, token, path, `{"appName": "Metro, tried"}`).must(200).text("appName"); got != "Metro, tried" {
		t.Errorf("appName %q", got)
	}
	if got := s.patch(t, token, path, fmt.Sprintf(`{"appName": %q}`, was)).must(200).text("appName"); got != was {
		t.Errorf("appName %q", got)
	}
	s.patch(t, token, path, `{"primaryColor": "blue"}`).refused(400, "invalid_request")
	s.patch(t, token, path, ``).refused(400, "invalid_request")
}

// settings changes settings and features, on the condition that nobody else has.
func (s *suite) settings(t *testing.T) {
	token := s.token(t, operator)
	path := "/api/v1/settings"
	read := s.get(t, token, path).must(200)
	patch := func(body, tag string) answer {
		return s.do(t, call{method: "PATCH", path: path, token: token, body: body, match: tag})
	}
	changed := patch(`{"pricing":{"freeWaitingMinutes":7},"taxiEnabled":false}`, read.header.Get("ETag")).must(200)
	if s.tools == nil { // a tool has no headers
		patch(`{"payments":{"cash":false}}`, read.header.Get("ETag")).refused(412, "precondition_failed")
	}
	got := patch(`{"pricing":{"freeWaitingMinutes":null},"taxiEnabled":true}`, changed.header.Get("ETag")).must(200).json()
	if now, _ := got["settings"].(map[string]any); now["taxiEnabled"] != true {
		t.Errorf("settings %v", got["settings"])
	}
	patch(`{"pricing":{"surge":2}}`, "*").refused(400, "invalid_request")
	s.managed(t, token, "services", `{"name":"Tried","baseFare":4}`, `{"baseFare":5}`)
	s.managed(t, token, "zones", `{"name":"Tried","area":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}`,
		`{"priority":2}`)
}

// businesses adds a business with a menu, and changes both.
func (s *suite) businesses(t *testing.T) {
	token := s.token(t, operator)
	made := s.create(t, token, "/api/v1/businesses",
		`{"name":"Tried","category":"restaurant","address":"1 Street","lat":40.7,"lng":-74}`).must(201)
	path := "/api/v1/businesses/" + made.text("id")
	if got := s.patch(t, token, path, `{"deliveryFee":2.50,"active":false}`).must(200).text("deliveryFee"); got != "2.5" {
		t.Errorf("deliveryFee %s", got)
	}
	s.get(t, token, path).must(200)
	dish := s.post(t, token, path+"/menu", `{"name":"Soup","price":7.20}`).must(201).text("id")
	if got := s.patch(t, token, path+"/menu/"+dish, `{"price":7.50}`).must(200).text("price"); got != "7.5" {
		t.Errorf("price %s", got)
	}
	if find(s.get(t, token, path+"/menu").some(), dish) == nil {
		t.Error("the menu is without the new item")
	}
	s.patch(t, token, path, `{"active":true}`).must(200)
	s.orders(t, made.text("id"), dish)
}

// orders has a rider order from a menu. The company accepts one order, and the
// rider cancels another.
func (s *suite) orders(t *testing.T, business, dish string) {
	t.Helper()
	token, mine := s.token(t, operator), s.token(t, rider)
	s.get(t, mine, "/api/v1/me/businesses").some()
	s.get(t, mine, "/api/v1/me/businesses/"+business+"/menu").some()
	body := fmt.Sprintf(`{"businessId":%q,"items":[{"menuItemId":%q,"quantity":3}],"deliveryAddress":"1 Street",`+
		`"expectedTotal":25}`, business, dish)
	place := func() string {
		return s.create(t, mine, "/api/v1/me/orders", body).must(201).text("id")
	}
	first, second := place(), place()
	s.patch(t, token, "/api/v1/orders/"+first, `{"status":"ACCEPTED","driverId":"`+s.id(t, driver)+`"}`).must(200)
	s.post(t, mine, "/api/v1/me/orders/"+first+"/cancel", "").refused(409, "invalid_state")
	s.post(t, mine, "/api/v1/me/orders/"+second+"/cancel", "").must(200)
	s.outside(t, token, "orders", first)
	s.outside(t, token, "businesses", business)
	for _, status := range []string{s.get(t, token, "/api/v1/orders/"+second).must(200).text("status"),
		s.get(t, mine, "/api/v1/me/orders/"+second).must(200).text("status")} {
		if status != "CANCELLED" {
			t.Errorf("status %s", status)
		}
	}
}

// people invites a driver and a customer, changes and disables them, and keeps a
// document of a driver.
func (s *suite) people(t *testing.T) {
	token := s.token(t, operator)
	for _, collection := range []string{"drivers", "customers"} {
		path := "/api/v1/" + collection
		body := fmt.Sprintf(`{"email":"%s@tried.example","firstName":"Tried","lastName":"Once"}`,
			strings.ToLower(rand.Text()))
		made := s.create(t, token, path, body).must(201)
		s.post(t, token, path, body).refused(409, "invalid_state")
		path += "/" + made.text("id")
		s.get(t, token, path).must(200)
		got := s.patch(t, token, path, `{"disabled":true}`).must(200).json()
		if got["disabled"] != true || got["firstName"] != "Tried" {
			t.Errorf("disabled: %v", got)
		}
	}
	s.outside(t, token, "drivers", s.id(t, driver))
	s.outside(t, token, "customers", s.id(t, rider))
	path := "/api/v1/drivers/" + s.id(t, driver) + "/documents"
	made := s.post(t, token, path, `{"kind":"INSURANCE","numberLast4":"0042"}`).must(201)
	s.patch(t, token, path+"/"+made.text("id"), `{"state":"APPROVED"}`).must(200)
	s.get(t, token, path).some()
	s.get(t, s.token(t, driver), "/api/v1/me/documents").some()
}

// outside gives a record an identifier in another system, finds it by that, and takes it
// away.
func (s *suite) outside(t *testing.T, token, collection, id string) {
	t.Helper()
	path, external := "/api/v1/"+collection, "tried/"+strings.ToLower(rand.Text())
	s.patch(t, token, path+"/"+id, fmt.Sprintf(`{"externalId":"%s?","metadata":{"tried":"once"}}`, external)).must(200)
	s.patch(t, token, path+"/"+id, fmt.Sprintf(`{"externalId":%q}`, external)).must(200)
	if got := s.get(t, token, path+"/external/"+url.PathEscape(external)).must(200); got.text("id") != id {
		t.Errorf("%s of %s is %s", external, id, got.body)
	}
	if found := s.get(t, token, path+"?externalId="+url.QueryEscape(external)).some(); found[0]["id"] != id {
		t.Errorf("%s is %v", external, found)
	}
	s.patch(t, token, path+"/"+id, `{"externalId":null,"metadata":null}`).must(200)
}

// managed creates, reads, changes and removes something of an operators' collection.
func (s *suite) managed(t *testing.T, token, collection, create, change string) {
	t.Helper()
	path := "/api/v1/" + collection
	made := s.create(t, token, path, create).must(201)
	path += "/" + made.text("id")
	s.get(t, token, path).must(200)
	s.patch(t, token, path, change).must(200)
	s.do(t, call{method: "DELETE", path: path, token: token}).must(200)
}

func (s *suite) feedback(t *testing.T) {
	token := s.token(t, operator)
	s.get(t, token, "/api/v1/feedback").items()
	post := s.post(t, token, "/api/v1/feedback",
		`{"title": "Tried end to end", "body": "A post of the end-to-end suite.", "type": "IDEA"}`).must(201)
	path := "/api/v1/feedback/" + post.text("id")
	if got := s.get(t, token, path).must(200).json(); got["hasVoted"] != true || got["isMine"] != true {
		t.Errorf("hasVoted %v, isMine %v", got["hasVoted"], got["isMine"])
	}
	if got := s.do(t, call{method: "DELETE", path: path + "/vote", token: token}).must(200).text("voteCount"); got != "0" {
		t.Errorf("voteCount %s", got)
	}
	if got := s.post(t, token, path+"/vote", "").must(200).text("voteCount"); got != "1" {
		t.Errorf("voteCount %s", got)
	}
	s.post(t, token, path+"/comments", `{"body": "And a comment."}`).must(201)
	mine := s.get(t, token, "/api/v1/feedback?mine=1&status=ALL&sort=newest").some()
	if find(mine, post.text("id")) == nil {
		t.Error("the post is not among the caller's own")
	}
	s.get(t, token, "/api/v1/feedback?q=end&sort=comments&type=IDEA").items()
	s.get(t, s.token(t, rider), "/api/v1/feedback").refused(403, "insufficient_scope")
}

func (s *suite) rider(t *testing.T) {
	token := s.token(t, rider)
	if got := s.get(t, token, "/api/v1/me").must(200).text("actor"); got != "rider" {
		t.Errorf("actor %q", got)
	}
	s.get(t, token, "/api/v1/me/trips").some()
	saved := s.post(t, token, "/api/v1/me/addresses",
		`{"address": "1 Trial Street", "lat": 40.7001, "lng": -74.0001, "label": "Trial"}`).must(201)
	again := s.post(t, token, "/api/v1/me/addresses",
		`{"address": "1 Trial Street", "lat": 40.7001, "lng": -74.0001, "label": "Trial"}`).must(201)
	if saved.text("usageCount") == again.text("usageCount") {
		t.Error("usageCount does not grow")
	}
	if first := s.get(t, token, "/api/v1/me/addresses").some()[0]; first["label"] != "Trial" {
		t.Errorf("first address: label %v", first["label"])
	}
	s.get(t, token, "/api/v1/me/wallet").must(200)
	s.do(t, call{method: "DELETE", path: "/api/v1/me/addresses/" + saved.text("id"), token: token}).must(200)
	me := s.get(t, token, "/api/v1/me").must(200).text("lastName")
	s.patch(t, token, "/api/v1/me", `{"lastName":"Tried"}`).must(200)
	s.patch(t, token, "/api/v1/me", fmt.Sprintf(`{"lastName":%q}`, me)).must(200)
	was, methods := s.get(t, token, "/api/v1/me/payment-methods").some()[0]["id"], "/api/v1/me/payment-methods"
	card := s.post(t, token, methods,
		`{"token":"pm_tried","brand":"visa","last4":"0042","expMonth":1,"expYear":2040,"isDefault":true}`).must(201)
	s.patch(t, token, fmt.Sprint(methods, "/", was), `{"isDefault":true}`).must(200)
	s.do(t, call{method: "DELETE", path: methods + "/" + card.text("id"), token: token}).must(200)
	s.get(t, token, "/api/v1/me/orders").items()
}

func (s *suite) driver(t *testing.T) {
	token := s.token(t, driver)
	if got := s.get(t, token, "/api/v1/me").must(200).text("actor"); got != "driver" {
		t.Errorf("actor %q", got)
	}
	if got := s.patch(t, token, "/api/v1/me/status", `{"online": false}`).must(200).text("status"); got != "OFFLINE" {
		t.Errorf("status %q", got)
	}
	if got := s.patch(t, token, "/api/v1/me/status", `{"status": "ONLINE"}`).must(200).text("status"); got != "ONLINE" {
		t.Errorf("status %q", got)
	}
	s.get(t, token, "/api/v1/me/trips").items()
	s.get(t, token, "/api/v1/me/wallet").must(200)
	for i, lat := range []string{"40.5", "40.7001"} {
		s.do(t, call{method: "PUT", path: "/api/v1/me/location", token: token, body: fmt.Sprintf(
			`{"lat": %s, "lng": -74.0001, "recordedAt": %q}`, lat,
			time.Now().Add(time.Duration(i-2)*time.Second).UTC().Format(time.RFC3339Nano))}).must(200)
	}
	if got := s.do(t, call{method: "PUT", path: "/api/v1/me/location", token: token,
		body: `{"lat": 40.5, "lng": -74, "recordedAt": "2026-01-01T00:00:00Z"}`}).must(200).text("lat"); got != "40.7001" {
		t.Errorf("the driver is at %s", got)
	}
}

// exported checks that an operator gets each kind of data as a file.
func (s *suite) exported(t *testing.T) {
	wanted := map[string]struct{ column, cell string }{"trips": {"tripCode", "COMPLETED"},
		"postings": {"amount", "TRIP_PAYMENT"}, "customers": {"email", rider.email},
		"drivers": {"vehiclePlate", driver.email}, "orders": {"total", "DELIVERED"}, "receipts": {"commission", "trp_"},
		"report": {"revenue", "20"}}
	from := time.Now().AddDate(0, 0, -200).Format("2006-01-02")
	begun := map[string]string{} // all before the first is awaited, because a schedule runs them
	for kind := range wanted {
		begun[kind] = s.beginExport(t, kind, from)
		if s.NoFiles { // an export that nothing runs stays unfinished, and a company may have ten of those
			s.get(t, s.token(t, operator), begun[kind]).must(200)
			break
		}
	}
	for kind, path := range begun {
		if s.NoFiles {
			break
		}
		want := wanted[kind]
		text, kept := s.fileOf(t, path)
		for tries := 1; !kept && tries < 3; tries++ {
			text, kept = s.fileOf(t, s.beginExport(t, kind, from))
		}
		header, rows, _ := strings.Cut(text, "\r\n")
		if !strings.Contains(header, want.column) || !strings.Contains(rows, want.cell) {
			t.Errorf("%s: the columns are %q and the rows have %d bytes; want the column %s and a row with %q", kind, header,
				len(rows), want.column, want.cell)
		}
	}
	if find(s.get(t, s.token(t, operator), "/api/v1/exports").some(), "") != nil {
		t.Error("an export has no id")
	}
}

// someKey returns a new Idempotency-Key.
func someKey() string { return fmt.Sprint("e2e-", time.Now().UnixNano()) }

// privacy checks that an operator gets a copy of a rider's data and erases the rider,
// and that a rider gets a copy of their own.
func (s *suite) privacy(t *testing.T) {
	token, me := s.token(t, operator), s.token(t, rider)
	email := fmt.Sprintf("leaving-%d@metro.example", time.Now().UnixNano())
	id := s.create(t, token, "/api/v1/customers", fmt.Sprintf(
		`{"email": %q, "firstName": "Leaving", "lastName": "Soon", "phone": %q}`, email, someNumber())).must(201).text("id")
	ask := func(path, token, body string) string {
		return s.create(t, token, path, body).must(201).text("id")
	}
	copied := ask("/api/v1/privacy/requests", token, fmt.Sprintf(`{"kind": "export", "customerId": %q}`, id))
	erased := ask("/api/v1/privacy/requests", token, fmt.Sprintf(`{"kind": "erase", "customerId": %q}`, id))
	own := ask("/api/v1/me/privacy/requests", me, `{"kind": "export"}`)
	if s.NoFiles {
		s.get(t, token, "/api/v1/privacy/requests/"+erased).must(200)
		s.get(t, me, "/api/v1/me/privacy/requests/"+own).must(200)
		return
	}
	became := func(path, token, status string) {
		s.eventually(t, path+" is "+status, func() bool { return s.get(t, token, path).must(200).text("status") == status })
	}
	became("/api/v1/privacy/requests/"+copied, token, "DONE")
	became("/api/v1/me/privacy/requests/"+own, me, "DONE")
	became("/api/v1/privacy/requests/"+erased, token, "READY")
	s.do(t, call{method: "POST", path: "/api/v1/privacy/requests/" + erased + "/run", token: s.fresh(t),
		key: someKey()}).must(200)
	became("/api/v1/privacy/requests/"+erased, token, "DONE")
	if got := s.get(t, token, "/api/v1/customers/"+id).must(200).text("email"); got != "" {
		t.Errorf("after the erasure the rider's address is %q", got)
	}
}

// fresh returns a token of the operator who has just signed in.
func (s *suite) fresh(t *testing.T) string {
	t.Helper()
	fresh := s.signIn(t, operator).AccessToken
	if in := s.agentTokens[s.token(t, operator)]; in.token != "" {
		s.agentTokens[fresh] = agentToken{in.resource, s.signIn(t, operator, func(o *flow.Options) {
			o.Tenant, o.Resource = "", s.BaseURL+in.resource
		}).AccessToken}
	}
	return fresh
}

// estimated checks that a ride with an estimate gets its fare.
func (s *suite) estimated(t *testing.T) {
	token := s.token(t, rider)
	offers := s.post(t, token, "/api/v1/me/estimates",
		`{"originLat": 40.7484, "originLng": -73.9857, "destLat": 40.6441, "destLng": -73.7821}`).must(200)
	first := offers.some()[0]
	ride := s.post(t, token, "/api/v1/me/trips", fmt.Sprintf(`{"originAddress": "350 5th Ave", "originLat": 40.7484,
		"originLng": -73.9857, "destAddress": "JFK", "destLat": 40.6441, "destLng": -73.7821, "estimateId": %q}`,
		first["estimateId"])).must(201)
	if ride.text("estimatedFare") != fmt.Sprint(first["fare"]) || ride.text("serviceTypeId") != first["serviceTypeId"] {
		t.Errorf("the ride has the fare %s, estimated were %v", ride.text("estimatedFare"), first["fare"])
	}
	s.post(t, token, "/api/v1/me/trips/"+ride.text("id")+"/cancel", "").must(200)
}
