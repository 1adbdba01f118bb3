package dispatch_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/background/dispatch"
	"svc/pkg/base/timestamp"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
)

// killed runs the work in a process that is killed at the point, and reports whether it
// came so far.
func (w *world) killed(at *testkit.Point, work func(context.Context) error) bool {
	_ = work(w.wire.CrashAt(w.Context(), at.N, at.Lost))
	return w.wire.Revive()
}

// handled handles the trip's message in a process that is killed, and then again, as
// the queue does.
func (w *world) handled(id string, at *testkit.Point) (crashed bool) {
	w.Helper()
	handle := func(ctx context.Context) error {
		return w.worker.Handle(ctx, dispatch.Message{Tenant: w.tn.ID(), Trip: id})
	}
	if crashed = w.killed(at, handle); crashed {
		testkit.Must(w.T, handle(w.Context()))
	}
	return crashed
}

// Wherever the process is killed that learns of a scheduled trip, or the one that
// wakes it, the trip becomes pending in time, once.
func TestScheduledWakesAfterAKill(t *testing.T) {
	testkit.LongHere(t)
	w := newWorld(t, func(d *settings.Dispatch) { d.Mode = settings.Manual })
	for p := range testkit.CrashPoints(t, 200) {
		id := w.trip()
		got := w.read(id)
		got.Status, got.ScheduledFor = trip.Scheduled, timestamp.Ptr(w.Now().Add(time.Hour))
		testkit.Must(t, w.tn.Load(t.Context(), got.Item(w.tn, 2)))
		first := w.handled(id, p)
		w.Advance(45 * time.Minute) // scheduledLeadMinutes before its time
		second := w.killed(p, w.worker.Sweep)
		p.Reached(first || second)
		w.Advance(2 * time.Minute)
		testkit.Must(t, w.worker.Sweep(t.Context()))
		if got := w.read(id); got.Status != trip.Pending || strings.Count(logOf(got), "DUE") != 1 {
			t.Errorf("killed at %v: %s, %s", p, got.Status, logOf(got))
		}
	}
}

// A process may be killed at any request while it offers a trip, and while it ends an
// offer. Each driver still gets one offer of the trip, and the trip has an end.
func TestOffersAfterAKill(t *testing.T) {
	testkit.LongHere(t)
	w := newWorld(t, func(d *settings.Dispatch) { d.MaxWaves = 2 })
	one, two := w.driver(1), w.driver(2)
	all := []string{one, two}
	near := func() {
		w.at(one, 1)
		w.at(two, 2)
	}
	for p := range testkit.CrashPoints(t, 200) {
		w.Advance(time.Minute)
		near()
		id := w.trip()
		first := w.handled(id, p)
		w.wantHolders(id, "the first wave", all, []string{one})
		w.Advance(31 * time.Second)
		w.wantHolders(id, "an offer that has expired", all, []string{})
		near()
		second := w.killed(p, w.worker.Sweep)
		p.Reached(first || second)
		for range 4 {
			w.Advance(2 * time.Minute)
			near()
			testkit.Must(t, w.worker.Sweep(t.Context()))
		}
		got := w.read(id)
		if w.askedOnce(got); got.Status != trip.Pending || strings.Count(logOf(got), "OFFERED") != 2 {
			t.Errorf("killed at %v: %s, %s", p, got.Status, logOf(got))
		}
	}
}
