package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"svc/internal/test/script"
	"svc/internal/test/testkit"
)

// request creates a trip for the rider, with the first service type of the
// tenant.
func (s *suite) request(t *testing.T, key string) answer {
	t.Helper()
	service := s.get(t, s.token(t, operator), "/api/v1/services").some()[0]["id"]
	c := script.Ride{Notes: "Ring twice", Asks: fmt.Sprintf(
		`"destAddress": "9 Trial Street", "serviceTypeId": %q, "paymentType": "CARD"`, service)}.Call("request")
	c.Key = key
	return s.step(t, c)
}

// step sends a call of a ride as one of metro's people.
func (s *suite) step(t *testing.T, c script.Call) answer {
	t.Helper()
	return s.do(t, call{method: "POST", path: c.Path, token: s.token(t, people[c.As]), key: c.Key, body: c.Body})
}

// drive takes steps of a trip.
func (s *suite) drive(t *testing.T, r script.Ride, steps ...string) {
	t.Helper()
	_, err := r.Take(func(c script.Call) (json.RawMessage, error) { return s.step(t, c).must(200).body, nil }, steps...)
	testkit.Must(t, err)
}

// ride checks a trip from the request to the money in the driver's wallet.
func (s *suite) ride(t *testing.T) {
	op, dr := s.token(t, operator), s.token(t, driver)
	key := someKey()
	made, repeated := s.request(t, key).must(201), s.request(t, key).must(201)
	if string(made.body) != string(repeated.body) || repeated.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the repeated request is not answered as the first: %s", repeated.body)
	}
	id := made.text("id")
	path := "/api/v1/me/trips/" + id
	wallet := func() json.Number {
		v, _ := s.get(t, dr, "/api/v1/me/wallet").must(200).json()["balance"].(json.Number)
		return v
	}
	before := wallet()
	s.post(t, dr, path+"/start", "").refused(409, "invalid_state") // no driver yet
	if got := s.post(t, dr, path+"/accept", "").must(200).text("driverId"); got != s.id(t, driver) {
		t.Errorf("driverId %q", got)
	}
	s.post(t, dr, path+"/accept", "").refused(409, "invalid_state")
	s.drive(t, script.Ride{ID: id}, "arrived", "start")
	s.post(t, s.token(t, rider), path+"/cancel", "").refused(409, "invalid_state")
	if got := s.post(t, dr, path+"/complete",
		`{"finalFare": 21.5, "actualDistance": 7.25, "actualDuration": 1260}`).must(200).text("finalFare"); got != "21.5" {
		t.Errorf("finalFare %s", got)
	}
	trip := s.get(t, op, "/api/v1/trips/"+id).must(200).json()
	if log, _ := trip["log"].([]any); trip["status"] != "COMPLETED" || len(log) != 5 {
		t.Errorf("status %v, %d entries in the log", trip["status"], len(log))
	}
	s.post(t, s.token(t, rider), path+"/rating", `{"rating": 4, "comment": "Tried"}`).must(200)
	s.post(t, s.token(t, rider), path+"/rating", `{"rating": 5}`).refused(409, "invalid_state")
	// The demo's own trips may settle meanwhile.
	var last map[string]any
	s.eventually(t, "the settlement", func() bool {
		posted, _ := s.get(t, dr, "/api/v1/me/wallet").must(200).json()["transactions"].([]any)
		if len(posted) > 0 {
			last, _ = posted[0].(map[string]any)
		}
		return strings.Contains(fmt.Sprint(last["description"]), made.text("tripCode"))
	})
	if last["type"] != "TRIP_PAYMENT" || wallet() == before {
		t.Errorf("last transaction: type %v; balance %s, before %s", last["type"], wallet(), before)
	}
	s.refunded(t, id)
}

