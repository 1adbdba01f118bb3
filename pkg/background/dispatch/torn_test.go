package dispatch_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"svc/internal/test/testkit"
	"svc/pkg/data/table"
	offers "svc/pkg/domain/dispatch"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/trip"
)

// change changes a trip as another process does.
func (w *world) change(id string, act func(trip.Trip) (trip.Trip, error)) {
	w.Helper()
	it, err := w.tn.Get(w.Context(), trip.Key(w.tn, id))
	testkit.Must(w.T, err)
	s := trip.Store{Tenant: w.tn, WriteShards: 2, Now: w.Now(),
		Commit: func(ctx context.Context, tx *table.Tx, _ any) error { return tx.Commit(ctx) }}
	_, err = s.Change(w.Context(), it, act)
	testkit.Must(w.T, err)
}

// A step that finds a trip as it was before it was given back must not end the new search:
// the trip stays in the list of open trips, and its offer stands. It is the same if the trip
// is given back between the step's read and its transaction.
func TestTornReadsOfSteps(t *testing.T) {
	for _, mode := range []string{settings.Open, settings.Offers} {
		for name, late := range map[string]bool{"an old trip in the batch": false, "a change after the batch": true} {
			w := newWorld(t, func(d *settings.Dispatch) { d.Mode = mode })
			one, two := w.driver(1), w.driver(2)
			id := w.trip()
			w.step(id)
			w.change(id, func(tr trip.Trip) (trip.Trip, error) { return tr.Accept(one, w.Now()) })
			back := func() {
				w.change(id, func(tr trip.Trip) (trip.Trip, error) { return tr.Unassign(trip.ByDriver(one), nil, w.Now()) })
				if w.step(id); mode == settings.Offers {
					w.wantHolders(id, name+", given back", []string{two}, []string{two})
				}
			}
			w.Advance(31 * time.Second)
			w.at(two, 2)
			if late {
				reads := map[string]int{settings.Open: 1, settings.Offers: 2}[mode]
				w.wire.Meanwhile(reads, back)
			} else {
				older := w.wire.Older(func() {
					_, err := w.tn.Batch(t.Context(), trip.Key(w.tn, id), offers.OpenKey(w.tn, id))
					testkit.Must(t, err)
				})
				w.step(id) // ends the first search
				back()
				older.Serve(trip.Key(w.tn, id))
				defer func() {
					if !older.Served() {
						t.Errorf("%s: no step read the trip", name)
					}
				}()
			}
			w.step(id)
			path := map[string]string{settings.Offers: "offers", settings.Open: "open-trips"}[mode]
			var page struct{ Items []offers.OpenTrip }
			w.Want(http.StatusOK, &page, http.MethodGet, "/api/v1/me/"+path, w.tokens[two], "")
			if len(page.Items) != 1 {
				t.Errorf("%s, %s: the trip is %s, and a driver sees %d of it", mode, name, logOf(w.read(id)), len(page.Items))
			}
		}
	}
}
