package erasure_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/access/login"
	"svc/pkg/domain/imports"
	"svc/pkg/domain/tenant"
)

// ofNobody has the operations whose texts tell of no rider or driver, and why.
var ofNobody = map[string]string{
	"svc_update_branding": "the company", "svc_update_settings": "the company", "svc_create_service": "the company",
	"svc_update_service": "the company", "svc_create_zone": "the company", "svc_update_zone": "the company",
	"svc_create_business": "a business", "svc_update_business": "a business", "svc_create_menu_item": "a business",
	"svc_update_menu_item": "a business", "svc_create_webhook": "the company's systems",
	"svc_update_webhook": "the company's systems", "svc_replay_webhook": "identifiers and times",
	"svc_test_webhook":     "a type of event",
	"svc_submit_feedback":  "the roadmap, which operators write",
	"svc_comment_feedback": "the roadmap, which operators write",
}

// stays says what a person's life leaves, in which items, and why. docs/privacy.md has the
// same. Nothing else stays as it was written.
var stays = []struct{ said, in, why string }{
	{" key", "#IDEMPOTENCY#", "the hash by which a retry of an operator finds that its request was carried out"},
}

// lives are the people of a company's story.
type lives struct {
	*story
	boss, business, item string
	peers                []string // tokens of others, who shared rides
	mails                *mails
}

// newLives returns a company with an operator.
func newLives(t *testing.T) *lives {
	t.Helper()
	l := &lives{mails: &mails{}}
	l.story = &story{apptest.With(t, apptest.Options{Phones: true, Mail: l.mails.send}), map[string]bool{}}
	l.Change(t, "metro", func(n *tenant.Tenant) { n.Country = "DE" })
	l.Service.ServiceType(t, "metro", "0")
	l.boss = l.Token(t, l.Operator(t, "metro", "boss"))
	made := l.Post(t, l.boss, "/api/v1/businesses", `{"name": "Grill", "category": "restaurant", "address": "Main Street",
		"lat": 52.5, "lng": 13.4}`).Must(t, 201)
	l.business = idOf(t, made.Body)
	l.item = idOf(t, l.Post(t, l.boss, "/api/v1/businesses/"+l.business+"/menu", `{"name": "Soup", "section": "Soups",
		"price": 5}`).Must(t, 201).Body)
	return l
}

// person invites a rider or driver with every text, and signs the person in.
func (l *lives) person(t *testing.T, w *said, audience authz.Audience) (apptest.Actor, string) {
	t.Helper()
	invite := map[authz.Audience]string{authz.Rider: "svc_invite_customer", authz.Driver: "svc_invite_driver"}[audience]
	var made struct{ ID, Email string }
	testkit.Must(t, json.Unmarshal(l.tell(t, w, l.boss, invite, nil), &made))
	tn, now := l.Service.Tenant("metro"), l.By()
	account, err := login.Find(t.Context(), tn, audience, made.Email)
	testkit.Must(t, err)
	tx := tn.Write()
	login.SetPassword(tx, login.Key(tn, audience, made.Email), made.ID, account.Since,
		testkit.PasswordHash(apptest.Password), now)
	testkit.Must(t, tx.Commit(t.Context()))
	a := apptest.Actor{Tenant: "metro", Audience: audience, Email: made.Email, ID: made.ID}
	token := l.Token(t, a)
	return a, token
}

var cash = map[string]any{"paymentType": "CASH"}

// ride requests a ride that a driver takes.
func (l *lives) ride(t *testing.T, w *said, rider, driver string) string {
	t.Helper()
	id := idOf(t, l.tell(t, w, rider, "svc_request_ride", cash))
	l.tell(t, w, driver, "svc_accept_trip", nil, id)
	return id
}

// brings imports a file with one row, with a text in each column, and one row that fails.
func (l *lives) brings(t *testing.T, w *said, kind, key string, columns []string, cells map[string]string) {
	t.Helper()
	row, broken := make([]string, len(columns)), make([]string, len(columns))
	for i, name := range columns {
		text, ok := cells[name]
		if !ok {
			text = w.word("import of "+kind, name, nil)
		}
		other := name
		if name == "email" || name == "lat" {
			other = "text" // of no address and no degrees
		}
		row[i], broken[i] = text, w.word("failed import of "+kind, other, nil)
		if name == "email" || name == "requestedAt" || name == "lat" {
			broken[i] = "not so " + broken[i]
		}
	}
	foreign := w.word("import of "+kind, "heading", nil)
	file := strings.Join(append(columns, foreign), ";") + "\r\n" + strings.Join(append(row, foreign), ";") + "\r\n" +
		strings.Join(append(broken, foreign), ";") + "\r\n"
	job := brought(t, l.Service, l.boss, fmt.Sprintf(`{"kind": %q, "key": %q}`, kind, key), file)
	if job.Created+job.Updated+job.Unchanged != 1 || job.Status != imports.Done {
		faults := l.Get(t, l.boss, "/api/v1/imports/"+job.ID+"/errors")
		t.Fatalf("the import of %s is %+v\n%s\n%s", kind, job, faults.Body, file)
	}
	l.called["svc_create_import"] = true
}