// refunded checks that the refunds of a trip with the fare of 21.5 stay within it.
func (s *suite) refunded(t *testing.T, id string) {
	refund := func(amount, key string) answer {
		return s.do(t, call{method: "POST", path: "/api/v1/wallets/postings", token: s.token(t, operator), key: key,
			body: fmt.Sprintf(`{"customerId": %q, "type": "REFUND", "amount": %s, "description": "Late", "tripId": %q}`,
				s.id(t, rider), amount, id)})
	}
	made, repeated := refund("1.5", "refund-"+id).must(201), refund("1.5", "refund-"+id).must(201)
	if string(made.body) != string(repeated.body) {
		t.Errorf("the repeated refund is not answered as the first: %s", repeated.body)
	}
	refund("20.01", "").refused(409, "invalid_state")
	op, path := s.token(t, operator), "/api/v1/trips/"+id+"/fare"
	if got := s.post(t, op, path, `{"finalFare": 12.15, "reason": "A typo"}`).must(200); got.text("finalFare") != "12.15" ||
		got.text("previousFare") != "21.5" || got.text("version") != "2" {
		t.Errorf("corrected: %s", got.body)
	}
	s.post(t, op, path, `{"finalFare": 1, "reason": "Less than the refund"}`).refused(409, "invalid_state")
	for who, path := range map[string]string{op: "/api/v1/trips/", s.token(t, rider): "/api/v1/me/trips/",
		s.token(t, driver): "/api/v1/me/trips/"} {
		got := s.get(t, who, path+id+"/receipt").must(200)
		if got.text("total") != "12.15" || got.text("version") != "2" {
			t.Errorf("receipt: %s", got.body)
		}
		paper := s.do(t, call{method: "GET", path: path + id + "/receipt", token: who, accept: "text/html"}).must(200)
		if !strings.Contains(string(paper.body), "12.15") ||
			!strings.HasPrefix(paper.header.Get("Content-Type"), "text/html") {
			t.Errorf("receipt as a page: %s", paper.body)
		}
	}
	s.get(t, s.token(t, rider), "/api/v1/me/trips/"+id).must(200)
	s.get(t, s.token(t, guest), "/api/v1/me/trips/"+id).refused(404, "not_found")
	s.get(t, s.token(t, stranger), "/api/v1/trips/"+id+"/receipt").refused(404, "not_found")
}

// withdrawn checks a driver's withdrawals, of which one is paid.
func (s *suite) withdrawn(t *testing.T) {
	op, dr := s.token(t, operator), s.token(t, driver)
	s.post(t, op, "/api/v1/wallets/postings", fmt.Sprintf(
		`{"driverId": %q, "type": "TOP_UP", "amount": 2000, "description": "Tried"}`, s.id(t, driver))).must(201)
	ask := func(amount string) string {
		return s.post(t, dr, "/api/v1/me/wallet/withdrawals", `{"amount": `+amount+`}`).must(201).text("id")
	}
	first, second, third := ask("1.5"), ask("2"), ask("3")
	s.post(t, op, "/api/v1/withdrawals/"+first+"/pay", "").must(200)
	s.post(t, op, "/api/v1/withdrawals/"+first+"/pay", "").refused(409, "invalid_state")
	s.post(t, op, "/api/v1/withdrawals/"+second+"/refuse", `{"reason": "No account"}`).must(200)
	s.post(t, dr, "/api/v1/me/wallet/withdrawals/"+third+"/cancel", "").must(200)
	s.post(t, dr, "/api/v1/me/wallet/withdrawals", `{"amount": 9999}`).refused(409, "insufficient_balance")
	month := testkit.Local(t, time.Now(), "America/New_York").Format("2006-01")
	for who, path := range map[string]string{op: "/api/v1/drivers/" + s.id(t, driver), dr: "/api/v1/me"} {
		path += "/statements/" + month
		if got := s.get(t, who, path).must(200); got.text("payouts") == "" || got.text("payouts") == "0" {
			t.Errorf("statement: %s", got.body)
		}
		for _, accept := range []string{"text/csv", "text/html"} {
			got := s.do(t, call{method: "GET", path: path, token: who, accept: accept}).must(200)
			if !strings.HasPrefix(got.header.Get("Content-Type"), accept) {
				t.Errorf("statement as %s: %s", accept, got.body)
			}
		}
	}
	s.get(t, s.token(t, stranger), "/api/v1/drivers/"+s.id(t, driver)+"/statements/"+month).refused(404, "not_found")
	s.eventually(t, "the withdrawals", func() bool {
		return find(s.get(t, op, "/api/v1/withdrawals?status=PAID").items(), first) != nil &&
			find(s.get(t, op, "/api/v1/withdrawals").items(), second) != nil &&
			find(s.get(t, dr, "/api/v1/me/wallet/withdrawals").items(), third) != nil
	})
}

