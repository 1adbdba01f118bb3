package app

import (
	"fmt"
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

// hanging is a receiver that answers nothing until it is told, and counts what arrives.
func hanging(t *testing.T) (url string, arrived *atomic.Int64, answer chan struct{}) {
	t.Helper()
	arrived, answer = &atomic.Int64{}, make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived.Add(1)
		select {
		case <-answer:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, arrived, answer
}

// inVain fails the test if something does not happen in time.
func inVain(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testkit.Patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// messagesTo stores an endpoint with events, and returns the messages that send them.
func messagesTo(t *testing.T, p *Runtime, tn table.Tenant, n int, urls ...string) (out []webhook.Message) {
	t.Helper()
	var book webhook.Book
	for _, url := range urls {
		one, err := webhook.New(url, "", nil, "usr_1", p.Now(), true)
		testkit.Must(t, err)
		_, one.Secret, err = webhook.NewSecret(t.Context(), p.Sealer.Seal, tn, one.ID)
		testkit.Must(t, err)
		book.Endpoints = append(book.Endpoints, one)
	}
	for i := range book.Endpoints {
		book.Verified(&book.Endpoints[i], []int64{0}, nil, p.Now())
	}
	testkit.Must(t, tn.Load(t.Context(), webhook.Kind.Item(tn, "", book)))
	for i := range n {
		heads, err := event.Heads(t.Context(), tn, []int{0})
		testkit.Must(t, err)
		trip := fmt.Sprint("trp_", i)
		e := event.New("trip.requested", trip, "requested", timestamp.Format(p.Now()), event.Data{TripID: trip})
		testkit.Must(t, event.Append(t.Context(), tn, 0, heads[0], []event.Piece{{Events: []event.Event{e},
			Stored: table.Item{Key: event.EmittedKey(tn, tn.Key("TRIP", trip, "TRIP"))}}}, p.Now()))
		for _, r := range book.Endpoints {
			out = append(out, webhook.Message{Tenant: tn.ID(), Endpoint: r.ID, Event: e.ID, Number: int64(i + 1), Attempt: 1})
		}
	}
	return out
}

// TestHangingReceiversHoldUpNobodyElse: while all receivers of two companies hang, with
// far more events than a process sends at once, another company's event arrives, by the
// stream and by a sweep of what is due. So does an event for another endpoint of a
// company of which one hangs. At the end every event has arrived, once.
func TestHangingReceiversHoldUpNobodyElse(t *testing.T) {
	for _, way := range []string{"the stream", "the sweep"} {
		t.Run(way, func(t *testing.T) {
			var later atomic.Int64
			began := time.Now()
			p := &Runtime{DB: testkit.Table(t), BaseURL: "http://127.0.0.1:1", Sealer: signing.NewSealer(),
				Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return began.Add(time.Duration(later.Load())) }}
			swept := func() {
				later.Add(int64(time.Minute))
				testkit.Must(t, p.sweepWebhooks(t.Context()))
			}
			send := func(some []webhook.Message) {
				if way == "the stream" {
					testkit.Must(t, p.SendWebhooks(t.Context(), 0, some...))
					return
				}
				for _, m := range some {
					tx := p.DB.Platform("DUE").Write()
					p.Sender().Book(m).Add(tx, webhook.TaskOf(m, p.Now()))
					testkit.Must(t, tx.Commit(t.Context()))
				}
				go swept()
			}
			const many = 60
			a, fromA, answerA := hanging(t)
			b, fromB, answerB := hanging(t)
			quick, fromC, answerC := hanging(t)
			close(answerC)
			other, fromOther, answerOther := hanging(t)
			close(answerOther)
			send(messagesTo(t, p, p.DB.Tenant("ten_a"+way[4:]), many, a))
			send(messagesTo(t, p, p.DB.Tenant("ten_b"+way[4:]), many, b, other))
			inVain(t, "the attempts that hang", func() bool { return fromA.Load() > 0 && fromB.Load() > 0 })
			send(messagesTo(t, p, p.DB.Tenant("ten_c"+way[4:]), 1, quick))
			inVain(t, "the event of a company whose receiver answers", func() bool { return fromC.Load() == 1 })
			inVain(t, "an event for another endpoint", func() bool { return fromOther.Load() > 0 })
			close(answerA)
			close(answerB)
			inVain(t, "every event", func() bool {
				if way == "the sweep" {
					swept()
				}
				return fromA.Load() >= many && fromB.Load() >= many && fromOther.Load() >= many && localSenders.idle()
			})
			swept()
			swept()
			if fromA.Load() != many || fromB.Load() != many || fromOther.Load() != many || fromC.Load() != 1 {
				t.Errorf("%d, %d, %d and %d attempts", fromA.Load(), fromB.Load(), fromOther.Load(), fromC.Load())
			}
		})
	}
}
