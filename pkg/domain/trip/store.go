package trip

import (
	"context"
	"errors"
	"reflect"
	"time"

	"svc/pkg/base/fault"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/driver"
	"svc/pkg/domain/external"
	"svc/pkg/domain/tenant"
)

// Store gives one caller access to a tenant's trips.
type Store struct {
	Tenant      table.Tenant
	WriteShards int
	Now         time.Time
	// Flags is the copy of the tenant's flags that was read. They say whether a trip makes
	// its driver BUSY (tenant.Strict), and how early a booked ride may begin
	// (tenant.EarlyArrival).
	Flags table.Item
	// Read reads the driver for the first attempt of a change; nil means Tenant.Get.
	Read audit.Reader
	// Commit commits a transaction. answer is the response that the handler
	// will return.
	Commit func(ctx context.Context, tx *table.Tx, answer any) error
	// Also, if not nil, adds writes to the transaction of each change. was is the
	// trip as it was read, the zero Trip for a new trip, and next as it is written. If
	// the trip has changed since the read, the transaction fails.
	Also func(tx *table.Tx, was, next Trip, answer any)
	// Match, if not nil, checks the version of the trip that a change replaces with
	// the next one.
	Match func(version, next int64) error
}

// Audited returns a Store.Also that adds an audit entry of what an operator changed.
func Audited(t table.Tenant, by audit.By) func(tx *table.Tx, was, next Trip, answer any) {
	return func(tx *table.Tx, was, next Trip, _ any) {
		what, before := "trip.move", any(was.audited())
		switch {
		case was.ID == "":
			what, before = "trip.book", nil
		case !reflect.DeepEqual(was.Members, next.Members):
			what = "trip.edit"
		}
		audit.Append(tx, t, by, what, next.ID, before, next.audited())
	}
}

// audited returns what an audit entry shows of a trip. It has no address and no
// words of a person.
func (t Trip) audited() any {
	return struct {
		TripCode   string  `json:"tripCode"`
		Status     Status  `json:"status"`
		CustomerID string  `json:"customerId"`
		DriverID   *string `json:"driverId"`
		external.Members
	}{t.TripCode, t.Status, t.CustomerID, t.DriverID, t.Members}
}