// rider lives the life of a rider with a driver.
func (l *lives) rider(t *testing.T, w *said, driver string) apptest.Actor {
	t.Helper()
	a, token := l.person(t, w, authz.Rider)
	l.tell(t, w, l.boss, "svc_update_customer", nil, a.ID)
	l.Drain(t)
	l.tell(t, w, token, "svc_update_me", nil)
	l.tell(t, w, token, "svc_save_address", nil)
	l.tell(t, w, token, "svc_save_address", nil)
	l.tell(t, w, token, "svc_add_payment_method", map[string]any{"expMonth": 12, "expYear": 2030})
	l.tell(t, w, token, "svc_estimate_ride", nil)
	l.tell(t, w, token, "svc_cancel_my_trip", nil, idOf(t, l.tell(t, w, token, "svc_request_ride", cash)))
	trip := l.ride(t, w, token, driver)
	l.tell(t, w, driver, "svc_release_trip", nil, trip)
	l.tell(t, w, driver, "svc_accept_trip", nil, trip)
	l.tell(t, w, driver, "svc_mark_arrived", nil, trip)
	l.tell(t, w, driver, "svc_start_trip", nil, trip)
	l.tell(t, w, driver, "svc_complete_trip", map[string]any{"finalFare": 20}, trip)
	l.tell(t, w, driver, "svc_rate_trip", map[string]any{"rating": 2}, trip)
	l.tell(t, w, token, "svc_rate_trip", map[string]any{"rating": 4}, trip)
	l.Drain(t)
	l.tell(t, w, l.boss, "svc_correct_fare", map[string]any{"finalFare": 18}, trip)
	l.tell(t, w, l.boss, "svc_correct_fare", map[string]any{"finalFare": 17}, trip)
	booked := idOf(t, l.tell(t, w, l.boss, "svc_book_trip", map[string]any{"customerId": a.ID, "phone": nil, "name": nil,
		"paymentType": "CASH"}))
	var d struct{ ID string }
	testkit.Must(t, json.Unmarshal(l.Get(t, driver, "/api/v1/me").Must(t, 200).Body, &d))
	l.tell(t, w, l.boss, "svc_update_trip", nil, booked)
	l.tell(t, w, l.boss, "svc_assign_trip", map[string]any{"driverId": d.ID}, booked)
	l.tell(t, w, l.boss, "svc_unassign_trip", nil, booked)
	l.tell(t, w, l.boss, "svc_cancel_trip", nil, booked)
	order := idOf(t, l.tell(t, w, token, "svc_place_order", map[string]any{"businessId": l.business,
		"items": []map[string]any{{"menuItemId": l.item, "quantity": 1}}}))
	l.tell(t, w, l.boss, "svc_update_order", map[string]any{"status": "DELIVERED"}, order)
	l.money(t, w, "customerId", a.ID)
	outside := w.word("import", "externalId", nil)
	l.brings(t, w, "customers", "email", []string{"email", "phone", "externalId", "name"},
		map[string]string{"email": a.Email, "externalId": outside})
	l.brings(t, w, "customers", "externalId", []string{"externalId", "email", "firstName", "lastName"},
		map[string]string{"externalId": outside, "email": a.Email})
	l.brings(t, w, "addresses", "externalId", []string{"externalId", "address", "lat", "lng", "label", "notes"},
		map[string]string{"externalId": outside})
	l.brings(t, w, "trips", "externalId", []string{"externalId", "tripId", "status", "requestedAt", "completedAt",
		"originAddress", "originLat", "originLng", "destAddress", "destLat", "destLng", "fare", "paymentType", "notes"},
		map[string]string{"externalId": outside, "status": "COMPLETED", "requestedAt": "2026-05-04T08:00:00Z",
			"completedAt": "2026-05-04T08:30:00Z", "fare": "12", "paymentType": "CASH"})
	l.lines(t, w, outside)
	for _, m := range w.all[:min(20, len(w.all))] {
		l.Get(t, l.boss, "/api/v1/customers?q="+url.QueryEscape(m.text)).Must(t, 200)
	}
	l.copies(t, "customerId", a.ID)
	return a
}

