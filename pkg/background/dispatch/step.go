package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/panics"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/domain/dispatch"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
)

// Worker makes the dispatch steps of trips.
type Worker struct {
	DB  *table.DB
	Now func() time.Time
	// Later requests a step after a delay, sooner than the sweep of due tasks makes it.
	// It may fail or be nil: the sweep makes the step too.
	Later func(ctx context.Context, m Message, delay time.Duration) error
}

// Book is the list of the worker's due tasks.
func (w Worker) Book() due.Book { return due.Book{DB: w.DB, Name: "dispatch", Now: w.Now} }

// kind is the kind of the worker's due tasks. The id of a task is the Trip of its
// Message.
const kind = "trip"

// Sweep makes the dispatch steps for which a task is due.
func (w Worker) Sweep(ctx context.Context) error {
	return w.Book().Sweep(ctx, func(ctx context.Context, k due.Task) error {
		return w.Step(ctx, Message{k.Tenant, k.ID})
	})
}

// errMoved means that something has changed since the step read it.
var errMoved = errors.New("the trip, its search or a driver has changed meanwhile")

// Step does what the message asks for: the next dispatch step of a trip, or what the
// special values of Message.Trip mean. A panic is returned as an error.
func (w Worker) Step(ctx context.Context, m Message) (err error) {
	defer panics.Catch(&err)
	t := w.DB.Tenant(m.Tenant)
	if strings.HasPrefix(m.Trip, pending) {
		return w.pickUp(ctx, t, m)
	}
	if id, ok := strings.CutPrefix(m.Trip, offline); ok {
		return w.release(ctx, t, id)
	}
	return w.attempt(ctx, t, m.Trip, func(v *view) error { return v.step(ctx) })
}

