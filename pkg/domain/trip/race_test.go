package trip_test

import (
	"fmt"
	"sync"
	"testing"

	"svc/internal/test/apitest"
	"svc/pkg/domain/trip"
	"svc/pkg/edge/api"
)

// together sends n requests concurrently and counts the responses by status.
func together(n int, send func(i int) apitest.Answer) (map[int]int, []apitest.Answer) {
	answers, begin := make([]apitest.Answer, n), make(chan struct{})
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			<-begin
			answers[i] = send(i)
		})
	}
	close(begin)
	group.Wait()
	byStatus := map[int]int{}
	for _, a := range answers {
		byStatus[a.Status]++
	}
	return byStatus, answers
}

func TestRaceFiftyAccepts(t *testing.T) {
	w := newTown(t, 1, 1, 50)
	for range 3 {
		id := w.request().ID
		byStatus, _ := together(50, func(i int) apitest.Answer { return w.act(id, "accept", w.tokens[w.drivers[i]], "") })
		if byStatus[200] != 1 || byStatus[409] != 49 {
			t.Fatalf("got %v, want one 200 and 49 409", byStatus)
		}
		if entries := w.log(id); len(entries) != 2 || *entries[1].Data.DriverID != *w.stored(id).DriverID {
			t.Errorf("log: %+v", entries)
		}
	}
}

func TestRaceAcceptAndCancel(t *testing.T) {
	w := newTown(t, 1, 1, 1)
	for range 25 {
		id := w.request().ID
		_, answers := together(2, func(i int) apitest.Answer {
			if i == 0 {
				return w.act(id, "accept", w.driver(), "")
			}
			return w.act(id, "cancel", w.rider(), "")
		})
		got, entries := w.stored(id), w.log(id)
		// A cancel may also follow the accept: an assigned trip can be cancelled.
		switch [2]int{answers[0].Status, answers[1].Status} {
		case [2]int{409, 200}:
			if got.Status != trip.Cancelled || got.DriverID != nil || len(entries) != 2 {
				t.Fatalf("cancelled: %+v, %d entries", got, len(entries))
			}
		case [2]int{200, 200}:
			if got.Status != trip.Cancelled || got.DriverID == nil || len(entries) != 3 {
				t.Fatalf("accepted, then cancelled: %+v, %d entries", got, len(entries))
			}
		default:
			t.Fatalf("got %d and %d: %s %s", answers[0].Status, answers[1].Status, answers[0].Body, answers[1].Body)
		}
	}
}

func TestRaceStartAndCancel(t *testing.T) {
	w := newTown(t, 1, 1, 1)
	for range 25 {
		id := w.reach("accept", "arrived").ID
		byStatus, _ := together(2, func(i int) apitest.Answer {
			if i == 0 {
				return w.act(id, "start", w.driver(), "")
			}
			return w.act(id, "cancel", w.rider(), "")
		})
		if byStatus[200] != 1 || byStatus[409] != 1 {
			t.Fatalf("got %v, want one 200 and one 409", byStatus)
		}
	}
}

func TestRaceCompleteAndCancel(t *testing.T) {
	w := newTown(t, 1, 1, 1)
	for range 25 {
		id := w.reach("accept", "arrived", "start").ID
		_, answers := together(3, func(i int) apitest.Answer {
			if i == 0 {
				return w.act(id, "cancel", w.rider(), "")
			}
			return w.act(id, "complete", w.driver(), fmt.Sprintf(`{"finalFare":%d}`, i))
		})
		if answers[0].Status != 409 || answers[1].Status+answers[2].Status != 609 {
			t.Fatalf("got %d, %d and %d", answers[0].Status, answers[1].Status, answers[2].Status)
		}
		if got := w.stored(id); got.Status != trip.Completed || len(w.log(id)) != 5 {
			t.Fatalf("got %s with %d entries", got.Status, len(w.log(id)))
		}
	}
}

func TestRaceSameKeyMakesOneTrip(t *testing.T) {
	w := newTown(t, 1, 1, 1)
	for round := range 5 {
		key := fmt.Sprint("key-", round)
		byStatus, answers := together(20, func(int) apitest.Answer {
			return w.Insist("POST", "/api/v1/me/trips", w.rider(), ride, "Idempotency-Key", key)
		})
		if byStatus[201] != 20 {
			t.Fatalf("got %v, want twenty 201", byStatus)
		}
		for _, a := range answers {
			if a.Body != answers[0].Body {
				t.Fatalf("two answers:\n%s\n%s", a.Body, answers[0].Body)
			}
		}
	}
	var list api.Items[trip.Trip]
	w.Want(200, &list, "GET", "/api/v1/me/trips", w.rider(), "")
	if len(list.Items) != 5 {
		t.Errorf("got %d trips, want one for each key", len(list.Items))
	}
}

func TestRaceSameKeyAcceptsOnce(t *testing.T) {
	w := newTown(t, 1, 1, 1)
	for round := range 5 {
		id := w.request().ID
		byStatus, _ := together(20, func(int) apitest.Answer {
			return w.act(id, "accept", w.driver(), "", "Idempotency-Key", fmt.Sprint("accept-", round))
		})
		if byStatus[200] != 20 {
			t.Fatalf("got %v, want twenty 200", byStatus)
		}
		if n := len(w.log(id)); n != 2 {
			t.Errorf("%d log entries, want 2", n)
		}
	}
}
