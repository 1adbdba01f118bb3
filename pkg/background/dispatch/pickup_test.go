package dispatch_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc/internal/test/testkit"
	"svc/pkg/background/dispatch"
	"svc/pkg/data/table"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
)

// With autoAssign the nearest driver gets the trip without an offer. Trips that look
// for a driver at the same time get each another one.
func TestAutoAssign(t *testing.T) {
	w := newWorld(t, func(d *settings.Dispatch) { d.AutoAssign, d.WaveSize = true, 5 })
	far, near := w.driver(3), w.driver(1)
	first := w.trip()
	if got := w.step(first); got.Status != trip.Assigned || got.DriverID == nil || *got.DriverID != near {
		t.Fatalf("%s, driver %v", got.Status, got.DriverID)
	}
	if offered := w.offered(near); len(offered) > 0 {
		t.Errorf("an assigned trip is offered: %v", offered)
	}
	second, third := w.trip(), w.trip()
	var wait sync.WaitGroup
	for _, id := range []string{second, second, third, third} {
		wait.Go(func() {
			_ = w.worker.Step(w.Context(), dispatch.Message{Tenant: w.tn.ID(), Trip: id})
		})
	}
	wait.Wait()
	got := []trip.Trip{w.step(second), w.step(third)}
	if slices.ContainsFunc(got, func(t trip.Trip) bool { return t.DriverID != nil && *t.DriverID != far }) ||
		(got[0].DriverID == nil) == (got[1].DriverID == nil) {
		t.Errorf("one driver is left, and two trips have %v and %v", got[0].DriverID, got[1].DriverID)
	}
}

// Trips that are pending when the company begins to dispatch are dispatched, once
// each, and in passes. A tenant that does not dispatch keeps them.
func TestModeChangePicksUpWhatIsPending(t *testing.T) {
	testkit.LongHere(t)
	for _, mode := range []string{settings.Offers, settings.Open} {
		w := newWorld(t, func(d *settings.Dispatch) { d.Mode = settings.Manual })
		var ids []string
		for range 130 {
			ids = append(ids, w.trip())
		}
		pass := func(what string) {
			testkit.Must(t, w.worker.Handle(t.Context(), dispatch.Message{Tenant: w.tn.ID(), Trip: what}))
		}
		count := func() (n int) {
			for _, id := range ids {
				if w.read(id).Dispatched {
					n++
				}
			}
			return n
		}
		if pass("PENDING"); count() != 0 {
			t.Error("dispatched in mode manual")
		}
		was, err := w.tn.Get(t.Context(), settings.Key(w.tn))
		testkit.Must(t, err)
		w.set(func(d *settings.Dispatch) { d.Mode = mode })
		now, err := w.tn.Get(t.Context(), settings.Key(w.tn))
		testkit.Must(t, err)
		var sent []dispatch.Message
		feed := dispatch.Feed{DB: w.db, Send: func(_ context.Context, all []dispatch.Message) error {
			sent = append(sent, all...)
			return nil
		}}
		failed := feed.Process(t.Context(), events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{{
			EventName: "MODIFY", Change: events.DynamoDBStreamRecord{SequenceNumber: "1", OldImage: image(was),
				NewImage: image(now)}}}})
		if len(failed) > 0 || len(sent) != 1 || sent[0].Trip != "PENDING" {
			t.Fatalf("sent %v, failed %v", sent, failed)
		}
		if pass(sent[0].Trip); count() != 100 {
			t.Errorf("%d after the first pass", count())
		}
		w.Advance(2 * time.Minute)
		testkit.Must(t, w.worker.Sweep(t.Context()))
		if count() != len(ids) {
			t.Errorf("%d of %d after the sweep", count(), len(ids))
		}
	}
}

// image returns what a stream has of an item with a document.
func image(it table.Item) map[string]events.DynamoDBAttributeValue {
	if !it.Found() {
		return nil
	}
	return map[string]events.DynamoDBAttributeValue{"pk": events.NewStringAttribute(it.PK),
		"sk": events.NewStringAttribute(it.SK), "type": events.NewStringAttribute(it.Type),
		"doc": events.NewStringAttribute(it.Raw())}
}
