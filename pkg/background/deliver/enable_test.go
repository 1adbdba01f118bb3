package deliver_test

import (
	"fmt"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/webhook"
)

// enabling is an endpoint that waits for its challenge, beside others that are enabled.
type enabling struct {
	*world
	wire   *testkit.Wire
	others []*receiver
	mine   *receiver
	id     string
}

// newEnabling prepares an endpoint that was just created or, with again, is enabled for
// the second time.
func newEnabling(t *testing.T, others int, again bool) *enabling {
	t.Helper()
	wire := &testkit.Wire{}
	w := &enabling{world: newWorld(t, wire), wire: wire, mine: newReceiver(t)}
	for range others {
		r := newReceiver(t)
		w.create(r.URL, "")
		w.others = append(w.others, r)
	}
	if again {
		w.id = w.create(w.mine.URL, "").ID
		w.endpoints()
		w.ride(2)
		w.run()
		w.Want(200, nil, "PATCH", "/api/v1/webhooks/"+w.id, w.operator, `{"enabled": false}`)
		w.endpoints()
		w.ride(2) // the disabled endpoint gets no event of these
		w.Want(200, nil, "PATCH", "/api/v1/webhooks/"+w.id, w.operator, `{"enabled": true}`)
	} else {
		var out webhook.WithSecret
		w.ride(2)
		w.Want(201, &out, "POST", "/api/v1/webhooks", w.operator, fmt.Sprintf(`{"url": %q}`, w.mine.URL))
		w.id = out.ID
	}
	w.run()
	w.step(webhook.Key(w.tenant))
	for _, r := range append(w.others, w.mine) {
		r.take()
	}
	return w
}

// check checks that the endpoint got each event after its start once, and nothing else,
// and that the others got the new event once. before is where the feed ended.
func (w *enabling) check(name string, before int64) {
	w.t.Helper()
	if e := w.get(w.id); e.Status != webhook.Enabled {
		w.t.Fatalf("%s: the endpoint is %s", name, e.Status)
	}
	book, err := webhook.Kind.FromItem(w.item())
	testkit.Must(w.t, err)
	count := func(r *receiver) (n int64) {
		for _, one := range r.take() {
			if one.kind == "trip.requested" {
				n++
			}
		}
		return n
	}
	if got, want := count(w.mine), before+1-max(before, book.Find(w.id).After[0]); got != want {
		w.t.Errorf("%s: the endpoint got %d events of %d after its start", name, got, want)
	}
	for _, r := range w.others {
		if got := count(r); got != 1 {
			w.t.Errorf("%s: another endpoint got %d events, want one", name, got)
		}
	}
}

func (w *enabling) newest() int64 {
	w.t.Helper()
	last, err := event.Newest(w.t.Context(), w.tenant)
	testkit.Must(w.t, err)
	return last[0]
}

// each runs the test four times: with a new endpoint and with one that is enabled again,
// each as the only endpoint and beside another one.
func each(t *testing.T, do func(t *testing.T, prepare func() *enabling)) {
	for others := range 2 {
		for _, again := range []bool{false, true} {
			t.Run(fmt.Sprintf("others %d, again %v", others, again), func(t *testing.T) {
				do(t, func() *enabling { return newEnabling(t, others, again) })
			})
		}
	}
}

// TestAppendedWhileEnabling: an event that comes into the feed between any two requests
// of the enabling reaches the endpoint if it comes after the endpoint's start.
func TestAppendedWhileEnabling(t *testing.T) {
	testkit.LongHere(t)
	each(t, func(t *testing.T, prepare func() *enabling) {
		for p := range testkit.Points(t, 8) {
			w := prepare()
			before := w.newest()
			w.wire.Meanwhile(p.N, func() { w.ride(1) })
			w.run() // the challenge
			if !p.Reached(w.wire.Interrupted()) {
				continue
			}
			w.endpoints()
			w.check(fmt.Sprint("before ", p), before)
			w.ride(1)
			w.run()
			w.check(fmt.Sprint("afterwards, ", p), before+1)
		}
	})
}

// TestEnabledWhileAppending: an endpoint that is enabled between any two requests of a
// step of the feed gets what the step appends after the endpoint's start.
func TestEnabledWhileAppending(t *testing.T) {
	testkit.LongHere(t)
	each(t, func(t *testing.T, prepare func() *enabling) {
		for p := range testkit.Points(t, 11) {
			w := prepare()
			before, at := w.newest(), w.prepare()
			w.wire.Meanwhile(p.N, func() {
				w.run() // the challenge
				w.endpoints()
			})
			testkit.Must(t, w.feed.Change(t.Context(), at))
			if !p.Reached(w.wire.Interrupted()) {
				continue
			}
			w.run()
			w.check(fmt.Sprint("before ", p), before)
			w.ride(1)
			w.run()
			w.check(fmt.Sprint("afterwards, ", p), before+1)
		}
	})
}

// TestEndpointOfAnOlderBuild: an older build stored neither which version of the
// endpoints enabled one, nor to which version events were passed. Nothing is passed on
// twice, and a new endpoint gets what comes after its start.
func TestEndpointOfAnOlderBuild(t *testing.T) {
	w, r := newWorld(t, &testkit.Wire{}), newReceiver(t)
	w.create(r.URL, "")
	w.endpoints()
	w.ride(2)
	w.run()
	book, err := webhook.Kind.FromItem(w.item())
	testkit.Must(t, err)
	book.Endpoints[0].Enabling = 0
	older := webhook.Kind.Item(w.tenant, "", book)
	older.Version = book.Version
	w.put(w.tenant.Handle, older)
	w.put(w.tenant.Handle, table.Item{Key: event.SentKey(w.tenant, 0), Type: "sent", Attrs: map[string]any{"sent": 2}})
	r.take()
	second := newReceiver(t)
	w.create(second.URL, "")
	second.take()
	w.ride(1)
	w.run()
	if got, late := len(r.take()), len(second.take()); got != 1 || late != 1 {
		t.Errorf("the old endpoint got %d events, the new one %d; want one each", got, late)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) > 0 {
		t.Errorf("%d messages are left", len(w.queue))
	}
}
