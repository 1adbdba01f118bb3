package trip_test

import (
	"strings"
	"testing"
	"time"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/data/table"
	"svc/pkg/domain/trip"
)

// A rider rates a completed trip once, within 30 days. The driver does not see it.
func TestRate(t *testing.T) {
	w := newOffice(t, 2, 2)
	rate := func(id, token, body string) apitest.Answer {
		return w.Insist("POST", "/api/v1/me/trips/"+id+"/rating", token, body)
	}
	const five = `{"rating":5,"comment":"A quiet ride"}`
	for _, actions := range [][]string{nil, {"accept"}, {"accept", "arrived", "start"}} {
		if a := rate(w.reach(actions...).ID, w.rider(), five); a.Status != 409 {
			t.Errorf("after %v: %d %s", actions, a.Status, a.Body)
		}
	}
	id := w.reach("accept", "arrived", "start", "complete").ID
	for name, tt := range map[string]struct {
		token, body string
		want        int
	}{
		"another rider": {w.tokens[w.riders[1]], five, 404},
		"six":           {w.rider(), `{"rating":6}`, 400}, "zero": {w.rider(), `{"rating":0}`, 400},
		"a half": {w.rider(), `{"rating":4.5}`, 400}, "none": {w.rider(), `{}`, 400}, "words": {w.rider(), `{"rating":"5"}`, 400},
	} {
		if a := rate(id, tt.token, tt.body); a.Status != tt.want {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	byStatus, _ := together(6, func(int) apitest.Answer { return rate(id, w.rider(), five) })
	if byStatus[200] != 1 || byStatus[409] != 5 {
		t.Errorf("six ratings at once: %v", byStatus)
	}
	log := w.log(id)
	if e := log[len(log)-1]; e.Type != trip.EventRated || *e.Data.Rating != 5 || *e.Data.Comment != "A quiet ride" ||
		*e.From != trip.Completed || e.To != trip.Completed {
		t.Errorf("log: %+v", log)
	}
	if a := w.Do("GET", "/api/v1/me/trips", w.driver(), ""); strings.Contains(a.Body, "quiet") ||
		strings.Contains(a.Body, "rating") {
		t.Errorf("the driver sees the rating: %s", a.Body)
	}
	if a := rate(id, w.tokens[w.drivers[1]], five); a.Status != 404 {
		t.Errorf("another driver: %d %s", a.Status, a.Body)
	}
	byStatus, _ = together(6, func(int) apitest.Answer { return rate(id, w.driver(), `{"rating":2,"comment":"Late"}`) })
	if byStatus[200] != 1 || byStatus[409] != 5 {
		t.Errorf("six ratings of the rider at once: %v", byStatus)
	}
	log = w.log(id)
	if e := log[len(log)-1]; e.Type != trip.EventRated || e.Actor != trip.ByDriver(w.drivers[0]) || *e.Data.Rating != 2 ||
		*log[len(log)-2].Data.Rating != 5 {
		t.Errorf("log: %+v", log)
	}
	for _, path := range []string{"/api/v1/me/trips", "/api/v1/me/trips/" + id} {
		if a := w.Do("GET", path, w.rider(), ""); strings.Contains(a.Body, "Late") || strings.Contains(a.Body, "rating") {
			t.Errorf("the rider sees the driver's rating: %s", a.Body)
		}
	}
	if got := w.stored(id); got.RatedRider != 2 || got.Status != trip.Completed || got.CompletedAt == nil ||
		got.Rated != 5 {
		t.Errorf("the rated trip is %+v", got)
	}
}

// A trip can be rated until 30 days after its completion, and no later.
func TestRateWithinDays(t *testing.T) {
	w := newOffice(t, 1, 1)
	late := w.reach("accept", "arrived", "start", "complete")
	if _, err := late.Rate(trip.ByRider(w.riders[0]), 3, nil, apitest.Start.Add(30*24*time.Hour)); err != nil {
		t.Errorf("after 30 days: %v", err)
	}
	_, err := late.Rate(trip.ByRider(w.riders[0]), 3, nil, apitest.Start.Add(30*24*time.Hour+time.Millisecond))
	if status(err) != badState {
		t.Errorf("after more than 30 days: %v", err)
	}
}

// The sweep finds a trip that was completed late by the entry of its completion,
// also after the trip was rated.
func TestRatedLateTrip(t *testing.T) {
	s := storeWith(t, commit)
	it := created(t, s)
	s.Now = now.Add(25 * time.Hour)
	for _, step := range []func(trip.Trip) (trip.Trip, error){
		func(t trip.Trip) (trip.Trip, error) { return t.Accept(driver1, s.Now) },
		func(t trip.Trip) (trip.Trip, error) { return t.Arrive(trip.ByDriver(driver1), s.Now) },
		func(t trip.Trip) (trip.Trip, error) { return t.Start(operator, s.Now) },
		func(t trip.Trip) (trip.Trip, error) { return t.Complete(operator, s.Now, trip.Measured{}) },
		func(t trip.Trip) (trip.Trip, error) { return t.Rate(trip.ByRider(rider), 5, nil, s.Now) },
	} {
		_, err := s.Change(t.Context(), read(t, s, it.Key), step)
		testkit.Must(t, err)
	}
	page, err := s.Tenant.Query(t.Context(), trip.LatePartition(s.Tenant), table.Query{Index: 1, Limit: 9})
	testkit.Must(t, err)
	if len(page.Items) != 1 {
		t.Fatalf("%d entries", len(page.Items))
	}
	if e, err := table.DecodeDoc[trip.LogEntry](page.Items[0]); err != nil || e.Type != trip.EventCompleted {
		t.Errorf("the entry is %+v, %v", e, err)
	}
	if log, err := trip.Log(t.Context(), s.Tenant, tripOf(t, read(t, s, it.Key))); err != nil || len(log) != 6 {
		t.Errorf("the log is %+v, %v", log, err)
	}
}
