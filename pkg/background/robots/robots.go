// Package robots drives the robots of sandboxes: simulated drivers and riders, so that a
// sandbox has rides. A robot has the record of a driver or rider and uses the same code
// as the endpoints. So its trips are dispatched, settled and reported like any other.
//
//	robots.go  the step of a sandbox: what is read, and who does what
//	drive.go   what one robot driver does
//	order.go   what robot riders do: they order rides and rate them
//	town.go    the street grid
//
// A step is a task that is due (data/due), each minute. Between two tasks svc dev
// makes further steps. A step keeps no state in memory: where a robot is follows from its
// stored position and the time since then, and what it does from its trip. So a
// step may be cut short or made twice at any time.
//
// Live tenants have no robots: a step of a tenant whose flags do not say that it is
// a sandbox does nothing, and no sandbox becomes live.
package robots

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/panics"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/sandbox"
	"svc/pkg/domain/settings"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/trip"
)

// Worker makes the steps of the robots, and the advances of sandboxes.
type Worker struct {
	DB  *table.DB
	Now func() time.Time
	// Pace, unless zero, is the time between the steps that this process makes until
	// the next task is due.
	Pace time.Duration
	// Still makes the robots do nothing in a step. Advance is called all the same.
	Still bool
	// Advance does the other work of a sandbox that is due within the duration ahead,
	// except for the trips for which skip returns true; nil does nothing.
	Advance func(ctx context.Context, t table.Tenant, ahead time.Duration, skip func(trip.Trip) bool) error
}

// Sweep carries out the due tasks of sandboxes: steps of their robots, and advances.
func (w Worker) Sweep(ctx context.Context) error {
	return sandbox.Book(w.DB, w.Now).Sweep(ctx, w.carryOut)
}

// carryOut carries out a due task: an advance of a sandbox, or a step of its robots. A
// step also stores the task of the next minute. The minute is in the key of that task, so
// a task that is carried out twice leads to one next task.
func (w Worker) carryOut(ctx context.Context, k due.Task) error {
	t := w.DB.Tenant(k.Tenant)
	if k.Kind == sandbox.Advance {
		seconds, _, _ := strings.Cut(k.ID, "#")
		n, err := strconv.Atoi(seconds)
		if err != nil {
			return err
		}
		return w.advance(ctx, t, k.At, time.Duration(n)*time.Second)
	}
	runs, err := w.Step(ctx, t, 0)
	if err != nil || !runs {
		return err
	}
	next := due.Task{Tenant: k.Tenant, Kind: k.Kind, ID: k.ID, At: w.Now().Truncate(time.Minute).Add(time.Minute)}
	err = table.Retry(ctx, func(ctx context.Context) error {
		tx := t.Write()
		sandbox.Book(w.DB, w.Now).Add(tx, next)
		return tx.Commit(ctx)
	})
	if err != nil {
		return err
	}
	if w.Pace > 0 && !w.Still {
		go w.goOn(context.WithoutCancel(ctx), t)
	}
	return nil
}

// advance lets the robots continue as if the duration ahead had passed, and then calls
// Advance. It skips trips that changed after the advance was requested, trips that a
// robot will accept because it has an offer, and trips that robot riders ordered, because
// these wait for robots.
func (w Worker) advance(ctx context.Context, t table.Tenant, asked time.Time, ahead time.Duration) error {
	if _, err := w.Step(ctx, t, ahead); err != nil || w.Advance == nil {
		return err
	}
	v, runs, err := w.look(ctx, t)
	offered := map[string]string{}
	if err == nil && runs && !w.Still {
		offered, err = v.offers(ctx, v.roster.Drivers)
	}
	if err != nil {
		return err
	}
	return w.Advance(ctx, t, ahead, func(one trip.Trip) bool {
		_, robot := offered[one.ID]
		return one.UpdatedAt > timestamp.Format(asked) || robot && !asks(one, ignore) ||
			slices.Contains(v.roster.Riders, one.CustomerID)
	})
}

// goOn makes further steps, one each w.Pace, for less than a minute, until the next task
// is due. If a step fails, goOn ends; the next task reports the error.
func (w Worker) goOn(ctx context.Context, t table.Tenant) {
	for range time.Minute/w.Pace - 1 {
		time.Sleep(w.Pace)
		if _, err := w.Step(ctx, t, 0); err != nil {
			return
		}
	}
}

// view has what a step has read of a sandbox.
type view struct {
	tenant    table.Tenant
	now       time.Time
	flags     table.Item
	roster    sandbox.Roster
	settings  settings.Document
	trips     []open                   // the open trips
	drivers   map[string]driver.Record // the robots among the drivers
	positions map[string]table.Item    // the items with their positions, by driver
}

// open is an open trip with its item.
type open struct {
	trip.Trip
	item table.Item
}

// statuses are the statuses of the open trips that a step reads.
var statuses = []trip.Status{trip.Pending, trip.Searching, trip.CollectingOffers, trip.Assigned, trip.DriverArrived,
	trip.InProgress}

const (
	mostOpen = 200 // the largest number of open trips that a step reads
	atOnce   = 8   // robots that act at the same time
)