// money checks what operators post to wallets.
func (s *suite) money(t *testing.T) {
	op, dr := s.token(t, operator), s.token(t, driver)
	path := "/api/v1/wallets/postings"
	post := func(kind, amount, more string) answer {
		return s.post(t, op, path, fmt.Sprintf(`{"driverId": %q, "type": %q, "amount": %s, "description": "Tried"%s}`,
			s.id(t, driver), kind, amount, more))
	}
	before := s.get(t, dr, "/api/v1/me/wallet").must(200).text("balance")
	made := post("TOP_UP", "40.5", "").must(201)
	if made.text("amount") != "40.5" || made.text("balance") == before {
		t.Errorf("posted: %s, before %s", made.body, before)
	}
	post("PAYOUT", "-1", "").refused(400, "invalid_request")
	post("PAYOUT", "1000", `, "tripId": "trp_01ARZ3NDEKTSV4RRFFQ69G5FAV"`).refused(400, "invalid_request")
	if got := post("ADJUSTMENT", "-40.5", "").must(201).text("amount"); got != "-40.5" {
		t.Errorf("amount %s", got)
	}
	newest := s.get(t, op, path+"?limit=2&driverId="+s.id(t, driver)).some()
	if find(newest, made.text("id")) == nil {
		t.Errorf("the posting is not listed: %v", newest)
	}
}

func (s *suite) cancelled(t *testing.T) {
	id := s.request(t, "").must(201).text("id")
	path := "/api/v1/me/trips/" + id
	if got := s.post(t, s.token(t, rider), path+"/cancel",
		`{"reason": "Tried"}`).must(200).text("status"); got != "CANCELLED" {
		t.Errorf("status %q", got)
	}
	s.post(t, s.token(t, driver), path+"/accept", "").refused(409, "invalid_state")
}

// operated checks what an operator does with trips: books them, gives them to a
// driver, takes one to its end in the driver's place, and removes the other.
func (s *suite) operated(t *testing.T) {
	op := s.token(t, operator)
	book := func() (id, path string) {
		const journey = `"originLat": 40.7484, "originLng": -73.9857, "destLat": 40.6441, "destLng": -73.7821`
		offers := s.post(t, s.token(t, rider), "/api/v1/me/estimates", "{"+journey+"}").must(200)
		made := s.create(t, op, "/api/v1/trips",
			fmt.Sprintf(`{"customerId": %q, "originAddress": "350 5th Ave", "estimateId": %q, %s}`, s.id(t, rider),
				offers.some()[0]["estimateId"], journey)).must(201)
		return made.text("id"), "/api/v1/trips/" + made.text("id")
	}
	// The first trips of a company mark its flags, here by an operator.
	s.post(t, s.token(t, stranger), "/api/v1/trips", fmt.Sprintf(`{"customerId": %q, "originAddress": "Pier 9",
		"originLat": 37.8, "originLng": -122.4}`, s.id(t, guest))).must(201)
	id, path := book()
	to := fmt.Sprintf(`{"driverId": %q}`, s.id(t, driver))
	s.outside(t, op, "trips", id)
	s.post(t, op, path+"/assign", to).must(200)
	s.post(t, op, path+"/assign", to).refused(409, "invalid_state")
	if find(s.get(t, s.token(t, driver), "/api/v1/me/trips").some(), id) == nil {
		t.Error("the assigned trip is not among the driver's own")
	}
	s.drive(t, script.Ride{ID: id, Office: true}, script.Steps[2:]...)
	s.do(t, call{method: "DELETE", path: path, token: op}).refused(409, "invalid_state")
	_, path = book()
	s.post(t, op, path+"/assign", to).must(200)
	if got := s.post(t, op, path+"/unassign", `{"reason": "Tried"}`).must(200).text("status"); got != "SEARCHING" {
		t.Errorf("status %q", got)
	}
	s.strictly(t, path, to)
	s.post(t, op, path+"/cancel", `{"reason": "Tried"}`).must(200)
	s.do(t, call{method: "DELETE", path: path, token: op}).must(200)
	s.get(t, op, path).refused(404, "not_found")
	number, riders := someNumber(), map[string]bool{}
	for range 2 {
		called := s.create(t, op, "/api/v1/trips", fmt.Sprintf(
			`{"phone": %q, "name": "Cal Ler", "originAddress": "350 5th Ave", "originLat": 40.7484, "originLng": -73.9857}`,
			number)).must(201)
		riders[called.text("customerId")] = true
		s.post(t, op, "/api/v1/trips/"+called.text("id")+"/cancel", `{"reason": "Tried"}`).must(200)
	}
	if len(riders) != 1 {
		t.Errorf("one caller is %d riders", len(riders))
	}
}

