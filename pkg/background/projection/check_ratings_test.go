package projection_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/background/projection"
	"svc/pkg/background/reconcile"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/trip"
)

// rated stores a completed trip that the rider rated, and the driver if back is not 0.
func (w *world) rated(who, passenger string, points, back int) table.Key {
	w.t.Helper()
	at := timestamp.Format(w.now)
	tr := trip.Trip{ID: ids.New(ids.Trip, w.now), Status: trip.Completed, CustomerID: passenger, DriverID: &who,
		Currency: "USD", PaymentType: "CASH", OriginLat: "1", OriginLng: "1", RequestedAt: at, UpdatedAt: at,
		CompletedAt: &at, Version: 1}
	tr, err := tr.Rate(trip.ByRider(passenger), points, nil, w.now)
	testkit.Must(w.t, err)
	if back > 0 {
		tr, err = tr.Rate(trip.ByDriver(who), back, nil, w.now)
		testkit.Must(w.t, err)
	}
	w.put(tr.Item(w.tenant, w.shards))
	return trip.Key(w.tenant, tr.ID)
}

// pair stores a driver and a rider.
func (w *world) pair() (who, passenger string) {
	who, passenger = ids.New(ids.Driver, w.now), ids.New(ids.Customer, w.now)
	w.put(driver.Item(w.tenant, driver.Record{Driver: driver.Driver{ID: who, Status: driver.Online}}, w.shards),
		customer.Item(w.tenant, customer.Record{Customer: customer.Customer{ID: passenger, Name: "Rae"}}, w.shards))
	return who, passenger
}

func (w *world) set(key table.Key, c table.Change) {
	w.t.Helper()
	tx := w.tenant.Write()
	tx.Update(key, c)
	testkit.Must(w.t, tx.Commit(w.t.Context()))
}

// ratings returns the sums and numbers of a driver's and a rider's ratings.
func (w *world) ratings(who, passenger string) [4]int64 {
	w.t.Helper()
	items, err := w.tenant.Batch(w.t.Context(), driver.Key(w.tenant, who), customer.Key(w.tenant, passenger))
	testkit.Must(w.t, err)
	return [4]int64{items[0].Int("ratingSum"), items[0].Int("ratingCount"), items[1].Int("ratingSum"),
		items[1].Int("ratingCount")}
}

// TestCheckOfRatings: a check finds ratings that differ from those of the trips, and
// a rebuild mends them, also those of people whom nobody rated.
func TestCheckOfRatings(t *testing.T) {
	testkit.Long(t)
	w := newWorld(t, testkit.Name(t, streamOff), 31, 2)
	who, passenger := w.pair()
	other, stranger := w.pair()
	var keys []table.Key
	for n := range 4 {
		keys = append(keys, w.rated(who, passenger, 5-n, n))
	}
	w.rebuilt()
	want := [4]int64{5 + 4 + 3 + 2, 4, 1 + 2 + 3, 3}
	if got := w.ratings(who, passenger); got != want {
		t.Fatalf("counted %v, want %v", got, want)
	}
	if found := w.checked(false); len(found) > 0 {
		t.Fatalf("before any damage: %+v", found)
	}
	for name, damage := range map[string]struct {
		what string
		do   func()
	}{
		"a driver's sum": {"rating", func() {
			w.set(driver.Key(w.tenant, who), table.Change{Add: map[string]any{"ratingSum": 1}})
		}},
		"a rider's number": {"rating", func() {
			w.set(customer.Key(w.tenant, passenger), table.Change{Add: map[string]any{"ratingCount": -1}})
		}},
		"a driver's ratings are gone": {"rating", func() {
			w.set(driver.Key(w.tenant, who), table.Change{Remove: []string{"ratingSum", "ratingCount"}})
		}},
		"a rider whom nobody rated": {"rating", func() {
			w.set(customer.Key(w.tenant, stranger), table.Change{Add: map[string]any{"ratingSum": 5, "ratingCount": 1}})
		}},
		"a driver whom nobody rated": {"rating", func() {
			w.set(driver.Key(w.tenant, other), table.Change{Add: map[string]any{"ratingSum": 5}})
		}},
		"what was counted is lost": {"counted", func() { w.remove(projection.CountedKey(keys[1])) }},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			damage.do()
			if found := w.checked(false); !slices.ContainsFunc(found, func(d reconcile.Difference) bool {
				return d.What == damage.what
			}) {
				t.Errorf("found %+v, want a %s", found, damage.what)
			}
			w.rebuilt()
			if found := w.checked(false); len(found) > 0 {
				t.Errorf("after the rebuild: %+v", found)
			}
			if got := w.ratings(who, passenger); got != want {
				t.Errorf("mended %v, want %v", got, want)
			}
			if got := w.ratings(other, stranger); got != [4]int64{} {
				t.Errorf("nobody rated them: %v", got)
			}
		})
	}
}

// TestCheckWhileRated: while trips are rated and counted, a check finds no
// difference, and one that corrects loses no rating.
func TestCheckWhileRated(t *testing.T) {
	w := newWorld(t, testkit.Name(t, streamOff), 32, 1)
	who, passenger := w.pair()
	for range 5 {
		w.rated(who, passenger, 5, 4)
	}
	w.rebuilt()
	var group sync.WaitGroup
	stop := make(chan struct{})
	made := map[table.Key]bool{}
	group.Go(func() {
		for len(made) < 60 {
			select {
			case <-stop:
				return
			default:
			}
			key := w.rated(who, passenger, 3, 2)
			for range 50 { // after a failure, the stream delivers the record again
				if _, err := w.step().Tenant(t.Context(), w.tenant, []table.Key{key}); err == nil {
					break
				}
			}
			made[key] = true
		}
	})
	for _, correct := range []bool{false, true} {
		var found []reconcile.Difference
		check := &projection.Check{Step: projection.Step{Now: func() time.Time { return w.now }},
			Run: &reconcile.Run{Correct: correct, Found: func(d reconcile.Difference) { found = append(found, d) }}}
		if err := check.Tenant(t.Context(), w.tenant); err != nil {
			t.Error(err)
		}
		if len(found) > 0 {
			t.Errorf("correct %v: %+v", correct, found)
		}
	}
	close(stop)
	group.Wait()
	n := int64(len(made))
	if got, want := w.ratings(who, passenger), [4]int64{25 + 3*n, 5 + n, 20 + 2*n, 5 + n}; got != want {
		t.Errorf("%v, want %v", got, want)
	}
}
