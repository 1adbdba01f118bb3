package trip

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/table"
	"svc/pkg/tenant"
)

// Store is one caller's way to a tenant's trips.
type Store struct {
	Tenant      table.Tenant
	WriteShards int
	Now         time.Time
	// Commit commits a transaction whose caller is going to be given answer.
	Commit func(ctx context.Context, tx *table.Tx, answer any) error
}

// Create writes a new trip with the first entry of its log. Flags is the copy
// of the tenant's flags that the trip's currency was read from.
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

// Accepted is the answer of an acceptance.
type Accepted struct {
	ID         string `json:"id"`
	Status     Status `json:"status" enum:"ASSIGNED"`
	DriverID   string `json:"driverId"`
	AcceptedAt string `json:"acceptedAt" format:"date-time"`
}

// Accept assigns the trip to the driver: of drivers who try at once one wins.
// The item is the trip as the caller read it; so in what follows.
func (s Store) Accept(ctx context.Context, it table.Item, driver string) (*Accepted, error) {
	return change(ctx, s, it, func(t Trip, id string) (Trip, LogEntry, error) { return t.Accept(driver, id, s.Now) },
		func(t Trip) *Accepted { return &Accepted{t.ID, t.Status, driver, *t.AcceptedAt} })
}

// Arrived is the answer of an arrival.
type Arrived struct {
	ID        string `json:"id"`
	Status    Status `json:"status" enum:"DRIVER_ARRIVED"`
	ArrivedAt string `json:"arrivedAt" format:"date-time"`
}

// Arrive marks the driver as arrived.
func (s Store) Arrive(ctx context.Context, it table.Item, driver string) (*Arrived, error) {
	return change(ctx, s, it, func(t Trip, id string) (Trip, LogEntry, error) { return t.Arrive(driver, id, s.Now) },
		func(t Trip) *Arrived { return &Arrived{t.ID, t.Status, *t.ArrivedAt} })
}

// Started is the answer of a start.
type Started struct {
	ID        string `json:"id"`
	Status    Status `json:"status" enum:"IN_PROGRESS"`
	StartedAt string `json:"startedAt" format:"date-time"`
}

// Start begins the ride.
func (s Store) Start(ctx context.Context, it table.Item, driver string) (*Started, error) {
	return change(ctx, s, it, func(t Trip, id string) (Trip, LogEntry, error) { return t.Start(driver, id, s.Now) },
		func(t Trip) *Started { return &Started{t.ID, t.Status, *t.StartedAt} })
}

// Finished is the answer of a completion.
type Finished struct {
	ID             string       `json:"id"`
	Status         Status       `json:"status" enum:"COMPLETED"`
	CompletedAt    string       `json:"completedAt" format:"date-time"`
	FinalFare      *json.Number `json:"finalFare" nullable:"true" doc:"Currency units."`
	ActualDistance *json.Number `json:"actualDistance" nullable:"true" doc:"Kilometres."`
	ActualDuration *json.Number `json:"actualDuration" nullable:"true" doc:"Seconds."`
}

// Complete ends the ride with what was measured. The table's stream carries it
// to settlement.
func (s Store) Complete(ctx context.Context, it table.Item, driver string, m Measured) (*Finished, error) {
	return change(ctx, s, it, func(t Trip, id string) (Trip, LogEntry, error) { return t.Complete(driver, id, s.Now, m) },
		func(t Trip) *Finished {
			return &Finished{t.ID, t.Status, *t.CompletedAt, t.FinalFare, t.ActualDistance, t.ActualDuration}
		})
}

// Stopped is the answer of a cancellation.
type Stopped struct {
	ID        string `json:"id"`
	Status    Status `json:"status" enum:"CANCELLED"`
	UpdatedAt string `json:"updatedAt" format:"date-time"`
}

// Cancel ends the trip at its rider's wish.
func (s Store) Cancel(ctx context.Context, it table.Item, rider string, reason *string) (*Stopped, error) {
	return change(ctx, s, it, func(t Trip, id string) (Trip, LogEntry, error) { return t.Cancel(rider, id, s.Now, reason) },
		func(t Trip) *Stopped { return &Stopped{t.ID, t.Status, t.UpdatedAt} })
}

// change makes one transition in one transaction: the trip, on the condition
// that nothing of it has changed since it was read, and the entry of its log.
// When it has changed, or another transaction is at it, the trip is read and
// judged again: then its rules say 409, or it is tried again; a conflict that
// outlasts table.Retry is a 503.
func change[A any](ctx context.Context, s Store, it table.Item, act func(Trip, string) (Trip, LogEntry, error), answer func(Trip) *A) (*A, error) {
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
		given = answer(next)
		return s.Commit(ctx, s.replace(was, next, entry), given)
	})
	if err != nil {
		return nil, err
	}
	return given, nil
}

// replace is the transaction from one state of a trip to the next. The version
// alone would do; status and driver say what the transition relies on.
func (s Store) replace(was, next Trip, entry LogEntry) *table.Tx {
	tx := s.Tenant.Write()
	op := tx.Replace(next.Item(s.Tenant, s.WriteShards)).Else(table.ErrConflict)
	if was.DriverID == nil {
		op.If("'status' = ? AND attribute_not_exists(driverId)", string(was.Status))
	} else {
		op.If("'status' = ? AND driverId = ?", string(was.Status), *was.DriverID)
	}
	tx.Put(LogItem(s.Tenant, was.ID, was.Version+1, entry))
	return tx
}

func (s Store) newID() string { return ids.New(ids.Log, s.Now) }

// logShown is how many entries of a log are shown.
const logShown = 100

// Log reads the last entries of a trip's log, oldest first: the trip's own
// partition backward from its newest LOG#, eventually consistent.
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
