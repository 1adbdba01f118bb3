package feed_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc/internal/test/streamtest"
	"svc/internal/test/testkit"
	"svc/pkg/background/feed"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/event"
	"svc/pkg/domain/trip"
	"svc/pkg/local/schema"
)

func TestFeedIsTheLogsHoweverBadlyTheStreamComes(t *testing.T) {
	testkit.Long(t)
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			name := streamtest.Table(t)
			w := newWorld(t, name, seed, 1+int(seed)*2)
			o := streamtest.Ordeal{Function: func() streamtest.Function { return w.function().Handle }, Rnd: w.rnd,
				Wire: w.crash, Requests: 8}
			o.Rounds(t, name, func() { w.change(50) })
			w.compare()
			if o.Crashes < 5 {
				t.Errorf("only %d crashes", o.Crashes)
			}
		})
	}
}

// TestReadersMissNothingOfSixteenWriters: readers that page all the time see every
// event, and the numbers have no gap. A feed in the order of clocks would lose the
// events of a writer that commits late.
func TestReadersMissNothingOfSixteenWriters(t *testing.T) {
	testkit.Long(t)
	for _, shards := range []int{1, 3} {
		t.Run(fmt.Sprint(shards, " shards"), func(t *testing.T) {
			w := newWorld(t, testkit.Name(t, schema.Options{StreamOff: true}), 5, shards)
			const writers, trips = 16, 6
			var written, reading sync.WaitGroup
			var done atomic.Bool
			readers := make([][]event.Event, 3)
			for r := range readers {
				reading.Go(func() {
					var after []int64
					for last := false; ; {
						page, err := event.Read(context.Background(), w.tenant, event.Query{After: after, Shards: shards,
							Limit: 7}, start)
						if err != nil {
							t.Error(err)
							return
						}
						readers[r], after = append(readers[r], page.Events...), page.After
						if !page.More {
							if last {
								return
							}
							last = done.Load()
						}
					}
				})
			}
			for n := range writers {
				written.Go(func() {
					f := feed.Function{DB: testkit.Open(t, w.name, nil), Now: func() time.Time { return start }}
					for i := range trips {
						at := timestamp.Format(start)
						tr := trip.Trip{ID: fmt.Sprintf("trp_%02d_%02d", n, i), Status: trip.Pending, CustomerID: "cus",
							Currency: "USD", OriginLat: "1", OriginLng: "1", RequestedAt: at, UpdatedAt: at, Version: 1}
						if err := w.tenant.Load(context.Background(), tr.Item(w.tenant, 1)); err != nil {
							t.Error(err)
						}
						insist(t, func() error { return f.Redo(context.Background(), trip.Key(w.tenant, tr.ID)) })
					}
				})
			}
			written.Wait()
			done.Store(true)
			reading.Wait()
			for r, got := range readers {
				seen := map[string]int{}
				for _, e := range got {
					seen[e.ID]++
				}
				if len(got) != writers*trips || len(seen) != writers*trips {
					t.Errorf("reader %d saw %d events, %d different ones, want %d", r, len(got), len(seen), writers*trips)
				}
			}
		})
	}
}

// insist repeats what a stream would deliver again.
func insist(t *testing.T, do func() error) {
	for range 50 {
		if do() == nil {
			return
		}
	}
	t.Error("50 attempts failed")
}

// TestResourceStaysInItsShard: when the tenant gets more shards, the events of a
// resource stay in their order.
func TestResourceStaysInItsShard(t *testing.T) {
	w := newWorld(t, testkit.Name(t, schema.Options{StreamOff: true}), 5, 1)
	run := func() {
		for _, tr := range w.trips {
			testkit.Must(t, w.function().Redo(t.Context(), trip.Key(w.tenant, tr.ID)))
		}
	}
	for range 6 {
		w.now = w.now.Add(time.Second)
		w.request()
	}
	run()
	w.shards = 5
	w.flags(5)
	for i := range w.trips {
		w.now = w.now.Add(time.Second)
		w.move(i)
	}
	run()
	w.compare()
}

