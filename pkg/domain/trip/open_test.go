package trip_test

import (
	"context"
	"fmt"
	"testing"

	"svc/internal/test/apitest"
	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/trip"
)

// allow sets the limit of open trips of one rider, as the flags have it.
func (w *town) allow(most int) {
	w.t.Helper()
	tx := w.tenant.Write()
	for i := range authz.Copies {
		tx.Update(authz.FlagsKey(w.tenant, i), table.Change{Set: map[string]any{"maxOpenTrips": most}})
	}
	testkit.Must(w.t, tx.Commit(w.t.Context()))
}

// ask makes a rider request a trip, and returns its id, or "" after the 409 of
// the limit.
func (w *town) ask(rider string, headers ...string) string {
	w.t.Helper()
	a := w.Insist("POST", "/api/v1/me/trips", w.tokens[rider], ride, headers...)
	if a.Status == 409 && a.Code() == "too_many_open_trips" {
		return ""
	}
	if a.Status != 201 {
		w.t.Fatalf("%d %s", a.Status, a.Body)
	}
	var got trip.Trip
	a.Decode(w.t, &got)
	return got.ID
}

// open counts the rider's trips that have not ended.
func (w *town) open(ids ...string) (n int) {
	w.t.Helper()
	for _, id := range ids {
		if s := w.stored(id).Status; s != trip.Completed && s != trip.Cancelled {
			n++
		}
	}
	return n
}

// TestOpenTrips: a rider has at most as many open trips as the tenant allows. A
// trip that ends in any way gives its place back once. Other riders, and trips
// from before the limit, do not count.
func TestOpenTrips(t *testing.T) {
	w := newTown(t, 1, 2, 1)
	w.allow(-1)
	before := []string{w.ask(w.riders[0]), w.ask(w.riders[0]), w.ask(w.riders[0]), w.ask(w.riders[0])}
	w.allow(3)
	made := []string{w.ask(w.riders[0]), w.ask(w.riders[0]), w.ask(w.riders[0])}
	full := func(what string, want bool) {
		t.Helper()
		id := w.ask(w.riders[0])
		if id == "" != want {
			t.Errorf("%s: the rider has no place: %v, want %v", what, id == "", want)
		}
		if id != "" {
			made = append(made, id)
		}
	}
	full("three requests", true)
	if w.ask(w.riders[1]) == "" {
		t.Error("another rider's trips count")
	}
	if a := w.act(before[0], "cancel", w.rider(), ""); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	full("an end of a trip that never counted", true)
	w.act(made[0], "cancel", w.rider(), "")
	w.act(made[0], "cancel", w.rider(), "")
	full("a cancellation", false)
	full("the same place again", true)
	for _, action := range []string{"accept", "arrived", "start"} {
		w.act(made[1], action, w.driver(), "")
		full(action, true)
	}
	w.act(made[1], "complete", w.driver(), "")
	full("a completion", false)
	full("the same place again", true)
	operator := trip.Store{Tenant: w.tenant, WriteShards: 1, Now: w.Now(),
		Commit: func(ctx context.Context, tx *table.Tx, _ any) error { return tx.Commit(ctx) }}
	it, err := w.tenant.Get(t.Context(), trip.Key(w.tenant, made[2]))
	testkit.Must(t, err)
	_, err = operator.Cancel(t.Context(), it, trip.ByOperator("svc:test"), nil)
	testkit.Must(t, err)
	full("a cancellation by an operator", false)
	full("the same place again", true)
	w.allow(5)
	full("a higher limit", false)
	full("a higher limit", false)
	full("a higher limit", true)
	w.allow(1)
	w.act(made[len(made)-1], "cancel", w.rider(), "")
	full("a lower limit", true)
	w.allow(-1)
	full("no limit", false)
}

