package deliver_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/data/table"
	"svc/pkg/domain/webhook"
)

// moving is an endpoint whose address changes from one receiver to another.
type moving struct {
	*world
	from, to *receiver
	id       string
	asked    map[string]bool // requests that were passed to the feed
}

// requests passes what was asked for to the feed, once. The stored requests stay.
func (w *moving) requests() {
	w.t.Helper()
	page, err := w.tenant.Query(w.t.Context(), w.tenant.Partition("WEBHOOK", w.id), table.Query{Prefix: "REQUEST#",
		Limit: 10})
	testkit.Must(w.t, err)
	for _, it := range page.Items {
		if !w.asked[it.SK] {
			w.asked[it.SK] = true
			w.step(it.Key)
		}
	}
	w.run()
}

func newMoving(t *testing.T, sharded bool) *moving {
	t.Helper()
	w := &moving{world: newWorld(t, nil), from: newReceiver(t), to: newReceiver(t),
		asked: map[string]bool{}}
	w.id = w.create(w.from.URL, "").ID
	if sharded {
		w.sharded(t)
	}
	w.to.mute = true
	return w
}

// move changes the address. The new one echoes nothing.
func (w *moving) move() {
	w.t.Helper()
	w.Want(200, nil, "PATCH", "/api/v1/webhooks/"+w.id, w.operator, fmt.Sprintf(`{"url": %q}`, w.to.URL))
	w.endpoints()
}

// confirm lets the new address echo a second challenge.
func (w *moving) confirm() {
	w.t.Helper()
	w.to.mute = false
	w.Want(200, nil, "PATCH", "/api/v1/webhooks/"+w.id, w.operator, `{"enabled": true}`)
	w.endpoints()
	w.requests()
	if e := w.get(w.id); e.Status != webhook.Enabled {
		w.t.Fatalf("the endpoint is %s", e.Status)
	}
}

// events returns how often the receiver got each event.
func events(r *receiver) map[string]int {
	out := map[string]int{}
	for _, one := range r.take() {
		if one.kind != "verification" {
			out[one.id]++
		}
	}
	return out
}

// waiting are what is not delivered when the address changes: each does it, and returns the
// number of events.
var waiting = map[string]func(w *moving) int{
	"nothing":      func(*moving) int { return 0 },
	"in the queue": func(w *moving) int { w.ride(3); return 3 },
	"failed once": func(w *moving) int {
		w.from.answers(500, nil)
		w.ride(3)
		w.run()
		return 3
	},
	"failed for hours": func(w *moving) int {
		w.from.answers(503, nil)
		w.ride(2)
		for range 6 {
			w.pass(time.Hour)
		}
		return 2
	},
	"delivered": func(w *moving) int {
		w.ride(3)
		w.run()
		return 0
	},
	"asked for again": func(w *moving) int {
		w.ride(2)
		w.run()
		for _, d := range w.deliveries(w.id, "") {
			w.Want(200, nil, "POST", "/api/v1/webhooks/"+w.id+"/replay", w.operator,
				fmt.Sprintf(`{"event": %q}`, d.EventID))
		}
		return 2
	},
	"a range asked for again": func(w *moving) int {
		w.ride(4)
		w.run()
		w.Want(200, nil, "POST", "/api/v1/webhooks/"+w.id+"/replay", w.operator, `{"after": "2026-01-01T00:00:00Z"}`)
		return 4
	},
}

// TestEventsWaitForANewAddress: between a change of the address and its confirmation,
// nothing goes to the old address, and the new one then gets each event once: what was in
// the queue, what was to be tried again, what was asked for again, and what happened
// meanwhile.
func TestEventsWaitForANewAddress(t *testing.T) {
	for _, sharded := range []bool{false, true} {
		for name, before := range waiting {
			t.Run(fmt.Sprintf("%s, sharded %v", name, sharded), func(t *testing.T) {
				w := newMoving(t, sharded)
				want := before(w)
				w.from.take()
				w.move()
				w.requests()
				w.ride(5)
				for range 3 {
					w.pass(20 * time.Minute)
				}
				if got := events(w.to); len(got) > 0 {
					t.Errorf("an address that is not confirmed got %v", got)
				}
				for _, d := range w.deliveries(w.id, "?status=failed") {
					t.Errorf("a delivery failed: %+v", d)
				}
				w.confirm()
				for range 9 { // longer than the pause before the sixth attempt
					w.pass(time.Hour)
				}
				got := events(w.to)
				if len(got) != want+5 || slices.Max(slices.Collect(maps.Values(got))) != 1 {
					t.Errorf("the new address got %v, want each of %d events once", got, want+5)
				}
				if got := events(w.from); len(got) > 0 {
					t.Errorf("the old address got %v", got)
				}
			})
		}
	}
}