// attempt reads what a step of the trip needs and calls do with it. After a conflict it
// reads everything again and repeats do.
func (w Worker) attempt(ctx context.Context, t table.Tenant, id string, do func(*view) error) error {
	err := table.Retry(ctx, func(ctx context.Context) error {
		v, err := w.look(ctx, t, id)
		if err == nil {
			err = do(v)
		}
		if errors.Is(err, errMoved) || errors.Is(err, table.ErrCondition) {
			return table.ErrConflict
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("dispatch of %s: %w", id, err)
	}
	return nil
}

// again is the pause before a step that failed is made again.
const again = time.Minute

// Handle makes a step. If the step fails, Handle logs the error and adds a due task for
// it, so the queue need not deliver the message again. It returns an error only if it
// cannot add the task.
func (w Worker) Handle(ctx context.Context, m Message) error {
	err := w.Step(ctx, m)
	if err == nil {
		return nil
	}
	slog.ErrorContext(ctx, "dispatch", "tenant", m.Tenant, "trip", m.Trip, "error", err)
	tx := w.DB.Tenant(m.Tenant).Write()
	w.Book().Add(tx, due.Task{Tenant: m.Tenant, Kind: kind, ID: m.Trip, At: w.Now().Add(again)})
	return tx.Commit(ctx)
}

// view has what a step has read of a trip, its search and its tenant. Its methods make
// the step.
type view struct {
	Worker
	tenant table.Tenant
	id     string // of the trip
	now    time.Time
	ahead  time.Duration // what is due within this time counts as due

	item     table.Item // the trip, not Found if it was deleted
	trip     trip.Trip
	state    table.Item // the item of search
	search   dispatch.Search
	open     table.Item   // the trip's entry in the list of open trips
	asked    []table.Item // the offers that the drivers of the last wave hold
	settings settings.Dispatch
	wait     time.Duration // until the search for the driver of a booked trip begins
	shards   int
	flags    table.Item
	gone     bool // the tenant is deleted or being deleted
}

// look reads what a step needs: the trip, its search, the offers of the last wave, and
// the tenant's settings and flags.
func (w Worker) look(ctx context.Context, t table.Tenant, id string) (*view, error) {
	v := &view{Worker: w, tenant: t, id: id, now: w.Now()}
	items, err := t.Batch(ctx, trip.Key(t, id), dispatch.SearchKey(t, id), dispatch.OpenKey(t, id), settings.Key(t),
		authz.FlagsKey(t, rand.IntN(authz.Copies))) //nolint:gosec // any copy will do
	if err != nil {
		return nil, err
	}
	v.item, v.state, v.open = items[0], items[1], items[2]
	flags := items[4]
	v.flags = flags
	v.shards, v.gone = int(flags.Int("writeShards")), tenant.Gone(flags)
	if v.item.Found() {
		if v.trip, err = trip.FromItem(v.item); err != nil {
			return nil, err
		}
	}
	if v.search, err = table.DecodeOr(v.state, dispatch.Search{}); err != nil {
		return nil, err
	}
	d, err := settings.Kind.FromItem(items[3])
	if err != nil {
		return nil, err
	}
	v.settings = d.Dispatch
	in, err := v.trip.In(v.now)
	if err != nil {
		return nil, err
	}
	v.wait = in - time.Duration(v.settings.ScheduledLead)*time.Minute
	keys := make([]table.Key, len(v.search.Now))
	for i, driver := range v.search.Now {
		keys[i] = dispatch.OfferKey(t, driver)
	}
	v.asked, err = t.Batch(ctx, keys...)
	return v, err
}

// step makes the next dispatch step that the status of the trip and the tenant's settings
// require, if any.
func (v *view) step(ctx context.Context) error {
	switch {
	case v.gone:
		return nil
	case !v.item.Found():
		return v.close(ctx)
	case v.trip.Status == trip.Scheduled:
		return v.schedule(ctx)
	case !v.trip.Status.Acceptable():
		return v.close(ctx)
	case !v.trip.Dispatched: // an operator took the trip from its driver
		return nil
	case v.early():
		return v.schedule(ctx)
	case v.settings.Mode == settings.Offers:
		return v.find(ctx)
	case v.settings.Mode == settings.Open:
		return v.list(ctx)
	}
	return v.stop(ctx, "The company has switched its dispatch off.")
}

// early reports whether it is too early to search for the driver of a booked trip.
func (v *view) early() bool { return v.wait > v.ahead }

// schedule makes a scheduled trip pending when it is time to search for its driver.
// Before that time it adds a due task for that time, also for a trip that lost its
// driver.
func (v *view) schedule(ctx context.Context) error {
	if v.trip.ScheduledFor == nil {
		return nil
	}
	if v.early() {
		tx := v.tenant.Write()
		v.Book().Add(tx, due.Task{Tenant: v.tenant.ID(), Kind: kind, ID: v.id, At: v.now.Add(v.wait)})
		return tx.Commit(ctx)
	}
	return v.change(ctx, nil, func(t trip.Trip) (trip.Trip, error) { return t.Due(trip.BySystem(), v.now) })
}

// close ends the search for a trip that needs no driver any more: it withdraws the
// offers, and deletes the entry in the list of open trips. If the driver gives the trip
// back later, a new search begins.
func (v *view) close(ctx context.Context) error {
	if !v.open.Found() && len(v.search.Now) == 0 && v.search.Wave == 0 && !v.search.Ended {
		return nil
	}
	tx := v.tenant.Write()
	v.unchanged(tx)
	if v.open.Found() {
		tx.Delete(v.open.Key)
	}
	if err := v.withdraw(tx); err != nil {
		return err
	}
	switch {
	case v.state.Found() && v.item.Found():
		dispatch.Search{Asked: v.search.Asked}.Put(tx, v.state, errMoved)
	case v.state.Found():
		tx.Delete(v.state.Key)
	}
	return tx.Commit(ctx)
}

// withdraw ends the offers of the trip that are still held.
func (v *view) withdraw(tx *table.Tx) error {
	for _, it := range v.asked {
		if err := dispatch.Withdraw(tx, it, v.id, v.now, errMoved); err != nil {
			return err
		}
	}
	return nil
}

// list puts the trip into the list of open trips, from which drivers choose.
func (v *view) list(ctx context.Context) error {
	if v.open.Found() {
		return nil
	}
	tx := v.tenant.Write()
	tx.Create(dispatch.OpenItem(v.tenant, v.trip)).Else(errMoved)
	v.unchanged(tx)
	return tx.Commit(ctx)
}

// unchanged adds to the transaction the condition that the trip is as the step read it.
func (v *view) unchanged(tx *table.Tx) {
	if v.item.Found() {
		tx.Check(v.item.Key).If("'version' = ?", v.trip.Version).Else(errMoved)
	} else {
		tx.Check(v.item.Key).If("attribute_not_exists(pk)").Else(errMoved)
	}
}

// stop ends the search for a driver. If the trip is no longer pending, it becomes pending
// again, and its log gets the reason.
func (v *view) stop(ctx context.Context, reason string) error {
	if v.trip.Status == trip.Pending || !v.state.Found() {
		return v.close(ctx)
	}
	return v.change(ctx, func(tx *table.Tx) error {
		ended := dispatch.Search{Asked: v.search.Asked, Ended: true}
		ended.Put(tx, v.state, errMoved)
		if v.open.Found() {
			tx.Delete(v.open.Key)
		}
		return v.withdraw(tx)
	}, func(t trip.Trip) (trip.Trip, error) { return t.Unanswered(trip.BySystem(), reason, v.now) })
}

// change stores the trip as act returns it, and commits the writes of also in the same
// transaction, on the condition that the trip is as the step read it. also may be nil.
func (v *view) change(ctx context.Context, also func(*table.Tx) error, act func(trip.Trip) (trip.Trip, error)) error {
	var failed error
	s := trip.Store{Tenant: v.tenant, WriteShards: v.shards, Now: v.now, Flags: v.flags,
		Commit: func(ctx context.Context, tx *table.Tx, _ any) error {
			if failed != nil {
				return failed
			}
			return tx.Commit(ctx)
		},
		Also: func(tx *table.Tx, _, _ trip.Trip, _ any) {
			if also != nil {
				failed = also(tx)
			}
		}}
	_, err := s.Change(ctx, v.item, func(t trip.Trip) (trip.Trip, error) {
		if t.Version != v.trip.Version {
			return t, errMoved
		}
		return act(t)
	})
	return err
}

// live returns how many drivers of the last wave hold an offer of the trip that has not
// ended.
func (v *view) live() (n int, err error) {
	for _, it := range v.asked {
		o, ok, err := dispatch.Held(it, v.now.Add(v.ahead))
		if err != nil {
			return 0, err
		}
		if ok && o.TripID == v.id {
			n++
		}
	}
	return n, nil
}

// wasAsked reports whether the driver was asked before, or had the trip and lost
// it.
func (v *view) wasAsked(driver string) bool {
	return slices.Contains(v.search.Asked, driver) || slices.ContainsFunc(v.trip.History, func(p trip.Past) bool {
		return p.Data.PreviousDriverID != nil && *p.Data.PreviousDriverID == driver
	})
}
