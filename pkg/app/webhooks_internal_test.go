package app

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/access/signing"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/webhook"
)

// TestMessageOutlivesTheProcess: a process without a queue that is killed at any request
// leaves the message due. The next process sends it, and there is one delivery.
func TestMessageOutlivesTheProcess(t *testing.T) {
	for p := range testkit.CrashPoints(t, 30) {
		outlives(t, p)
	}
}

// outlives kills the process that sends a message at the point.
func outlives(t *testing.T, at *testkit.Point) {
	t.Helper()
	wire, got := &testkit.Wire{}, atomic.Int64{}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		got.Add(1)
	}))
	defer receiver.Close()
	var later atomic.Int64 // how much time has passed
	began := time.Now()
	p := &Runtime{DB: testkit.TableOnWire(t, wire), BaseURL: "http://127.0.0.1:1", Sealer: signing.NewSealer(),
		Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return began.Add(time.Duration(later.Load())) }}
	tn := p.DB.Tenant("ten_1")
	m := toSend(t, p, tn, receiver.URL)
	ctx := wire.CrashAt(t.Context(), at.N, at.Lost)
	accepted := p.SendWebhooks(ctx, 0, m) == nil
	for accepted && localSenders.idle() && got.Load() == 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	for !localSenders.idle() {
		time.Sleep(time.Millisecond)
	}
	at.Reached(wire.Revive())
	if !accepted { // the stream delivers the record again
		testkit.Must(t, p.SendWebhooks(t.Context(), 0, m))
	}
	later.Add(int64(5 * time.Second))
	testkit.Must(t, p.sweepWebhooks(t.Context()))
	for !localSenders.idle() {
		time.Sleep(time.Millisecond)
	}
	it, err := tn.Get(t.Context(), webhook.DeliveryKey(tn, m.Endpoint, 0, m.Event))
	testkit.Must(t, err)
	if got.Load() < 1 || got.Load() > 2 || it.Text("status") != webhook.Succeeded {
		t.Errorf("killed at %v: %d requests, the delivery is %q", at, got.Load(), it.Text("status"))
	}
}

// toSend stores an event and an enabled endpoint, and returns the message that sends the
// one to the other.
func toSend(t *testing.T, p *Runtime, tn table.Tenant, url string) webhook.Message {
	t.Helper()
	one, err := webhook.New(url, "", nil, "usr_1", p.Now(), true)
	testkit.Must(t, err)
	_, one.Secret, err = webhook.NewSecret(t.Context(), p.Sealer.Seal, tn, one.ID)
	testkit.Must(t, err)
	book := webhook.Book{Endpoints: []webhook.Record{one}}
	book.Verified(&book.Endpoints[0], []int64{0}, nil, p.Now())
	testkit.Must(t, tn.Load(t.Context(), webhook.Kind.Item(tn, "", book)))
	heads, err := event.Heads(t.Context(), tn, []int{0})
	testkit.Must(t, err)
	e := event.New("trip.requested", "trp_1", "requested", timestamp.Format(p.Now()), event.Data{TripID: "trp_1"})
	testkit.Must(t, event.Append(t.Context(), tn, 0, heads[0], []event.Piece{{Events: []event.Event{e},
		Stored: table.Item{Key: event.EmittedKey(tn, tn.Key("TRIP", "trp_1", "TRIP"))}}}, p.Now()))
	return webhook.Message{Tenant: tn.ID(), Endpoint: one.ID, Event: e.ID, Number: 1, Attempt: 1}
}
