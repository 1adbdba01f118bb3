package projection_test

import (
	"testing"
	"time"

	"svc/internal/test/streamtest"
	"svc/pkg/access/authz"
	"svc/pkg/data/table"
	"svc/pkg/domain/trip"
)

// holdFor writes what a check writes that holds the counters.
func (w *world) holdFor(d time.Duration) {
	w.t.Helper()
	for n := range authz.Copies {
		w.put(table.Item{Key: authz.FlagsKey(w.tenant, n), Type: "flags", Attrs: map[string]any{"readShards": w.shards,
			"writeShards": w.shards, "countsHeldUntil": w.now.Add(d).UnixMilli()}})
	}
}

// The reader of the stream counts nothing while the counters are held, and everything
// afterwards. What a killed rebuild or a wrong clock left holds nothing.
func TestReaderWaitsForTheEndOfAHold(t *testing.T) {
	for name, tt := range map[string]struct {
		hold  time.Duration
		waits bool
	}{"held": {10 * time.Second, true}, "ended": {-time.Millisecond, false}, "wrong clock": {time.Hour, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, streamtest.Table(t), 7, 2)
			w.change(40)
			w.holdFor(tt.hold)
			records := streamtest.Records(t, w.name)
			done := make(chan int)
			go func() {
				answer, err := w.function().Handle(t.Context(), eventOf(records))
				if err != nil {
					t.Error(err)
				}
				done <- len(answer.BatchItemFailures)
			}()
			if tt.waits {
				select {
				case <-done:
					t.Fatal("the reader does not wait")
				case <-time.After(500 * time.Millisecond):
				}
				if found := w.counted(); found > 0 {
					t.Errorf("%d trips are counted", found)
				}
				w.raise(w.shards) // the hold ends
			}
			if failed := <-done; failed > 0 {
				t.Errorf("%d records failed", failed)
			}
			w.recount()
		})
	}
}

// counted returns how many trips are counted.
func (w *world) counted() (n int) {
	w.t.Helper()
	for id := range w.trips {
		if w.get(trip.Key(w.tenant, id), "COUNTED").Found() {
			n++
		}
	}
	return n
}

func (w *world) get(key table.Key, sk string) table.Item {
	w.t.Helper()
	it, err := w.tenant.Get(w.t.Context(), table.Key{PK: key.PK, SK: sk})
	if err != nil {
		w.t.Fatal(err)
	}
	return it
}