// Step lets the robots of the tenant continue, as if the duration ahead had passed too.
// runs is false for a tenant that has no robots. A panic is returned as an error.
func (w Worker) Step(ctx context.Context, t table.Tenant, ahead time.Duration) (runs bool, err error) {
	defer panics.Catch(&err)
	v, runs, err := w.look(ctx, t)
	if err != nil || !runs || w.Still || v.flags.Flag("disabled") {
		return runs, err
	}
	if err := v.order(ctx); err != nil {
		return true, err
	}
	if err := v.accept(ctx, ahead); err != nil {
		return true, err
	}
	group := panics.NewGroup()
	group.SetLimit(atOnce)
	for _, id := range v.roster.Drivers {
		r, ok := v.drivers[id]
		if !ok || r.Disabled {
			continue
		}
		group.Go(func() error {
			v.report(ctx, "drive", id, v.drive(ctx, r, ahead))
			return nil
		})
	}
	_ = group.Wait()
	if ahead > 0 || v.now.Unix()/int64(ratedEach.Seconds()) != v.now.Add(-w.Pace).Unix()/int64(ratedEach.Seconds()) ||
		w.Pace == 0 {
		v.report(ctx, "rate", t.ID(), v.rate(ctx))
	}
	return true, ctx.Err()
}

// report logs an error of one robot, which does not stop the others. If somebody else
// acted first, that is no error.
func (v *view) report(ctx context.Context, what, id string, err error) {
	var known *fault.Error
	if err != nil && !errors.As(err, &known) && !errors.Is(err, table.ErrCondition) && ctx.Err() == nil {
		slog.WarnContext(ctx, "robot", "tenant", v.tenant.ID(), "what", what, "id", id, "error", err)
	}
}

// look reads what a step needs, in four round trips. The result is false if the tenant
// has no robots.
func (w Worker) look(ctx context.Context, t table.Tenant) (*view, bool, error) {
	v := &view{tenant: t, now: w.Now().UTC().Truncate(time.Millisecond), drivers: map[string]driver.Record{},
		positions: map[string]table.Item{}}
	items, err := t.Batch(ctx, authz.FlagsKey(t, 0), sandbox.Key(t), settings.Key(t))
	if err != nil {
		return nil, false, err
	}
	v.flags = items[0]
	if tenant.Gone(v.flags) || !tenant.IsSandbox(v.flags) {
		return v, false, nil
	}
	if v.roster, err = sandbox.Kind.FromItem(items[1]); err != nil || len(v.roster.Drivers) == 0 {
		return v, false, err
	}
	if v.settings, err = settings.Kind.FromItem(items[2]); err != nil {
		return nil, false, err
	}
	if err := v.readTrips(ctx); err != nil {
		return nil, false, err
	}
	return v, true, v.readDrivers(ctx)
}

// inStatus reads the newest trips in the statuses, at most limit.
func (v *view) inStatus(ctx context.Context, limit int, statuses ...trip.Status) ([]table.Item, error) {
	return trip.InStatus(ctx, v.tenant, max(1, int(v.flags.Int("readShards"))), limit, statuses...)
}

// readTrips reads the open trips. An index may lag, so the same trip may come in two
// statuses.
func (v *view) readTrips(ctx context.Context) error {
	items, err := v.inStatus(ctx, mostOpen, statuses...)
	if err != nil {
		return fmt.Errorf("open trips: %w", err)
	}
	seen := map[string]bool{}
	for _, it := range items {
		t, err := trip.FromItem(it)
		if err != nil {
			return err
		}
		if !seen[t.ID] {
			v.trips = append(v.trips, open{t, it})
		}
		seen[t.ID] = true
	}
	return nil
}

// readDrivers reads the records and positions of the robot drivers.
func (v *view) readDrivers(ctx context.Context) error {
	var keys []table.Key
	for _, id := range v.roster.Drivers {
		keys = append(keys, driver.Key(v.tenant, id), driver.LocationKey(v.tenant, id))
	}
	items, err := v.tenant.Batch(ctx, keys...)
	if err != nil {
		return err
	}
	for i, id := range v.roster.Drivers {
		if !items[2*i].Found() {
			continue
		}
		if v.drivers[id], err = driver.FromItem(items[2*i]); err != nil {
			return err
		}
		v.positions[id] = items[2*i+1]
	}
	return nil
}

// store returns the store of trips, as the endpoints use it.
func (v *view) store() trip.Store {
	return trip.Store{Tenant: v.tenant, WriteShards: int(v.flags.Int("writeShards")), Now: v.now,
		Flags:  v.flags,
		Commit: func(ctx context.Context, tx *table.Tx, _ any) error { return tx.Commit(ctx) }}
}

// since returns the time that has passed since a stored timestamp, 0 if there is none.
func (v *view) since(at *string) time.Duration {
	if at == nil {
		return 0
	}
	t, err := timestamp.Parse(*at)
	if err != nil {
		return 0
	}
	return v.now.Sub(t)
}

// chance returns a number from 0 to n-1 that depends on about only: the same texts give
// the same number.
func chance(n int, about ...string) int { return ids.Pick(strings.Join(about, "#"), n) }