// Create writes a new trip. flags is the copy of the tenant's flags from which
// the trip's currency was read. If the tenant's currency has changed since then,
// Create returns a 503. If the rider has as many open trips as the tenant allows,
// Create returns a 409.
func (s Store) Create(ctx context.Context, t Trip, flags table.Item) (*Trip, error) {
	most, look := tenant.OpenTrips(flags), false
	err := table.Retry(ctx, func(ctx context.Context) error {
		tx := s.Tenant.Write()
		if err := s.drivers(ctx, tx, Trip{}, &t); err != nil {
			return err
		}
		tx.Create(t.Item(s.Tenant, s.WriteShards))
		tenant.Price(tx, flags)
		if look {
			if err := addAfterLook(ctx, tx, s.Tenant, t, most); err != nil {
				return err
			}
		} else if most > 0 {
			addOpen(tx, s.Tenant, t, most)
		}
		if err := IDs.Move(ctx, tx, s.Tenant, t.ID, "", t.ExternalID); err != nil {
			return err
		}
		if s.Also != nil {
			s.Also(tx, Trip{}, t, &t)
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
	return change(ctx, s, it, func(t Trip) (Trip, error) { return t.Accept(driver, s.Now) },
		func(t Trip) *Accepted { return &Accepted{t.ID, t.Status, driver, *t.AcceptedAt} })
}

// Arrived is the response to an arrival.
type Arrived struct {
	ID        string `json:"id" doc:"Identifier of the trip."`
	Status    Status `json:"status" enum:"DRIVER_ARRIVED" doc:"The status now."`
	ArrivedAt string `json:"arrivedAt" format:"date-time" doc:"When the driver arrived at the origin."`
}

// Arrive marks the driver as arrived. Errors: as Trip.Arrive, and a 409 if it is too
// early for a booked ride.
func (s Store) Arrive(ctx context.Context, it table.Item, by LogActor) (*Arrived, error) {
	return change(ctx, s, it, func(t Trip) (Trip, error) { return s.inTime(t, by, t.Arrive) },
		func(t Trip) *Arrived { return &Arrived{t.ID, t.Status, *t.ArrivedAt} })
}

// Started is the response to a start.
type Started struct {
	ID        string `json:"id" doc:"Identifier of the trip."`
	Status    Status `json:"status" enum:"IN_PROGRESS" doc:"The status now."`
	StartedAt string `json:"startedAt" format:"date-time" doc:"When the ride began."`
}

// Start begins the ride. Errors: as Arrive.
func (s Store) Start(ctx context.Context, it table.Item, by LogActor) (*Started, error) {
	return change(ctx, s, it, func(t Trip) (Trip, error) { return s.inTime(t, by, t.Start) },
		func(t Trip) *Started { return &Started{t.ID, t.Status, *t.StartedAt} })
}

// inTime makes a transition that has its earliest time.
func (s Store) inTime(t Trip, by LogActor, move func(LogActor, time.Time) (Trip, error)) (Trip, error) {
	next, err := move(by, s.Now)
	if err != nil {
		return next, err
	}
	from, err := s.Earliest(t)
	if err == nil && s.Now.Before(from) {
		err = fault.InvalidState("The ride is booked for %s. The driver may arrive and start from %s on: "+
			"dispatch.earlyArrivalMinutes is %d.", *t.ScheduledFor, timestamp.Format(from),
			int(tenant.EarlyArrival(s.Flags).Minutes()))
	}
	return next, err
}

// Earliest returns when the driver of a booked ride may arrive and start, the zero time
// for any other ride.
func (s Store) Earliest(t Trip) (time.Time, error) {
	if t.ScheduledFor == nil {
		return time.Time{}, nil
	}
	in, err := t.In(s.Now)
	return s.Now.Add(in - tenant.EarlyArrival(s.Flags)), err
}

// Finished is the response to a completion.
type Finished struct {
	ID             string        `json:"id" doc:"Identifier of the trip."`
	Status         Status        `json:"status" enum:"COMPLETED" doc:"The status now."`
	CompletedAt    string        `json:"completedAt" format:"date-time" doc:"When the ride ended."`
	FinalFare      *money.Amount `json:"finalFare" nullable:"true" doc:"Final fare, currency units."`
	ActualDistance *money.Amount `json:"actualDistance" nullable:"true" doc:"Kilometres."`
	ActualDuration *money.Amount `json:"actualDuration" nullable:"true" doc:"Seconds."`
}

// Complete ends the ride with the measurements. The table's stream passes the
// completed trip to settlement.
func (s Store) Complete(ctx context.Context, it table.Item, by LogActor, m Measured) (*Finished, error) {
	return change(ctx, s, it, func(t Trip) (Trip, error) { return t.Complete(by, s.Now, m) },
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

// Cancel ends the trip.
func (s Store) Cancel(ctx context.Context, it table.Item, by LogActor, reason *string) (*Stopped, error) {
	return change(ctx, s, it, func(t Trip) (Trip, error) { return t.Cancel(by, s.Now, reason) },
		func(t Trip) *Stopped { return &Stopped{t.ID, t.Status, t.UpdatedAt} })
}

// CancelFor is Cancel, with the fee as Trip.CancelForFee.
func (s Store) CancelFor(ctx context.Context, it table.Item, by LogActor, reason *string, fee bool) (*Stopped, error) {
	if !fee {
		return s.Cancel(ctx, it, by, reason)
	}
	return change(ctx, s, it, func(t Trip) (Trip, error) { return t.CancelForFee(by, s.Now, reason) },
		func(t Trip) *Stopped { return &Stopped{t.ID, t.Status, t.UpdatedAt} })
}

// Assign gives the trip to the driver; see Trip.Assign.
func (s Store) Assign(ctx context.Context, it table.Item, by LogActor, driver string) (*Accepted, error) {
	return change(ctx, s, it, func(t Trip) (Trip, error) { return t.Assign(by, driver, s.Now) },
		func(t Trip) *Accepted { return &Accepted{t.ID, t.Status, driver, *t.AcceptedAt} })
}

// Unassign takes the trip from its driver; see Trip.Unassign.
func (s Store) Unassign(ctx context.Context, it table.Item, by LogActor, reason *string) (*Changed, error) {
	return s.Change(ctx, it, func(t Trip) (Trip, error) { return t.Unassign(by, reason, s.Now) })
}

// Changed is the response to another change.
type Changed struct {
	ID        string `json:"id" doc:"Identifier of the trip."`
	Status    Status `json:"status" enum:"PENDING,SEARCHING,COLLECTING_OFFERS,WAITING_CUSTOMER,SCHEDULED,ASSIGNED,DRIVER_ARRIVED,IN_PROGRESS,COMPLETED,CANCELLED" doc:"The status now."`
	UpdatedAt string `json:"updatedAt" format:"date-time" doc:"When the trip was changed."`
}

// Change makes any other change of the trip, such as Trip.Search or Trip.Note.
// act may run more than once.
func (s Store) Change(ctx context.Context, it table.Item, act func(Trip) (Trip, error)) (*Changed, error) {
	return change(ctx, s, it, act, func(t Trip) *Changed { return &Changed{t.ID, t.Status, t.UpdatedAt} })
}

// change makes one transition in one transaction, which writes the trip on the
// condition that the trip has not changed since the read. After a failed
// condition or a conflict, change reads the trip again and applies the rules
// again. The rules then return an error (404, 409) or allow a retry. If all
// attempts of table.Retry conflict, change returns a 503.
func change[A any](
	ctx context.Context, s Store, it table.Item, act func(Trip) (Trip, error), answer func(Trip) *A,
) (*A, error) {
	var given *A
	read := reader(s.Tenant, it)
	err := table.Retry(ctx, func(ctx context.Context) error {
		it, err := read(ctx)
		if err != nil {
			return err
		}
		was, err := FromItem(it)
		if err != nil {
			return err
		}
		if err := s.match(it.Version); err != nil {
			return err
		}
		next, err := act(was)
		if err != nil {
			return err
		}
		tx := s.Tenant.Write()
		if err := s.drivers(ctx, tx, was, &next); err != nil {
			return err
		}
		given = answer(next)
		s.replace(tx, was, next)
		if err := IDs.Move(ctx, tx, s.Tenant, was.ID, was.ExternalID, next.ExternalID); err != nil {
			return err
		}
		if s.Also != nil {
			s.Also(tx, was, next, given)
		}
		return s.Commit(ctx, tx, given)
	})
	if err != nil {
		return nil, err
	}
	return given, nil
}

func (s Store) match(version int64) error {
	if s.Match == nil {
		return nil
	}
	return s.Match(version, version+1)
}

// reader returns a function that returns the trip's item as it was read, and at
// each later call reads it again. It returns fault.NotFound if there is none.
func reader(t table.Tenant, it table.Item) func(context.Context) (table.Item, error) {
	stale := false
	return func(ctx context.Context) (out table.Item, err error) {
		if stale {
			it, err = t.Get(ctx, it.Key)
		}
		stale = true
		if err == nil && !it.Found() {
			err = fault.NotFound()
		}
		return it, err
	}
}

// drivers changes the status of the driver who loses the trip, and of the one who
// gets it, in the transaction of the change. A driver begins a trip that is booked for
// later (Trip.Ahead) by arriving. Errors: 409 if the new driver must not get it.
func (s *Store) drivers(ctx context.Context, tx *table.Tx, was Trip, next *Trip) error {
	over := next.Status == Completed || next.Status == Cancelled
	moved := was.DriverID == nil || next.DriverID == nil || *was.DriverID != *next.DriverID
	read := s.Read
	if s.Read = nil; read == nil {
		read = s.Tenant.Get
	}
	if was.Engaged && (moved || over) {
		it, err := read(ctx, driver.Key(s.Tenant, *was.DriverID))
		if err == nil {
			err = driver.EndRide(tx, s.Tenant, it, was.ID, s.Now)
		}
		if err != nil {
			return err
		}
	}
	keeps := was.Engaged && !moved
	strict := tenant.Strict(s.Flags)
	begins := strict && next.ScheduledFor != nil && next.Status != was.Status && next.Status != Assigned
	if strict && moved && next.DriverID != nil && !over {
		later, err := next.Ahead(s.Now)
		if err != nil {
			return err
		}
		begins = begins || !later
	}
	next.Engaged = next.DriverID != nil && !over && (keeps || begins)
	if next.Engaged && !keeps {
		it, err := read(ctx, driver.Key(s.Tenant, *next.DriverID))
		if err != nil {
			return err
		}
		return driver.BeginRide(tx, s.Tenant, it, next.ID, s.Now)
	}
	return nil
}

// replace writes the next state of a trip in place of another. The condition on
// the version is sufficient. The conditions on status and driver document what the
// transition relies on.
func (s Store) replace(tx *table.Tx, was, next Trip) {
	op := tx.Replace(next.Item(s.Tenant, s.WriteShards)).Else(table.ErrConflict)
	if was.DriverID == nil {
		op.If("'status' = ? AND attribute_not_exists(driverId)", string(was.Status))
	} else {
		op.If("'status' = ? AND driverId = ?", string(was.Status), *was.DriverID)
	}
	if !was.Settles() && (next.completedLate() || next.Owes()) {
		entries := next.Log()
		last := entries[len(entries)-1]
		log := LogItem(s.Tenant, was.ID, was.Version+1, last)
		log.G[byTenant-1], log.R = LatePartition(s.Tenant), last.At+"#"+was.ID
		tx.Put(log)
	}
}
