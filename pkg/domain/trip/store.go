package trip

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
)

// Store gives one caller access to a tenant's trips.
type Store struct {
	Tenant      table.Tenant
	WriteShards int
	Now         time.Time
	// Operator, unless empty, is the user of the svc command who acts in place
	// of the rider or driver (audit.By.Who). The trip's log names this user.
	Operator string
	// Commit commits a transaction. answer is the response that the handler
	// will return.
	Commit func(ctx context.Context, tx *table.Tx, answer any) error
	// Also, if not nil, adds writes to the transaction of each transition. was is
	// the trip as it was read. If the trip has changed since then, the transaction
	// fails.
	Also func(tx *table.Tx, was Trip, answer any)
}

// Create writes a new trip. flags is the copy of the tenant's flags from which
// the trip's currency was read. If the tenant's currency has changed since then,
// Create returns a 503. If the rider has as many open trips as the tenant allows,
// Create returns a 409.
func (s Store) Create(ctx context.Context, t Trip, flags table.Item) (*Trip, error) {
	most, look := tenant.OpenTrips(flags), false
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := s.Tenant.Write()
		tx.Create(t.Item(s.Tenant, s.WriteShards))
		tenant.Price(tx, flags)
		if look {
			if err := addAfterLook(ctx, tx, s.Tenant, t, most); err != nil {
				return err
			}
		} else if most > 0 {
			addOpen(tx, s.Tenant, t, most)
		}
		err := s.Commit(ctx, tx, &t)
		if errors.Is(err, errLook) {
			look, err = true, table.ErrConflict
		}
		return err
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
// time, only one succeeds. Here and in the methods below, the parameter it is the
// trip's item as the caller read it.
func (s Store) Accept(ctx context.Context, it table.Item, driver string) (*Accepted, error) {
	return change(ctx, s, it, accepting, func(t Trip) (Trip, error) { return t.Accept(driver, s.Now) },
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
	return change(ctx, s, it, arriving, func(t Trip) (Trip, error) { return t.Arrive(driver, s.Now) },
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
	return change(ctx, s, it, starting, func(t Trip) (Trip, error) { return t.Start(driver, s.Now) },
		func(t Trip) *Started { return &Started{t.ID, t.Status, *t.StartedAt} })
}

// Finished is the response to a completion.
type Finished struct {
	ID             string       `json:"id" doc:"Identifier of the trip."`
	Status         Status       `json:"status" enum:"COMPLETED" doc:"The status now."`
	CompletedAt    string       `json:"completedAt" format:"date-time" doc:"When the ride ended."`
	FinalFare      *json.Number `json:"finalFare" nullable:"true" doc:"Final fare, currency units."`
	ActualDistance *json.Number `json:"actualDistance" nullable:"true" doc:"Kilometres."`
	ActualDuration *json.Number `json:"actualDuration" nullable:"true" doc:"Seconds."`
}

// Complete ends the ride with the measurements. The table's stream passes the
// completed trip to settlement.
func (s Store) Complete(ctx context.Context, it table.Item, driver string, m Measured) (*Finished, error) {
	return change(ctx, s, it, completing, func(t Trip) (Trip, error) { return t.Complete(driver, s.Now, m) },
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
	return change(ctx, s, it, cancelling, func(t Trip) (Trip, error) { return t.Cancel(rider, s.Now, reason) },
		func(t Trip) *Stopped { return &Stopped{t.ID, t.Status, t.UpdatedAt} })
}

// change makes one transition in one transaction, which writes the trip on the
// condition that the trip has not changed since the read. After a failed
// condition or a conflict, change reads the trip again and applies the rules
// again. The rules then return an error (404, 409) or allow a retry. If all
// attempts of table.Retry conflict, change returns a 503.
func change[A any](
	ctx context.Context, s Store, it table.Item, by transition, act func(Trip) (Trip, error), answer func(Trip) *A,
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
		next, err := act(was)
		if err != nil {
			return err
		}
		if s.Operator != "" {
			next.Operators = with(was.Operators, by.event, s.Operator)
		}
		given = answer(next)
		tx := s.replace(was, next)
		if s.Also != nil {
			s.Also(tx, was, given)
		}
		return s.Commit(ctx, tx, given)
	})
	if err != nil {
		return nil, err
	}
	return given, nil
}

// replace returns the transaction from one state of a trip to the next. The
// condition on the version is sufficient. The conditions on status and driver
// document what the transition relies on.
func (s Store) replace(was, next Trip) *table.Tx {
	tx := s.Tenant.Write()
	op := tx.Replace(next.Item(s.Tenant, s.WriteShards)).Else(table.ErrConflict)
	if was.DriverID == nil {
		op.If("'status' = ? AND attribute_not_exists(driverId)", string(was.Status))
	} else {
		op.If("'status' = ? AND driverId = ?", string(was.Status), *was.DriverID)
	}
	if next.completedLate() {
		entries := next.entries()
		log := LogItem(s.Tenant, was.ID, was.Version+1, entries[len(entries)-1])
		log.G[byTenant-1], log.R = LatePartition(s.Tenant), *next.CompletedAt+"#"+was.ID
		tx.Put(log)
	}
	return tx
}