// TestRaceOpenTrips: of a rider's concurrent requests exactly as many succeed as
// the tenant allows, also while other trips of the rider end.
func TestRaceOpenTrips(t *testing.T) {
	w := newTown(t, 1, 1, 0)
	w.allow(5)
	var made []string
	for round := range 6 {
		places := 5 - w.open(made...)
		answers := make([]string, 20)
		_, _ = together(20, func(i int) (a apitest.Answer) {
			answers[i] = w.ask(w.riders[0])
			return a
		})
		n := 0
		for _, id := range answers {
			if id != "" {
				made, n = append(made, id), n+1
			}
		}
		if n != places || w.open(made...) != 5 {
			t.Fatalf("round %d: %d of %d places were given, %d trips are open", round, n, places, w.open(made...))
		}
		for _, id := range made[len(made)-round%5-1:] {
			w.act(id, "cancel", w.rider(), "")
		}
	}
	for range 5 { // ends and requests at once
		ended := made[len(made)-3:]
		answers := make([]string, 20)
		_, _ = together(20, func(i int) (a apitest.Answer) {
			if i < len(ended) {
				return w.act(ended[i], "cancel", w.rider(), "")
			}
			answers[i] = w.ask(w.riders[0])
			return a
		})
		for _, id := range answers {
			if id != "" {
				made = append(made, id)
			}
		}
		if n := w.open(made...); n > 5 {
			t.Fatalf("%d trips are open", n)
		}
		for w.ask(w.riders[0]) != "" {
			t.Log("a place that was free")
		}
	}
}

// TestOpenTripsStaySmall: trips that have ended do not let the rider's item grow,
// and a rider with many open trips is counted too.
func TestOpenTripsStaySmall(t *testing.T) {
	w := newTown(t, 1, 1, 0)
	w.allow(60)
	held := func() int {
		it, err := w.tenant.Get(t.Context(), w.tenant.Key("TRIP", w.riders[0], "OPEN"))
		testkit.Must(t, err)
		return len(it.Strings("trips"))
	}
	for range 60 {
		w.act(w.ask(w.riders[0]), "cancel", w.rider(), "")
		if n := held(); n > 25 {
			t.Fatalf("the item has %d trips of a rider without an open one", n)
		}
	}
	for n := range 60 {
		if w.ask(w.riders[0]) == "" {
			t.Fatalf("no place with %d open trips", n)
		}
	}
	if id := w.ask(w.riders[0]); id != "" || held() > 60+25 {
		t.Errorf("61 open trips; the item has %d", held())
	}
}

// TestOpenTripsWithAKey: the 409 is stored like any other, and the retry of the
// request that took the last place gets its trip.
func TestOpenTripsWithAKey(t *testing.T) {
	w := newTown(t, 1, 1, 0)
	w.allow(1)
	first := w.ask(w.riders[0], "Idempotency-Key", "first")
	if first == "" || w.ask(w.riders[0], "Idempotency-Key", "second") != "" {
		t.Fatal("the limit is not 1")
	}
	w.act(first, "cancel", w.rider(), "")
	if again := w.ask(w.riders[0], "Idempotency-Key", "first"); again != first {
		t.Errorf("the retry got %s, not %s", again, first)
	}
	if w.ask(w.riders[0], "Idempotency-Key", "second") != "" {
		t.Error("the 409 was not stored")
	}
	if w.ask(w.riders[0], "Idempotency-Key", "third") == "" {
		t.Error("no place after the cancellation")
	}
	for i := range 10 { // one place, and every retry of the winner gets it
		w.allow(2 + i)
		answers := make([]string, 8)
		_, _ = together(8, func(n int) (a apitest.Answer) {
			answers[n] = w.ask(w.riders[0], "Idempotency-Key", fmt.Sprint("race-", i))
			return a
		})
		for _, id := range answers {
			if id != answers[0] || !ids.Valid(ids.Trip, id) {
				t.Fatalf("the retries got %q", answers)
			}
		}
	}
}
