package feed_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc/internal/test/testkit"
	"svc/pkg/access/authz"
	"svc/pkg/background/feed"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/event"
	"svc/pkg/domain/trip"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a tenant whose trips and drivers change.
type world struct {
	t      testing.TB
	name   string
	crash  *testkit.Wire
	db     *table.DB
	tenant table.Tenant
	shards int
	rnd    *rand.Rand
	now    time.Time
	trips  []trip.Trip
	driver driver.Record
	// statuses are all statuses that the driver had, in order.
	statuses []string
}

func newWorld(t testing.TB, name string, seed uint64, shards int) *world {
	t.Helper()
	w := &world{t: t, name: name, crash: &testkit.Wire{}, rnd: rand.New(rand.NewPCG(seed, 3)), now: start, shards: shards}
	w.db = testkit.Open(t, name, w.crash)
	w.tenant = w.db.Tenant(ids.New(ids.Tenant, start))
	w.flags(shards)
	w.driver = driver.Record{Driver: driver.Driver{ID: ids.New(ids.Driver, start), FirstName: "Dana",
		Status: driver.Offline}}
	return w
}

func (w *world) flags(shards int) {
	for n := range authz.Copies {
		w.put(table.Item{Key: authz.FlagsKey(w.tenant, n), Type: "flags", Attrs: map[string]any{"readShards": shards,
			"writeShards": shards}})
	}
}

func (w *world) put(items ...table.Item) {
	w.t.Helper()
	testkit.Must(w.t, w.tenant.Load(context.Background(), items...))
}

func (w *world) function() feed.Function {
	return feed.Function{DB: w.db, Now: func() time.Time { return w.now }}
}

// change makes n random changes.
func (w *world) change(n int) {
	w.t.Helper()
	for range n {
		w.now = w.now.Add(time.Duration(1+w.rnd.IntN(2000)) * time.Millisecond)
		switch i := w.rnd.IntN(8); {
		case i == 0:
			w.driver.Status = []string{driver.Offline, driver.Online, driver.Busy}[w.rnd.IntN(3)]
			w.driver.StatusUpdatedAt = timestamp.Format(w.now)
			w.statuses = append(w.statuses, w.driver.Status)
			w.put(driver.Item(w.tenant, w.driver, w.shards))
		case i < 3 || len(w.trips) == 0:
			w.request()
		default:
			w.move(w.rnd.IntN(len(w.trips)))
		}
	}
}

func (w *world) request() {
	at := timestamp.Format(w.now)
	t := trip.Trip{ID: ids.New(ids.Trip, w.now), Status: trip.Pending, CustomerID: "cus_" + fmt.Sprint(len(w.trips)%3),
		Currency: "USD", PaymentType: "CASH", OriginLat: "1", OriginLng: "1", RequestedAt: at, UpdatedAt: at, Version: 1}
	w.trips = append(w.trips, t)
	w.put(t.Item(w.tenant, w.shards))
}

// move makes the next transition of a trip, or writes it unchanged.
func (w *world) move(i int) {
	t, at := w.trips[i], timestamp.Format(w.now)
	t.Version++
	switch t.Status {
	case trip.Pending:
		t.Status, t.DriverID, t.AcceptedAt, t.UpdatedAt = trip.Assigned, &w.driver.ID, &at, at
	case trip.Assigned:
		t.Status, t.ArrivedAt, t.UpdatedAt = trip.DriverArrived, &at, at
	case trip.DriverArrived:
		t.Status, t.StartedAt, t.UpdatedAt = trip.InProgress, &at, at
	case trip.InProgress:
		t.Status, t.CompletedAt, t.UpdatedAt = trip.Completed, &at, at
	default:
	}
	w.trips[i] = t
	w.put(t.Item(w.tenant, w.shards))
}

// all reads the whole feed in pages of a random size.
func (w *world) all() []event.Event {
	w.t.Helper()
	var out []event.Event
	after, err := event.Earliest(w.t.Context(), w.tenant, w.shards, w.now)
	testkit.Must(w.t, err)
	for {
		page, err := event.Read(w.t.Context(), w.tenant, event.Query{After: after, Shards: w.shards,
			Limit: 1 + w.rnd.IntN(30)}, w.now)
		testkit.Must(w.t, err)
		if out, after = append(out, page.Events...), page.After; !page.More {
			return out
		}
	}
}

// compare checks that the feed is exactly the logs of the trips, each in its order.
func (w *world) compare() {
	w.t.Helper()
	of, ids := map[string][]event.Event{}, map[string]bool{}
	for _, e := range w.all() {
		if ids[e.ID] {
			w.t.Errorf("event %s twice", e.ID)
		}
		ids[e.ID] = true
		of[e.Resource] = append(of[e.Resource], e)
		if n := len(of[e.Resource]); e.Data.Version != int64(n) {
			w.t.Errorf("event %d of %s has the version %d", n, e.Resource, e.Data.Version)
		}
	}
	for _, t := range w.trips {
		log := t.Log()
		if len(log) != len(of[t.ID]) {
			w.t.Fatalf("trip %s: %d entries in the log, %d events", t.ID, len(log), len(of[t.ID]))
		}
		for i, e := range of[t.ID] {
			if e.Timestamp != log[i].At || e.Data.Status != string(log[i].To) || e.Data.TripID != t.ID {
				w.t.Errorf("trip %s, entry %d: %+v, event %+v", t.ID, i, log[i], e)
			}
		}
		delete(of, t.ID)
	}
	if drives := of[w.driver.ID]; len(w.statuses) > 0 {
		last := drives[len(drives)-1]
		if drives[0].Type != "driver.created" || last.Data.Status != w.driver.Status {
			w.t.Errorf("the driver is %s; events %+v", w.driver.Status, drives)
		}
		for i := 1; i < len(drives); i++ {
			if drives[i].Type != "driver.status_changed" || drives[i].Data.PreviousStatus != drives[i-1].Data.Status {
				w.t.Errorf("after %+v comes %+v", drives[i-1], drives[i])
			}
		}
	}
	if delete(of, w.driver.ID); len(of) > 0 {
		w.t.Errorf("events of nothing: %v", of)
	}
}

func eventOf(records []events.DynamoDBEventRecord) events.DynamoDBEvent {
	return events.DynamoDBEvent{Records: records}
}