// TestOlderItemsTellOnlyOfTheirChange: an item from before the feed is not
// announced as created, and what no event tells of appends nothing.
func TestOlderItemsTellOnlyOfTheirChange(t *testing.T) {
	w := newWorld(t, testkit.Name(t, schema.Options{StreamOff: true}), 5, 1)
	step := func(change func(*driver.Record)) []string {
		t.Helper()
		old := w.read(driver.Key(w.tenant, w.driver.ID))
		change(&w.driver)
		w.put(driver.Item(w.tenant, w.driver, 1))
		testkit.Must(t, feed.Step(w.function(), t.Context(), []stream.Change{{Key: old.Key, Old: old,
			New: w.read(old.Key)}}))
		var out []string
		for _, e := range w.all() {
			out = append(out, e.Type+" "+e.Data.PreviousStatus+"→"+e.Data.Status)
		}
		return out
	}
	w.put(driver.Item(w.tenant, w.driver, 1))
	for _, tt := range []struct {
		change func(*driver.Record)
		want   []string
	}{
		{func(r *driver.Record) { r.TotalTrips++ }, nil},
		{func(r *driver.Record) { r.Status = driver.Online }, []string{"driver.status_changed OFFLINE→ONLINE"}},
		{func(r *driver.Record) { r.TotalTrips++ }, []string{"driver.status_changed OFFLINE→ONLINE"}},
		{func(r *driver.Record) { r.LastName = "Moved" }, []string{"driver.status_changed OFFLINE→ONLINE",
			"driver.updated →ONLINE"}},
	} {
		if got := step(tt.change); !slices.Equal(got, tt.want) {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// TestDeletedTripIsToldToItsEnd: the feed tells what happened to a trip that was deleted
// before the feed had told it, also if one batch has the last change and the removal. It
// tells the deletion once.
func TestDeletedTripIsToldToItsEnd(t *testing.T) {
	for name, merged := range map[string]bool{"removal alone": false, "change and removal": true} {
		w := newWorld(t, testkit.Name(t, schema.Options{StreamOff: true}), 5, 1)
		w.request()
		key := trip.Key(w.tenant, w.trips[0].ID)
		first := w.read(key)
		testkit.Must(t, feed.Step(w.function(), t.Context(), []stream.Change{{Key: key, New: first, Last: first}}))
		w.now = w.now.Add(time.Second)
		w.move(0)
		last := w.read(key)
		w.delete(0)
		removed := stream.Change{Key: key, Old: last, Last: last}
		if merged {
			removed.Old = first
		}
		for range 2 {
			testkit.Must(t, feed.Step(w.function(), t.Context(), []stream.Change{removed}))
		}
		var got []string
		for _, e := range w.all() {
			got = append(got, e.Type)
		}
		if want := []string{"trip.requested", "trip.accepted", "trip.deleted"}; !slices.Equal(got, want) {
			t.Errorf("%s: the feed tells %q, want %q", name, got, want)
		}
	}
}

func (w *world) read(key table.Key) table.Item {
	w.t.Helper()
	it, err := w.tenant.Get(w.t.Context(), key)
	testkit.Must(w.t, err)
	return it
}

// TestBadItemFailsAlone: an item that cannot be read fails its own record, and the
// others of the batch are in the feed.
func TestBadItemFailsAlone(t *testing.T) {
	name := streamtest.Table(t)
	w := newWorld(t, name, 1, 1)
	w.put(table.Item{Key: w.tenant.Key("TRIP", "x", "TRIP"), Type: "trip"}) // it has no document
	w.request()
	answer, err := w.function().Handle(t.Context(), eventOf(streamtest.Records(t, name)))
	if err != nil || len(answer.BatchItemFailures) != 1 {
		t.Fatalf("answer %+v, %v; want the one bad trip", answer, err)
	}
	w.compare()
}