// calls is the life of a rider who only calls.
func (l *lives) calls(t *testing.T, w *said) apptest.Actor {
	t.Helper()
	var trip struct{ ID, CustomerID string }
	testkit.Must(t, json.Unmarshal(l.tell(t, w, l.boss, "svc_book_trip", cash), &trip))
	l.tell(t, w, l.boss, "svc_cancel_trip", nil, trip.ID)
	return apptest.Actor{Tenant: "metro", Audience: authz.Rider, ID: trip.CustomerID}
}

// lines imports addresses from a file of JSON, of which one line has members that nobody
// knows, and one is broken.
func (l *lives) lines(t *testing.T, w *said, outside string) {
	t.Helper()
	text := func(name string) string { return w.word("import of lines", name, nil) }
	file := ""
	for _, members := range []map[string]any{
		{"externalId": outside, "address": text("address"), "lat": 52.5, "lng": 13.4, "label": text("label")},
		{"externalId": outside, text("member"): text("unknown"), "address": text("address"), "lat": 52.5, "lng": 13.4},
		{"externalId": outside, "address": text("broken"), "lat": text("broken text"), "lng": map[string]string{
			text("member"): text("inner")}},
	} {
		line, err := json.Marshal(members)
		testkit.Must(t, err)
		file += string(line) + "\n"
	}
	file += text("no JSON") + "\n"
	brought(t, l.Service, l.boss, `{"kind": "addresses", "key": "externalId", "format": "ndjson"}`, file)
}

// money posts to a wallet, which is at zero afterwards.
func (l *lives) money(t *testing.T, w *said, member, id string) {
	t.Helper()
	other := map[string]string{"customerId": "driverId", "driverId": "customerId"}[member]
	for kind, amount := range map[string]int{"TOP_UP": 5, "ADJUSTMENT": -5} {
		l.tell(t, w, l.boss, "svc_post_to_wallet", map[string]any{member: id, other: nil, "tripId": nil, "type": kind,
			"amount": amount})
	}
}

// copies makes the files that have a person.
func (l *lives) copies(t *testing.T, member, id string) {
	t.Helper()
	l.Drain(t)
	for _, kind := range []string{"trips", "customers", "drivers", "orders", "receipts", "postings"} {
		made(t, l.Service, l.boss, fmt.Sprintf(`{"kind": %q}`, kind))
	}
	copyOf(t, l.Service, l.boss, fmt.Sprintf(`{"kind": "export", %q: %q}`, member, id))
}

