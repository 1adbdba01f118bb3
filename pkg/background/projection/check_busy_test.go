package projection_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/background/projection"
	"svc/pkg/background/reconcile"
	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/counter"
	"svc/pkg/data/table"
	"svc/pkg/domain/report"
	"svc/pkg/domain/trip"
)

// ride puts a trip that was requested and completed at the given times.
func (w *world) ride(requested, completed time.Time) trip.Trip {
	tr := trip.Trip{ID: fmt.Sprintf("trp_%026d", len(w.trips)), Status: trip.Completed, CustomerID: "cus", Currency: "USD",
		PaymentType: "CASH", OriginLat: "1", OriginLng: "1", RequestedAt: timestamp.Format(requested),
		CompletedAt: timestamp.Ptr(completed), UpdatedAt: timestamp.Format(completed), Version: 2}
	w.trips[tr.ID] = tr
	w.put(tr.Item(w.tenant, w.shards))
	return tr
}

// A rebuild and its check send at most three requests a trip, also if each trip
// has a day of its own.
func TestRebuildSendsFewRequestsPerTrip(t *testing.T) {
	testkit.Long(t)
	for name, apart := range map[string]time.Duration{"a minute apart": time.Minute, "a day apart": 25 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, testkit.Name(t, streamOff), 31, 3)
			const n = 150
			w.now = start.Add(n * apart)
			for i := range n {
				at := start.Add(time.Duration(i) * apart)
				w.ride(at, at.Add(17*time.Minute+time.Duration(i)*time.Second))
			}
			before := w.crash.Sent()
			w.rebuilt()
			sent := w.crash.Sent() - before
			if t.Logf("%d requests for %d trips", sent, n); sent > 3*n {
				t.Errorf("%d requests for %d trips", sent, n)
			}
			if found := w.checked(false); len(found) > 0 {
				t.Errorf("after the rebuild: %+v", found)
			}
			w.recount()
		})
	}
}

// What an older build counted, the revenue by the time of request, is counted
// again by the time of completion. A step of the older build beside a newer one
// leaves nothing behind.
func TestRebuildOfWhatAnOlderBuildCounted(t *testing.T) {
	w := newWorld(t, testkit.Name(t, streamOff), 32, 3)
	monday := time.Date(2026, 3, 2, 23, 50, 0, 0, time.UTC)
	w.now = monday.Add(time.Hour)
	for i := range 3 {
		tr := w.ride(monday, monday.Add(20*time.Minute))
		tr.FinalFare = ptr(money.Amount("12.5"))
		w.trips[tr.ID] = tr
		w.put(tr.Item(w.tenant, w.shards))
		if i == 2 { // counted by the newer build first
			w.count(tr)
		}
		w.countAsOlder(tr)
	}
	w.rebuilt()
	if found := w.checked(false); len(found) > 0 {
		t.Errorf("after the rebuild: %+v", found)
	}
	w.recount()
	midnight := monday.Truncate(24 * time.Hour).Add(24 * time.Hour)
	for day, want := range map[time.Time]string{midnight.Add(-24 * time.Hour): "0", midnight: "37.5"} {
		got, err := report.Summarize(t.Context(), w.tenant, day, day.Add(24*time.Hour), w.shards)
		if err != nil || string(got.Revenue) != want {
			t.Errorf("revenue of %v: %+v, %v; want %s", day, got, err, want)
		}
	}
}

func (w *world) count(tr trip.Trip) {
	w.t.Helper()
	_, err := w.step().Tenant(w.t.Context(), w.tenant, []table.Key{trip.Key(w.tenant, tr.ID)})
	testkit.Must(w.t, err)
}

// countAsOlder counts a completed trip as builds up to 2026-11 did: it keeps what
// it does not know of the COUNTED item.
func (w *world) countAsOlder(tr trip.Trip) {
	w.t.Helper()
	key := projection.CountedKey(trip.Key(w.tenant, tr.ID))
	was, err := w.tenant.Get(w.t.Context(), key)
	testkit.Must(w.t, err)
	doc := map[string]any{}
	changes, tx := counter.Changes{}, w.tenant.Write()
	at, _ := timestamp.Parse(tr.RequestedAt)
	if was.Found() {
		testkit.Must(w.t, was.Decode(&doc))
	} else {
		report.Requested(changes, tr.Status, at)
	}
	report.OlderRevenue(changes, tr.FinalFare.Decimal(), at)
	doc["type"], doc["status"], doc["requestedAt"], doc["fare"] = "trip", tr.Status, tr.RequestedAt, tr.FinalFare
	tx.Put(table.Item{Key: key, Type: "counted", Version: was.Version + 1, Doc: doc})
	changes.Write(tx, w.tenant, 0)
	testkit.Must(w.t, tx.Commit(w.t.Context()))
}

