package projection_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"svc/internal/test/testkit"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/customer"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/trip"
)

// beginOrEnd changes the driver's record: a ride begins, or the one under way ends.
func beginOrEnd(ctx context.Context, tn table.Tenant, id string) error {
	it, err := tn.Get(ctx, driver.Key(tn, id))
	if err != nil {
		return err
	}
	tx := tn.Write()
	if err := driver.BeginRide(tx, tn, it, "trp_1", start); err != nil {
		tx = tn.Write()
		if err := driver.EndRide(tx, tn, it, "trp_1", start); err != nil {
			return err
		}
	}
	return tx.Commit(ctx)
}

// countBeside counts the trips in four steps at once, each in portions of another
// size, while the driver's record changes.
func (w *world) countBeside(t *testing.T, keys []table.Key, id string) {
	t.Helper()
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for some := range slices.Chunk(keys, 1+13*worker) {
				for range 50 { // after a failure, the stream delivers the records again
					if _, err := w.step().Tenant(t.Context(), w.tenant, some); err == nil {
						break
					}
				}
			}
		})
	}
	group.Go(func() {
		for range 20 {
			testkit.Must(t, table.Retry(context.Background(), func(ctx context.Context) error {
				return beginOrEnd(ctx, w.tenant, id)
			}))
		}
	})
	group.Wait()
}

// Each rating counts once for its driver, however often and in whatever order the
// steps see it, and while the driver's record changes. A driver who is gone stops
// nothing.
func TestRatingsCountOnce(t *testing.T) {
	w := newWorld(t, testkit.Name(t, streamOff), 17, 1)
	var drivers []string
	for range 2 {
		r := driver.Record{Driver: driver.Driver{ID: ids.New(ids.Driver, start), Status: driver.Online}}
		drivers = append(drivers, r.ID)
		w.put(driverItem(w, r))
	}
	gone, passenger := ids.New(ids.Driver, start), ids.New(ids.Customer, start)
	w.put(customer.Item(w.tenant, customer.Record{Customer: customer.Customer{ID: passenger, Name: "Rae"}}, 1))
	sums, counts := map[string]int64{}, map[string]int64{}
	var keys []table.Key
	for n := range 40 {
		who := append(slices.Clone(drivers), gone)[n%3]
		at := timestamp.Format(start)
		tr := trip.Trip{ID: ids.New(ids.Trip, start), Status: trip.Completed, CustomerID: passenger, DriverID: &who,
			Currency: "USD", PaymentType: "CASH", OriginLat: "1", OriginLng: "1", RequestedAt: at, UpdatedAt: at,
			CompletedAt: &at, Version: 1}
		if n%5 > 0 {
			rated, err := tr.Rate(trip.ByRider(passenger), 1+n%5, nil, start)
			testkit.Must(t, err)
			tr = rated
			if n%2 > 0 {
				tr, err = tr.Rate(trip.ByDriver(who), 1+n%4, nil, start)
				testkit.Must(t, err)
				sums[passenger], counts[passenger] = sums[passenger]+int64(1+n%4), counts[passenger]+1
			}
			sums[who], counts[who] = sums[who]+int64(1+n%5), counts[who]+1
		}
		w.put(tr.Item(w.tenant, 1))
		keys = append(keys, trip.Key(w.tenant, tr.ID))
	}
	w.countBeside(t, keys, drivers[0])
	for again := range 2 {
		for _, id := range drivers {
			it, err := w.tenant.Get(t.Context(), driver.Key(w.tenant, id))
			testkit.Must(t, err)
			r, err := driver.FromItem(it)
			testkit.Must(t, err)
			if r.RatingSum != sums[id] || r.RatingCount != counts[id] || r.Rating == nil {
				t.Errorf("look %d: %d in %d ratings (%v), want %d in %d", again, r.RatingSum, r.RatingCount, r.Rating, sums[id],
					counts[id])
			}
		}
		it, err := w.tenant.Get(t.Context(), customer.Key(w.tenant, passenger))
		testkit.Must(t, err)
		r, err := customer.FromItem(it)
		testkit.Must(t, err)
		if r.RatingSum != sums[passenger] || r.RatingCount != counts[passenger] || r.Rating == nil {
			t.Errorf("look %d: the rider has %d in %d ratings (%v), want %d in %d", again, r.RatingSum, r.RatingCount,
				r.Rating, sums[passenger], counts[passenger])
		}
		_, err = w.step().Tenant(t.Context(), w.tenant, keys)
		testkit.Must(t, err)
	}
}
