package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/data/due"
	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
)

// pending in Message.Trip means all trips of the tenant that were requested while its
// dispatch was off. pendingAgain is a later pass, for requests that were under way when
// the setting changed.
const pending, pendingAgain = "PENDING", "PENDING#again"

// mostPickedUp is the maximum number of trips that one pass of pickUp marks.
const mostPickedUp = 100

// switchedOn reports whether a change of the tenant's settings turns its dispatch on.
func switchedOn(c stream.Change) bool {
	was, errWas := settings.Kind.FromItem(c.Old)
	now, errNow := settings.Kind.FromItem(c.New)
	return errWas == nil && errNow == nil && was.Dispatch.Mode == settings.Manual && now.Dispatch.Mode != settings.Manual
}

// pickUp marks the tenant's pending trips as dispatched. The stream reports each of
// these changes, and then the search for a driver begins. Passes repeat each minute
// until one finds no trip.
func (w Worker) pickUp(ctx context.Context, t table.Tenant, m Message) error {
	d, err := settings.Read(ctx, t)
	if err != nil || d.Dispatch.Mode == settings.Manual {
		return err
	}
	flags, err := t.Get(ctx, authz.FlagsKey(t, rand.IntN(authz.Copies))) //nolint:gosec // any copy will do
	if err != nil || tenant.Gone(flags) {
		return err
	}
	found, err := trip.Undispatched(ctx, t, max(1, int(flags.Int("readShards"))), mostPickedUp)
	if err != nil {
		return err
	}
	s := trip.Store{Tenant: t, WriteShards: max(1, int(flags.Int("writeShards"))), Now: w.Now(),
		Commit: func(ctx context.Context, tx *table.Tx, _ any) error { return tx.Commit(ctx) }}
	for _, it := range found {
		_, err := s.Change(ctx, it, func(t trip.Trip) (trip.Trip, error) {
			if t.Status != trip.Pending || t.Dispatched {
				return t, errMoved
			}
			t.Dispatched = true
			return t, nil
		})
		if err != nil && !errors.Is(err, errMoved) && !errors.Is(err, fault.NotFound()) {
			return fmt.Errorf("trips that wait for a dispatch: %w", err)
		}
	}
	if len(found) == 0 && m.Trip == pendingAgain {
		return nil
	}
	tx := t.Write()
	w.Book().Add(tx, due.Task{Tenant: t.ID(), Kind: kind, ID: pendingAgain, At: w.Now().Add(time.Minute)})
	return tx.Commit(ctx)
}
