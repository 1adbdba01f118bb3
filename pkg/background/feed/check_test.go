package feed_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/background/feed"
	"svc/pkg/background/reconcile"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/trip"
	"svc/pkg/local/schema"
)

// check runs the check of the feed and returns what differs.
func (w *world) check() (out []string) {
	w.t.Helper()
	c := &feed.Check{Now: func() time.Time { return w.now }, Run: &reconcile.Run{
		Found: func(d reconcile.Difference) { out = append(out, fmt.Sprintf("%s: %s, %s", d.Key, d.Want, d.Have)) },
		Wait:  func(context.Context, time.Duration) error { return nil }}}
	testkit.Must(w.t, c.Tenant(w.t.Context(), w.tenant))
	return out
}

// TestCheckNamesWhatDiffers: a feed that is the logs has no differences. An event
// that is gone, one that came twice, one that came again with another id, and one
// that was never appended are named.
func TestCheckNamesWhatDiffers(t *testing.T) {
	w := newWorld(t, testkit.Name(t, schema.Options{StreamOff: true}), 5, 2)
	run := func() {
		for _, tr := range w.trips {
			testkit.Must(t, w.function().Redo(t.Context(), trip.Key(w.tenant, tr.ID)))
		}
	}
	w.change(60)
	run()
	if got := w.check(); len(got) > 0 {
		t.Fatalf("the feed is the logs, and the check finds %q", got)
	}
	deleted := w.delete(len(w.trips) - 1)
	run()
	if got := w.check(); len(got) > 0 {
		t.Errorf("a trip was deleted, and the check finds %q", got)
	}
	all := slices.DeleteFunc(w.all(), func(e event.Event) bool { return e.Data.TripID == deleted })
	gone, twice, other := all[1], all[3], all[5]
	heads, err := event.Heads(t.Context(), w.tenant, []int{0})
	testkit.Must(t, err)
	changed := other
	changed.ID = "evt_01ARZ3NDEKTSV4RRFFQ69G5FAV"
	testkit.Must(t, event.Append(t.Context(), w.tenant, 0, heads[0], []event.Piece{{Stored: w.emitted(w.trips[0].ID),
		Next: w.emittedDoc(w.trips[0].ID), Events: []event.Event{twice, changed}}}, w.now))
	w.remove(gone.ID)
	got := w.check()
	for _, want := range []string{
		gone.Resource + " " + gone.ID + ": " + gone.Type + ", missing in the feed", ": an event, nothing",
		twice.Resource + " " + twice.ID + ": " + twice.Type + " once, 2 times in the feed",
		other.Resource + " " + changed.ID + ": nothing in the log, " + other.Type + " in the feed",
	} {
		if !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, want) }) {
			t.Errorf("not found: %s", want)
		}
	}
	if len(got) != 4 {
		t.Errorf("the check finds %q", got)
	}
	w.now = w.now.Add(time.Second)
	open := slices.IndexFunc(w.trips, func(tr trip.Trip) bool { return tr.Status != trip.Completed })
	w.move(open) // the stream has lost this change
	if now := w.check(); len(now) != 5 {
		t.Errorf("after a change that the feed has not got the check finds %q", now)
	}
}

// delete deletes a trip as an operator does.
func (w *world) delete(n int) string {
	w.t.Helper()
	id := w.trips[n].ID
	tx := w.tenant.Write()
	tx.Delete(trip.Key(w.tenant, id))
	testkit.Must(w.t, tx.Commit(w.t.Context()))
	w.trips = slices.Delete(w.trips, n, n+1)
	return id
}

// emitted returns what the feed has of a trip.
func (w *world) emitted(id string) table.Item {
	w.t.Helper()
	it, err := w.tenant.Get(w.t.Context(), event.EmittedKey(w.tenant, trip.Key(w.tenant, id)))
	testkit.Must(w.t, err)
	return it
}

func (w *world) emittedDoc(id string) (out event.Emitted) {
	w.t.Helper()
	testkit.Must(w.t, w.emitted(id).Decode(&out))
	return out
}

// remove deletes an event from the feed.
func (w *world) remove(id string) {
	w.t.Helper()
	last, err := event.Newest(w.t.Context(), w.tenant)
	testkit.Must(w.t, err)
	for shard, end := range last {
		page, _, err := event.Between(w.t.Context(), w.tenant, shard, 0, end)
		testkit.Must(w.t, err)
		for n, e := range page {
			if e.ID == id {
				tx := w.tenant.Write()
				tx.Delete(event.Key(w.tenant, shard, n))
				testkit.Must(w.t, tx.Commit(w.t.Context()))
			}
		}
	}
}
