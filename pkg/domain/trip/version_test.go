package trip_test

import (
	"net/http"
	"sync"
	"testing"

	"svc/internal/test/apitest"
	"svc/pkg/domain/trip"
)

// TestIfMatch: an operator's change is made only to the state that its If-Match names, and its response names the
// next state.
func TestIfMatch(t *testing.T) {
	w := newOffice(t, 1, 2)
	id := w.request().ID
	seen := func() string {
		t.Helper()
		return w.Want(200, nil, "GET", "/api/v1/trips/"+id, w.token, "").Header.Get("ETag")
	}
	do := func(status int, action, body, tag string) string {
		t.Helper()
		return w.Want(status, nil, "POST", "/api/v1/trips/"+id+"/"+action, w.token, body, "If-Match", tag).Header.Get("ETag")
	}
	first := seen()
	last := do(200, "assign", w.to(0), first)
	if last == "" || last == first || last != seen() {
		t.Errorf("the tag was %s, is %s, and reads %s", first, last, seen())
	}
	for action, body := range map[string]string{"assign": w.to(1), "unassign": "", "cancel": `{"reason":"x"}`,
		"arrived": "", "start": "", "complete": "{}"} {
		do(412, action, body, first)
	}
	w.Want(412, nil, "DELETE", "/api/v1/trips/"+id, w.token, "", "If-Match", first)
	last = do(200, "arrived", "", last)
	do(200, "cancel", `{"reason":"x"}`, "*")
	do(412, "cancel", `{"reason":"x"}`, last)
	w.Want(200, nil, "DELETE", "/api/v1/trips/"+id, w.token, "", "If-Match", seen())
	own := w.request()
	if a := w.act(own.ID, "accept", w.driver(), ""); a.Header.Get("ETag") != "" {
		t.Error("a driver's change has a tag")
	}
}

// TestIfMatchRaces: of operators who give a trip to different drivers at once, having seen the same state, one does.
func TestIfMatchRaces(t *testing.T) {
	w := newOffice(t, 1, 4)
	for range 5 {
		id := w.request().ID
		tag := w.Want(200, nil, "GET", "/api/v1/trips/"+id, w.token, "").Header.Get("ETag")
		answers := make([]apitest.Answer, 4)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				answers[i] = w.Insist("POST", "/api/v1/trips/"+id+"/assign", w.token, w.to(i), "If-Match", tag)
			})
		}
		all.Wait()
		counts := map[int]int{}
		for _, a := range answers {
			counts[a.Status]++
		}
		if counts[200] != 1 || counts[http.StatusPreconditionFailed] != 3 {
			t.Errorf("%v", counts)
		}
		if log := w.log(id); log[len(log)-1].To != trip.Assigned || len(log) != 2 {
			t.Errorf("log %+v", log)
		}
	}
}
