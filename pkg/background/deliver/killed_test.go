package deliver_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/domain/webhook"
)

// TestKilledBetweenAnyTwoRequests: whatever the process had done when it was killed,
// the event arrives, with one id. With several shards it may also copy the endpoints.
func TestKilledBetweenAnyTwoRequests(t *testing.T) {
	testkit.LongHere(t)
	for _, status := range []int{204, 500} {
		for _, sharded := range []bool{false, true} {
			t.Run(fmt.Sprintf("status %d, sharded %v", status, sharded), func(t *testing.T) {
				for p := range testkit.CrashPoints(t, 30) {
					killedAt(t, p, status, sharded)
				}
			})
		}
	}
}

// killedAt kills the process at the point, while the receiver responds with the status.
func killedAt(t *testing.T, p *testkit.Point, status int, sharded bool) {
	t.Helper()
	wire := &testkit.Wire{}
	w, r := newWorld(t, wire), newReceiver(t)
	hook := w.create(r.URL, "")
	if sharded {
		w.sharded(t)
	}
	r.take()
	r.answers(status, nil)
	at := w.prepare()
	ctx := wire.CrashAt(t.Context(), p.N, p.Lost)
	if w.feed.Change(ctx, at) == nil {
		w.mu.Lock()
		queue := slices.Clone(w.queue)
		w.mu.Unlock()
		for _, q := range queue {
			_ = w.worker.Handle(ctx, q.m)
		}
	}
	p.Reached(wire.Revive())
	// The stream delivers the record again, and the queue its messages.
	testkit.Must(t, w.feed.Change(t.Context(), at))
	w.run()
	r.answers(204, nil)
	w.pass(10 * time.Second)
	got := r.take()
	ids := map[string]bool{}
	for _, one := range got {
		ids[one.id] = true
	}
	if d := w.deliveries(hook.ID, ""); len(ids) != 1 || len(d) != 1 || d[0].Status != webhook.Succeeded {
		t.Errorf("killed at %v: %d requests, %d ids, %+v", p, len(got), len(ids), d)
	}
}