// driver lives the life of a driver with a rider.
func (l *lives) driver(t *testing.T, w *said, rider, colleague string) apptest.Actor {
	t.Helper()
	a, token := l.person(t, w, authz.Driver)
	l.tell(t, w, l.boss, "svc_update_driver", nil, a.ID)
	l.Drain(t)
	l.tell(t, w, token, "svc_set_driver_status", map[string]any{"status": "ONLINE"})
	l.tell(t, w, token, "svc_report_location", map[string]any{"recordedAt": l.Clock.Now().UTC().Format(time.RFC3339)})
	document := idOf(t, l.tell(t, w, l.boss, "svc_create_driver_document", map[string]any{"kind": "OTHER"}, a.ID))
	l.tell(t, w, l.boss, "svc_update_driver_document", nil, a.ID, document)
	own, none := said{tenant: l.Metro.ID}, map[string]any{"reason": nil}
	trip := l.ride(t, &own, rider, token) // a colleague has it at the end
	l.tell(t, w, token, "svc_release_trip", nil, trip)
	l.tell(t, w, token, "svc_accept_trip", nil, trip)
	l.tell(t, w, l.boss, "svc_unassign_trip", nil, trip)
	l.tell(t, &own, colleague, "svc_accept_trip", nil, trip)
	l.tell(t, &own, l.boss, "svc_cancel_trip", none, trip)
	trip = l.ride(t, &own, rider, token)
	for _, step := range []string{"svc_mark_arrived", "svc_start_trip"} {
		l.tell(t, w, token, step, nil, trip)
	}
	l.tell(t, w, token, "svc_complete_trip", map[string]any{"finalFare": 20}, trip)
	l.tell(t, w, rider, "svc_rate_trip", map[string]any{"rating": 2}, trip)
	l.tell(t, w, token, "svc_rate_trip", map[string]any{"rating": 4}, trip)
	l.Drain(t)
	l.tell(t, w, l.boss, "svc_correct_fare", map[string]any{"finalFare": 18}, trip)
	l.tell(t, w, l.boss, "svc_post_to_wallet", map[string]any{"driverId": a.ID, "customerId": nil, "tripId": trip,
		"type": "TOP_UP", "amount": 5})
	payout := idOf(t, l.tell(t, w, token, "svc_request_withdrawal", map[string]any{"amount": 5}))
	l.tell(t, w, l.boss, "svc_refuse_withdrawal", nil, payout)
	payout = idOf(t, l.tell(t, w, token, "svc_request_withdrawal", map[string]any{"amount": 5}))
	l.tell(t, w, l.boss, "svc_pay_withdrawal", nil, payout)
	l.money(t, w, "driverId", a.ID)
	outside := w.word("import", "externalId", nil)
	l.brings(t, w, "drivers", "email", []string{"email", "phone", "externalId", "name", "vehiclePlate", "vehicleModel",
		"vehicleColor"}, map[string]string{"email": a.Email, "externalId": outside})
	l.brings(t, w, "drivers", "externalId", []string{"externalId", "email", "firstName", "lastName"},
		map[string]string{"externalId": outside, "email": a.Email})
	l.copies(t, "driverId", a.ID)
	return a
}

// TestNothingIsLeftOfALife: a rider and a driver say a text of its own wherever the API or
// an import takes one. After their erasures none of the texts is left, and neither
// svc verify, svc rebuild, a table restored from a backup nor the lives of others bring one
// back. No mail, response or result of a tool has one. Others keep what they said.
func TestNothingIsLeftOfALife(t *testing.T) {
	testkit.LongHere(t)
	t.Parallel()
	l := newLives(t)
	stay, gone, next := said{tenant: l.Metro.ID}, said{tenant: l.Metro.ID}, said{tenant: l.Metro.ID}
	colleague := l.Token(t, l.Driver(t, "metro", "dora"))
	_, neighbour := l.person(t, &stay, authz.Rider)
	_, other := l.person(t, &stay, authz.Driver)
	l.peers = []string{neighbour, other, colleague}
	l.tell(t, &stay, neighbour, "svc_save_address", nil)
	l.Drain(t)
	rider := l.rider(t, &gone, other)
	driver := l.driver(t, &gone, neighbour, colleague)
	caller := l.calls(t, &gone)
	everyTextIsSaid(t, l.called)
	l.Drain(t)
	before, beside := gone.places(t, l.Service), stay.places(t, l.Service)
	for _, m := range gone.all {
		if len(before[m.said]) == 0 && !strings.HasSuffix(m.said, " key") {
			t.Errorf("%q was never anywhere", m.said)
		}
	}
	if !l.mails.have(gone) {
		t.Error("no mail ever went to the persons")
	}
	l.areShown(t, &gone)
	backup := items(t, l.Service)
	l.boss = erased(t, l.Service, rider, "customerId")
	l.boss = erased(t, l.Service, driver, "driverId")
	l.boss = erased(t, l.Service, caller, "customerId")
	l.mails.forget() // what was mailed before is not here
	l.left(t, &gone, "after the erasures")
	for text, where := range beside {
		for _, place := range where {
			if strings.Contains(place, "type=customer ") || strings.Contains(place, "type=driver ") ||
				strings.Contains(place, "type=address ") {
				if now := stay.places(t, l.Service)[text]; len(now) == 0 {
					t.Errorf("the neighbour's %q was erased from %s", text, place)
				}
				break
			}
		}
	}
	verify(t, l.Service)
	rebuilt(t, l.Service)
	verify(t, l.Service)
	l.left(t, &gone, "after a rebuild")
	l.Clock.Advance(3 * time.Minute)
	testkit.Must(t, l.Runtime.Scheduled()["JobsFunction"](t.Context())) // the second runs
	l.left(t, &gone, "after the jobs")
	l.restored(t, backup, &gone)
	l.rider(t, &next, other)
	l.driver(t, &next, neighbour, colleague)
	l.Drain(t)
	l.left(t, &gone, "after other lives")
	verify(t, l.Service)
}