// fifty changes trips 50 times a second, until ctx ends: each is requested, and
// completed with the next five.
func (w *world) fifty(ctx context.Context, changes *atomic.Int64) {
	pace := time.NewTicker(100 * time.Millisecond)
	defer pace.Stop()
	var open []trip.Trip
	for ctx.Err() == nil {
		w.now = w.now.Add(100 * time.Millisecond)
		var items []table.Item
		var next []trip.Trip
		for i := range 5 {
			tr := trip.Trip{ID: ids.New(ids.Trip, w.now), Status: trip.Pending, CustomerID: "cus", Currency: "USD",
				PaymentType: "CASH", OriginLat: "1", OriginLng: "1", RequestedAt: timestamp.Format(w.now),
				UpdatedAt: timestamp.Format(w.now), Version: 1}
			if len(open) == 5 {
				tr = open[i]
				tr.Status, tr.CompletedAt, tr.Version = trip.Completed, timestamp.Ptr(w.now), 2
				tr.FinalFare = ptr(money.Amount("12.5"))
			} else {
				next = append(next, tr)
			}
			w.trips[tr.ID] = tr
			items = append(items, tr.Item(w.tenant, w.shards))
		}
		open = next
		w.put(items...)
		changes.Add(5)
		<-pace.C
	}
}

// lateChange is a changed item and the time of its change.
type lateChange struct {
	key table.Key
	at  time.Time
}

// follow counts the changes a second after they were made, or at once when ctx has
// ended, until the channel is closed.
func (w *world) follow(ctx context.Context, t *testing.T, late <-chan lateChange) {
	t.Helper()
	for one := range late {
		testkit.Sleep(ctx, time.Until(one.at.Add(time.Second)))
		keys := []table.Key{one.key}
		for len(keys) < 5 {
			next, more := <-late
			if !more {
				break
			}
			keys = append(keys, next.key)
		}
		for range 50 {
			if _, err := w.step().Tenant(t.Context(), w.tenant, keys); err == nil {
				break
			}
		}
	}
}

// A rebuild and its correcting check end beside steady traffic, 50 changes of trips a
// second, that the projection counts a second late.
func TestCorrectingCheckEndsBesideLag(t *testing.T) {
	testkit.Long(t)
	w := newWorld(t, testkit.Name(t, streamOff), 33, 3)
	w.change(40)
	for i := range 300 {
		w.ride(w.now.Add(time.Duration(i)*time.Second), w.now.Add(time.Duration(i+500)*time.Second))
	}
	w.rebuilt()
	w.off(counter.Customers, "count", "77")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	late := make(chan lateChange, 10000)
	var wait sync.WaitGroup
	traffic := &world{}
	*traffic = *w
	traffic.changed = func(key table.Key) { late <- lateChange{key, time.Now()} }
	var changes atomic.Int64
	wait.Go(func() {
		defer close(late)
		traffic.fifty(ctx, &changes)
	})
	wait.Go(func() { w.follow(ctx, t, late) })
	testkit.Sleep(ctx, 2*time.Second) // something lags at every moment
	var found []reconcile.Difference
	check := &projection.Check{Step: w.step(), Run: &reconcile.Run{Correct: true,
		Found: func(d reconcile.Difference) { found = append(found, d) }}}
	before, began := changes.Load(), time.Now()
	_, err := w.step().Rebuild(t.Context(), w.tenant, nil)
	testkit.Must(t, err)
	testkit.Must(t, check.Tenant(t.Context(), w.tenant))
	meanwhile, took := changes.Load()-before, time.Since(began)
	t.Logf("%d changes in %v, %.1f a second", meanwhile, took.Round(time.Millisecond), float64(meanwhile)/took.Seconds())
	if meanwhile == 0 {
		t.Error("nothing changed meanwhile")
	}
	if len(found) != 1 || found[0].Key != "TOTALS#CUSTOMERS TOTAL count" {
		t.Errorf("found %+v", found)
	}
	stop()
	wait.Wait()
	w.trips, w.drivers, w.customers, w.wallets = traffic.trips, traffic.drivers, traffic.customers, traffic.wallets
	w.now = traffic.now
	if found := w.checked(false); len(found) > 0 {
		t.Errorf("corrected: %+v", found)
	}
	w.recount()
}
