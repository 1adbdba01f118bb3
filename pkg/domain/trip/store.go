package trip

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
)

// Store gives one caller access to a tenant's trips.
type Store struct {
	Tenant      table.Tenant
	WriteShards int
	Now         time.Time
	// Operator, unless empty, is the platform operator who acts for the rider
	// or driver. The trip's log names the operator.
	Operator string
	// Commit commits a transaction. answer is what its caller will return.
	Commit func(ctx context.Context, tx *table.Tx, answer any) error
}

// Create writes a new trip with the first entry of its log. flags is the copy
// of the tenant's flags from which the trip's currency was read.
func (s Store) Create(ctx context.Context, t Trip, flags table.Item) (*Trip, error) {
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := s.Tenant.Write()
		tx.Create(t.Item(s.Tenant, s.WriteShards))
		tx.Put(LogItem(s.Tenant, t.ID, t.Version, Requested(t, s.newID())))
		tenant.Price(tx, flags)
		return s.Commit(ctx, tx, &t)
	})
	if err != nil {
		return nil, err
	}
	return &t, nil
}

// Accepted is the response to an acceptance.
type Accepted struct {
	ID         string `json:"id" doc:"Identifier of the trip."`
	Status     Status `json:"status" enum:"ASSIGNED" doc:"The status now."`
	DriverID   string `json:"driverId" doc:"The driver who accepted."`
	AcceptedAt string `json:"acceptedAt" format:"date-time" doc:"When the driver accepted."`
}

// Accept assigns the trip to the driver. If several drivers try at the same
// time, only one succeeds. In this method and those below, the item is
// the trip as the caller read it.
func (s Store) Accept(ctx context.Context, it table.Item, driver string) (*Accepted, error) {
	return change(ctx, s, it, func(t Trip, id string) (Trip, LogEntry, error) { return t.Accept(driver, id, s.Now) },
		func(t Trip) *Accepted { return &Accepted{t.ID, t.Status, driver, *t.AcceptedAt} })
}

// Arrived is the response to an arrival.
type Arrived struct {
	ID        string `json:"id" doc:"Identifier of the trip."`
	Status    Status `json:"status" enum:"DRIVER_ARRIVED" doc:"The status now."`
	ArrivedAt string `json:"arrivedAt" format:"date-time" doc:"When the driver arrived at the origin."`
}

// Arrive marks the driver as arrived.
func (s Store) Arrive(ctx context.Context, it table.Item, driver string) (*Arrived, error) {
	return change(ctx, s, it, func(t Trip, id string) (Trip, LogEntry, error) { return t.Arrive(driver, id, s.Now) },
		func(t Trip) *Arrived { return &Arrived{t.ID, t.Status, *t.ArrivedAt} })
}

// Started is the response to a start.
type Started struct {
	ID        string `json:"id" doc:"Identifier of the trip."`
	Status    Status `json:"status" enum:"IN_PROGRESS" doc:"The status now."`
	StartedAt string `json:"startedAt" format:"date-time" doc:"When the ride began."`
}

// Start begins the ride.
func (s Store) Start(ctx context.Context, it table.Item, driver string) (*Started, error) {
	return change(ctx, s, it, func(t Trip, id string) (Trip, LogEntry, error) { return t.Start(driver, id, s.Now) },
		func(t Trip) *Started { return &Started{t.ID, t.Status, *t.StartedAt} })
}

// Finished is the response to a completion.
type Finished struct {
	ID             string       `json:"id" doc:"Identifier of the trip."`
	Status         Status       `json:"status" enum:"COMPLETED" doc:"The status now."`
	CompletedAt    string       `json:"completedAt" format:"date-time" doc:"When the ride ended."`
	FinalFare      *json.Number `json:"finalFare" nullable:"true" doc:"Currency units."`
	ActualDistance *json.Number `json:"actualDistance" nullable:"true" doc:"Kilometres."`
	ActualDuration *json.Number `json:"actualDuration" nullable:"true" doc:"Seconds."`
}

