package e2e

import (
	"fmt"
	"testing"
	"time"
)

// dispatch checks that trips find their driver: by offers, and in the list of open
// trips.
func (s *suite) dispatch(t *testing.T) {
	op, dr, ri := s.token(t, operator), s.token(t, driver), s.token(t, rider)
	mode := func(settings string) {
		s.patch(t, op, "/api/v1/settings", `{"dispatch": `+settings+`}`).must(200)
		time.Sleep(2 * time.Second) // a request for a ride uses settings that are up to a second old
	}
	s.patch(t, dr, "/api/v1/me/status", `{"status": "ONLINE"}`).must(200)
	here := func() {
		s.do(t, call{method: "PUT", path: "/api/v1/me/location", token: dr, body: fmt.Sprintf(
			`{"lat": 40.7, "lng": -74, "recordedAt": %q}`, time.Now().UTC().Format(time.RFC3339Nano))}).must(200)
	}
	seen := func(list, id string) {
		t.Helper()
		s.eventually(t, list+" with the trip", func() bool {
			for _, one := range s.get(t, dr, "/api/v1/me/"+list).items() {
				if one["tripId"] == id {
					return true
				}
			}
			return false
		})
	}
	for _, one := range s.get(t, dr, "/api/v1/me/trips?limit=200").items() { // who drives gets no offers
		if one["status"] == "ASSIGNED" || one["status"] == "DRIVER_ARRIVED" {
			s.post(t, dr, fmt.Sprint("/api/v1/me/trips/", one["id"], "/release"), "").must(200)
		}
	}
	for _, one := range s.get(t, op, "/api/v1/trips?status=PENDING&limit=200").items() { // they would be offered first
		s.post(t, op, fmt.Sprint("/api/v1/trips/", one["id"], "/cancel"), `{"reason": "Nobody waits"}`).must(200)
	}
	mode(`{"mode": "offers", "offerTimeoutSeconds": 600}`)
	here()
	first := s.request(t, "").must(201).text("id")
	seen("offers", first)
	s.post(t, dr, "/api/v1/me/trips/"+first+"/decline", "").must(200)
	if left := s.get(t, dr, "/api/v1/me/offers").items(); len(left) > 0 {
		t.Errorf("after declining: %v", left)
	}
	second := s.request(t, "").must(201).text("id")
	seen("offers", second)
	s.post(t, dr, "/api/v1/me/trips/"+second+"/accept", "").must(200)
	s.post(t, dr, "/api/v1/me/trips/"+second+"/release", `{"reason": "Flat tyre"}`).must(200)
	mode(`{"mode": "open"}`)
	here()
	third := s.request(t, "").must(201).text("id")
	seen("open-trips", third)
	mode(`{"mode": null, "offerTimeoutSeconds": null}`)
	for _, id := range []string{first, second, third} {
		s.post(t, ri, "/api/v1/me/trips/"+id+"/cancel", "").must(200)
	}
}

// missed checks that a ride whose rider does not come ends as a no-show.
func (s *suite) missed(t *testing.T) {
	op, dr := s.token(t, operator), s.token(t, driver)
	free := func(minutes string) {
		s.patch(t, op, "/api/v1/settings", `{"pricing": {"freeWaitingMinutes": `+minutes+`}}`).must(200)
		time.Sleep(2 * time.Second) // as in dispatch
	}
	free("0")
	defer free("null")
	for path, token := range map[string]string{"/api/v1/me/trips/": dr, "/api/v1/trips/": op} {
		id := s.request(t, "").must(201).text("id")
		for _, step := range []string{"accept", "arrived"} {
			s.post(t, dr, "/api/v1/me/trips/"+id+"/"+step, "").must(200)
		}
		s.post(t, token, path+id+"/no-show", "").must(200)
		if got := s.get(t, op, "/api/v1/trips/"+id); got.text("status") != "CANCELLED" ||
			got.text("cancelReason") != "no_show" {
			t.Errorf("after a no-show: %s", got.body)
		}
	}
}