// TestAddressChangesWhileConnecting: the event goes to the new address, and not a byte to
// the old one.
func TestAddressChangesWhileConnecting(t *testing.T) {
	w := newMoving(t, false)
	w.to.mute = false
	w.from.take()
	var once sync.Once
	w.worker.Client = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network,
		address string) (net.Conn, error) {
		once.Do(func() {
			w.Want(200, nil, "PATCH", "/api/v1/webhooks/"+w.id, w.operator, fmt.Sprintf(`{"url": %q}`, w.to.URL))
		})
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	w.ride(2)
	w.run()
	w.endpoints()
	w.requests()
	w.pass(time.Minute)
	if got := events(w.to); len(got) != 2 {
		t.Errorf("the new address got %v", got)
	}
	if got := events(w.from); len(got) > 0 {
		t.Errorf("the old address got %v", got)
	}
}

// TestOldAddressSaysGone: what the old address answers after the change says nothing about
// the new one.
func TestOldAddressSaysGone(t *testing.T) {
	w := newMoving(t, false)
	w.to.mute = false
	w.from.answers(410, nil)
	inner := w.worker.Client
	var once sync.Once
	w.worker.Client = roundTrip(func(req *http.Request) (*http.Response, error) {
		res, err := inner.RoundTrip(req)
		once.Do(func() {
			w.worker.Client = inner
			w.Want(200, nil, "PATCH", "/api/v1/webhooks/"+w.id, w.operator, fmt.Sprintf(`{"url": %q}`, w.to.URL))
			w.endpoints()
		})
		return res, err
	})
	w.ride(1)
	w.run()
	w.pass(time.Minute)
	if e := w.get(w.id); e.Status != webhook.Enabled || e.URL != w.to.URL {
		t.Errorf("%+v", e)
	}
	if got := events(w.to); len(got) != 1 {
		t.Errorf("the new address got %v", got)
	}
}

// TestNothingWaitsForEver: a delivery waits as long as it would have been tried, then it
// has failed. An address that is confirmed later gets what happened within that time. An
// endpoint that was disabled gets nothing of what waited.
func TestNothingWaitsForEver(t *testing.T) {
	w := newMoving(t, false)
	w.ride(2)
	w.move()
	for range 80 {
		w.pass(time.Hour)
	}
	if got := w.deliveries(w.id, "?status=failed"); len(got) != 2 || got[0].NextAt != nil {
		t.Errorf("failed: %+v", got)
	}
	w.mu.Lock()
	if len(w.queue) > 0 {
		t.Errorf("%d messages are left", len(w.queue))
	}
	w.mu.Unlock()
	w.ride(3)
	w.pass(time.Hour)
	w.confirm()
	w.pass(time.Hour)
	if got := events(w.to); len(got) != 3 {
		t.Errorf("the new address got %v, want what happened within the time", got)
	}

	w = newMoving(t, false)
	w.ride(2)
	w.move()
	w.ride(2)
	w.Want(200, nil, "PATCH", "/api/v1/webhooks/"+w.id, w.operator, `{"enabled": false}`)
	w.endpoints()
	w.pass(time.Hour)
	w.confirm()
	w.pass(time.Hour)
	if got := events(w.to); len(got) > 0 {
		t.Errorf("after it was disabled it got %v", got)
	}
}

// TestWaitingCostsLittle: a delivery that waits is looked at less and less often.
func TestWaitingCostsLittle(t *testing.T) {
	w := newMoving(t, false)
	w.ride(1)
	w.move()
	looked := 0
	for range 24 * 60 / 5 { // each sweep costs thirty requests
		w.Advance(5 * time.Minute)
		testkit.Must(t, w.worker.Sweep(t.Context(), func(ctx context.Context, m webhook.Message) error {
			looked++
			return w.worker.Handle(ctx, m)
		}))
	}
	if looked < 20 || looked > 40 {
		t.Errorf("looked at %d times in a day", looked)
	}
}