// Complete ends the ride with the measurements. The table's stream passes it to
// settlement.
func (s Store) Complete(ctx context.Context, it table.Item, driver string, m Measured) (*Finished, error) {
	return change(ctx, s, it, func(t Trip, id string) (Trip, LogEntry, error) { return t.Complete(driver, id, s.Now, m) },
		func(t Trip) *Finished {
			return &Finished{t.ID, t.Status, *t.CompletedAt, t.FinalFare, t.ActualDistance, t.ActualDuration}
		})
}

// Stopped is the response to a cancellation.
type Stopped struct {
	ID        string `json:"id" doc:"Identifier of the trip."`
	Status    Status `json:"status" enum:"CANCELLED" doc:"The status now."`
	UpdatedAt string `json:"updatedAt" format:"date-time" doc:"When the trip was cancelled."`
}

// Cancel ends the trip at its rider's request.
func (s Store) Cancel(ctx context.Context, it table.Item, rider string, reason *string) (*Stopped, error) {
	return change(ctx, s, it,
		func(t Trip, id string) (Trip, LogEntry, error) { return t.Cancel(rider, id, s.Now, reason) },
		func(t Trip) *Stopped { return &Stopped{t.ID, t.Status, t.UpdatedAt} })
}

// change makes one transition in one transaction: it writes the trip, on the
// condition that it has not changed since it was read, and the log entry. After
// a failed condition or a conflict it reads the trip again and applies the
// rules again, which return a 409 or allow a retry. A conflict that lasts
// longer than table.Retry is a 503.
func change[A any](
	ctx context.Context, s Store, it table.Item, act func(Trip, string) (Trip, LogEntry, error), answer func(Trip) *A,
) (*A, error) {
	if !it.Found() {
		return nil, fault.NotFound()
	}
	var given *A
	stale := false
	err := table.Retry(ctx, func(ctx context.Context) (err error) {
		if stale {
			if it, err = s.Tenant.Get(ctx, it.Key); err != nil {
				return err
			}
		}
		stale = true
		was, err := FromItem(it)
		if err != nil {
			return err
		}
		next, entry, err := act(was, s.newID())
		if err != nil {
			return err
		}
		if s.Operator != "" {
			entry.Actor = LogActor{string(authz.Dashboard), s.Operator}
		}
		given = answer(next)
		return s.Commit(ctx, s.replace(was, next, entry), given)
	})
	if err != nil {
		return nil, err
	}
	return given, nil
}

// replace returns the transaction from one state of a trip to the next. The
// condition on the version is sufficient. The conditions on status and driver
// document what the transition relies on.
func (s Store) replace(was, next Trip, entry LogEntry) *table.Tx {
	tx := s.Tenant.Write()
	op := tx.Replace(next.Item(s.Tenant, s.WriteShards)).Else(table.ErrConflict)
	if was.DriverID == nil {
		op.If("'status' = ? AND attribute_not_exists(driverId)", string(was.Status))
	} else {
		op.If("'status' = ? AND driverId = ?", string(was.Status), *was.DriverID)
	}
	log := LogItem(s.Tenant, was.ID, was.Version+1, entry)
	if next.completedLate() {
		log.G[byTenant-1], log.R = LatePartition(s.Tenant), entry.At+"#"+was.ID
	}
	tx.Put(log)
	return tx
}

func (s Store) newID() string { return ids.New(ids.Log, s.Now) }

// logShown is the maximum number of log entries that are shown.
const logShown = 100

// Log reads the last entries of a trip's log, oldest first. It reads the trip's
// own partition backward from its newest LOG#, eventually consistent.
func Log(ctx context.Context, t table.Tenant, id string) ([]LogEntry, error) {
	page, err := t.Query(ctx, t.Partition("TRIP", id), table.Query{Prefix: logPrefix, Backward: true, Limit: logShown})
	if err != nil {
		return nil, err
	}
	entries := make([]LogEntry, len(page.Items))
	for i, it := range page.Items {
		if err := it.Decode(&entries[i]); err != nil {
			return nil, err
		}
	}
	slices.Reverse(entries)
	return entries, nil
}