// someNumber returns a phone number that nobody has.
func someNumber() string {
	return fmt.Sprintf("+1212%07d", 2_000_000+time.Now().UnixNano()/1000%7_000_000)
}

// strictly checks that a trip makes its driver BUSY where the company wants it.
func (s *suite) strictly(t *testing.T, path, to string) {
	op, dr := s.token(t, operator), s.token(t, driver)
	mode := func(name string) {
		s.patch(t, op, "/api/v1/settings", fmt.Sprintf(`{"dispatch": {"driverStatus": %q}}`, name)).must(200)
	}
	mode("strict")
	defer mode("free")
	set := call{method: "PATCH", path: "/api/v1/me/status", token: dr, body: `{"online": true}`}
	s.do(t, set).must(200)
	s.post(t, op, path+"/assign", to).must(200)
	s.do(t, set).refused(409, "invalid_state")
	if got := s.get(t, dr, "/api/v1/me").must(200).text("status"); got != "BUSY" {
		t.Errorf("the driver with a ride is %s", got)
	}
	s.post(t, op, path+"/unassign", "").must(200)
	if got := s.get(t, dr, "/api/v1/me").must(200).text("status"); got != "ONLINE" {
		t.Errorf("the driver without a ride is %s", got)
	}
}

// apart checks that another tenant's data is not visible, and that each tenant
// has its own features.
func (s *suite) apart(t *testing.T) {
	id := s.request(t, "").must(201).text("id")
	missing := s.get(t, s.token(t, stranger), "/api/v1/trips/trp_01ARZ3NDEKTSV4RRFFQ69G5FAV").refused(404, "not_found")
	foreign := s.get(t, s.token(t, stranger), "/api/v1/trips/"+id).refused(404, "not_found")
	if string(missing.body) != string(foreign.body) {
		t.Errorf("the responses for another tenant's trip and for a missing one differ: %s", foreign.body)
	}
	s.post(t, s.token(t, pilot), "/api/v1/me/trips/"+id+"/accept", "").refused(404, "not_found")
	s.post(t, s.token(t, guest), "/api/v1/me/trips/"+id+"/cancel", "").refused(404, "not_found")
	s.get(t, s.token(t, stranger), "/api/v1/orders").refused(403, "feature_disabled")
	s.get(t, s.token(t, operator), "/api/v1/me/trips").must(400)
	s.post(t, s.token(t, rider), "/api/v1/me/trips/"+id+"/cancel", "").must(200)
}

// faults checks the errors of faulty requests.
func (s *suite) faults(t *testing.T) {
	a := s.post(t, s.token(t, rider), "/api/v1/me/trips", `{"originLat": "north"}`).refused(400, "invalid_request")
	if details, _ := a.json()["details"].([]any); len(details) < 3 {
		t.Errorf("details: %s", a.body)
	}
	s.get(t, s.token(t, operator), "/api/v1/trips?limit=0&nothing=1").refused(400, "invalid_request")
	s.get(t, s.token(t, operator)+"x", "/api/v1/trips").refused(401, "unauthorized")
	s.get(t, s.token(t, rider), "/api/v1/trips").refused(403, "insufficient_scope")
	s.do(t, call{method: "POST", path: "/oauth/token", form: url.Values{"grant_type": {"password"}}}).must(400)
}
