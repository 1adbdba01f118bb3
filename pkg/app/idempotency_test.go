package app_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"svc/internal/test/apptest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
)

const ride = `{"originAddress":"A","originLat":1,"originLng":2}`

func keyed(token, path, body, key string) apptest.Request {
	return apptest.Request{Method: "POST", Path: path, Token: token, Body: body,
		Header: map[string]string{"Idempotency-Key": key}}
}

// TestIdempotency: for 24 hours, the same key returns the first response
// again, byte for byte, and only to the same actor.
func TestIdempotency(t *testing.T) {
	s := newSuite(t)
	rider, other := s.Token(t, s.actors[authz.Rider]), s.Token(t, s.Rider(t, "metro", "rex"))
	driver := s.Token(t, s.actors[authz.Driver])
	first := s.Do(t, keyed(rider, "/api/v1/me/trips", ride, "k1")).Must(t, 201)
	again := s.Do(t, keyed(rider, "/api/v1/me/trips", ride, "k1")).Must(t, 201)
	if string(first.Body) != string(again.Body) || again.Header.Get("Idempotent-Replayed") != "true" ||
		first.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("%s\n%s %v", first.Body, again.Body, again.Header)
	}
	another := strings.Replace(ride, "1", "3", 1)
	if a := s.Do(t, keyed(rider, "/api/v1/me/trips", another, "k1")); a.Status != 422 ||
		a.Code() != "idempotency_mismatch" {
		t.Errorf("another request: %d %s", a.Status, a.Body)
	}
	elsewhere := s.Do(t, keyed(other, "/api/v1/me/trips", ride, "k1")).Must(t, 201)
	if string(elsewhere.Body) == string(first.Body) {
		t.Error("another actor got the first one's answer")
	}
	trip := apptest.JSON[struct{ ID string }](t, first).ID
	s.Do(t, keyed(driver, "/api/v1/me/trips/"+trip+"/accept", "", "k2")).Must(t, 200)
	s.Post(t, driver, "/api/v1/me/trips/"+trip+"/accept", "").Must(t, 409)
	s.Do(t, keyed(driver, "/api/v1/me/trips/"+trip+"/accept", "", "k2")).Must(t, 200)
	conflict := s.Do(t, keyed(driver, "/api/v1/me/trips/"+trip+"/start", "", "k3")).Must(t, 409)
	s.Post(t, driver, "/api/v1/me/trips/"+trip+"/arrived", "").Must(t, 200)
	if kept := s.Do(t, keyed(driver, "/api/v1/me/trips/"+trip+"/start", "", "k3")).Must(t,
		409); string(kept.Body) != string(conflict.Body) {
		t.Errorf("%s\n%s", conflict.Body, kept.Body)
	}
	s.Do(t, keyed(s.Token(t, s.actors[authz.Rider], "rider.trips:read"), "/api/v1/me/trips", ride, "k5")).Must(t, 403)
	s.Do(t, keyed(rider, "/api/v1/me/trips", ride, "k5")).Must(t, 201) // a 403 is never kept
	s.Clock.Advance(24*time.Hour + time.Minute)
	rider = s.SignIn(t, s.actors[authz.Rider]).AccessToken
	if late := s.Do(t, keyed(rider, "/api/v1/me/trips", ride, "k1")).Must(t,
		201); string(late.Body) == string(first.Body) {
		t.Error("the answer was kept for more than a day")
	}
	for _, key := range []string{strings.Repeat("k", 256), "with space", "ä"} {
		if a := s.Do(t, keyed(rider, "/api/v1/me/trips", ride, key)); a.Status != 400 {
			t.Errorf("key %q: %d %s", key, a.Status, a.Body)
		}
	}
	for _, key := range []string{strings.Repeat("k", 255), `"a,b"`, `"quoted"`} {
		s.Do(t, keyed(rider, "/api/v1/me/trips", ride, key)).Must(t, 201)
		if a := s.Do(t, keyed(rider, "/api/v1/me/trips", ride, key)).Must(t,
			201); a.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("key %q was not recognised", key)
		}
	}
}

// TestRaceIdempotency: of concurrent first requests, one makes the change and
// the others return its response.
func TestRaceIdempotency(t *testing.T) {
	testkit.Long(t)
	s := newSuite(t)
	rider := s.Token(t, s.actors[authz.Rider])
	bodies := make([]string, 20)
	var group sync.WaitGroup
	for i := range bodies {
		group.Go(func() {
			a := s.Do(t, keyed(rider, "/api/v1/me/trips", ride, "same"))
			for deadline := time.Now().Add(testkit.Patience); a.Status == 503 && time.Now().Before(deadline); {
				a = s.Do(t, keyed(rider, "/api/v1/me/trips", ride, "same"))
			}
			bodies[i] = string(a.Body)
		})
	}
	group.Wait()
	for _, b := range bodies {
		if b != bodies[0] || !strings.Contains(b, "trp_") {
			t.Fatalf("%s\n%s", bodies[0], b)
		}
	}
	list := apptest.JSON[struct{ Items []any }](t, s.Get(t, rider, "/api/v1/me/trips").Must(t, 200))
	if len(list.Items) != 1 {
		t.Errorf("%d trips were made", len(list.Items))
	}
}
