package trip

import (
	"cmp"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/domain/fare"
)

// transition is a kind of change of a trip's status (specification, "Trip
// statuses"; for those that the specification lacks, docs/decisions.md,
// "Operators and trips").
type transition struct {
	event Event
	verb  string // what a trip cannot be, in the message of a 409
	from  []Status
	to    Status
}

// The transitions that the log derives from the trip's fields.
var (
	accepting  = transition{EventAccepted, "accepted", []Status{Pending, Searching, CollectingOffers}, Assigned}
	arriving   = transition{EventArrived, "marked as arrived", []Status{Assigned}, DriverArrived}
	starting   = transition{EventStarted, "started", []Status{DriverArrived}, InProgress}
	completing = transition{EventCompleted, "completed", []Status{InProgress}, Completed}
	cancelling = transition{EventCancelled, "cancelled", []Status{Pending, Searching, Assigned, DriverArrived,
		WaitingCustomer, Scheduled}, Cancelled}
	// stopping is a cancellation by an operator or the service.
	stopping = transition{EventCancelled, "cancelled", []Status{Pending, Searching, CollectingOffers, Assigned,
		DriverArrived, WaitingCustomer, Scheduled, InProgress}, Cancelled}
)

// The transitions that are stored in the trip's history; see Past.
var (
	assigning  = transition{EventAssigned, "assigned", []Status{Pending, Searching, CollectingOffers, Scheduled}, Assigned}
	handing    = transition{EventHandedOver, "handed over", []Status{Assigned, DriverArrived}, Assigned}
	unassigned = transition{EventUnassigned, "taken from its driver", []Status{Assigned, DriverArrived}, Searching}
	releasing  = transition{EventReleased, "released", []Status{Assigned, DriverArrived}, Searching}
	searching  = transition{EventSearching, "dispatched", []Status{Pending, CollectingOffers, Scheduled}, Searching}
	collecting = transition{EventCollecting, "offered to drivers", []Status{Pending, Searching, Scheduled},
		CollectingOffers}
	unanswered = transition{EventUnanswered, "made pending", []Status{Searching, CollectingOffers}, Pending}
	becomesDue = transition{EventDue, "made pending", []Status{Scheduled}, Pending}
)

// check returns a 409 if the status of the trip does not allow the transition.
func (by transition) check(t Trip) error {
	if !slices.Contains(by.from, t.Status) {
		return fault.InvalidState("A trip that is %s cannot be %s.", t.Status, by.verb)
	}
	return nil
}

// move makes a transition that is not stored in the trip's history: the log derives it from
// the trip's fields. Errors: 409 if the status does not allow it.
func (t Trip) move(by transition, who LogActor, now time.Time) (Trip, error) {
	if err := by.check(t); err != nil {
		return Trip{}, err
	}
	if t.Status != t.led() {
		t.Before = with(t.Before, by.event, t.Status)
	}
	if who.Type != string(authz.Driver) && who.Type != string(authz.Rider) {
		t.Operators = with(t.Operators, by.event, who.ID)
	}
	t.Status, t.UpdatedAt = by.to, t.timeOf(now, len(t.History) > 0)
	return t, nil
}

// led returns the status after the last log entry that the trip's history and times give.
func (t Trip) led() Status {
	led, since := Pending, ""
	if n := len(t.History); n > 0 {
		led, since = t.History[n-1].To, t.History[n-1].At
	}
	for _, made := range t.driven() {
		if made.at != nil && *made.at > since {
			led = made.by.to
		}
	}
	return led
}

// timeOf returns the time of a change that is made now. Clocks differ, but the times of a
// trip must not go back. If increase is true, the time is later than the last one: the
// log of a trip with a history is ordered by time.
func (t Trip) timeOf(now time.Time, increase bool) string {
	at := timestamp.Format(now)
	if at > t.UpdatedAt {
		return at
	}
	if last, err := timestamp.Parse(t.UpdatedAt); increase && err == nil {
		return timestamp.Format(last.Add(time.Millisecond))
	}
	return t.UpdatedAt
}

// with returns a copy of the map in which the event has the value.
func with[V any](m map[Event]V, event Event, value V) map[Event]V {
	out := map[Event]V{event: value}
	for e, v := range m {
		if e != event {
			out[e] = v
		}
	}
	return out
}

// timed is a transition and the time at which the trip made it, nil if the trip
// has not made it.
type timed struct {
	by transition
	at *string
}

// driven returns the transitions that a driver makes, in order, with their times.
func (t Trip) driven() [4]timed {
	return [...]timed{{accepting, t.AcceptedAt}, {arriving, t.ArrivedAt}, {starting, t.StartedAt},
		{completing, t.CompletedAt}}
}

// Accept assigns the trip to the driver. Errors: 409 if the trip has a
// different driver or its status does not allow the assignment.
func (t Trip) Accept(driver string, now time.Time) (Trip, error) {
	if t.DriverID != nil && *t.DriverID != driver {
		return Trip{}, fault.InvalidState("The trip is assigned to another driver.")
	}
	next, err := t.move(accepting, ByDriver(driver), now)
	at := next.UpdatedAt
	next.DriverID, next.AcceptedAt = &driver, &at
	return next, err
}

// Arrive records that the driver is at the origin. Errors: as Trip.drive.
func (t Trip) Arrive(by LogActor, now time.Time) (Trip, error) {
	next, err := t.drive(arriving, by, now)
	at := next.UpdatedAt
	next.ArrivedAt = &at
	return next, err
}

// Start records that the rider has boarded. Errors: as Trip.drive.
func (t Trip) Start(by LogActor, now time.Time) (Trip, error) {
	next, err := t.drive(starting, by, now)
	at := next.UpdatedAt
	next.StartedAt = &at
	return next, err
}

// Measured is what a driver reports on completion. A nil field was not
// reported.
type Measured struct {
	FinalFare *money.Amount // currency units
	Distance  *money.Amount // kilometres
	Duration  *money.Amount // seconds
	Largest   money.Amount  // the tenant's largest fare, which prices must not exceed; "" for none
}

// Complete ends the trip. The fare is the measured fare, else what the prices give
// for the measured distance and duration, else the estimate, else null. Errors: as
// drive, and a 400 if the prices give more than the largest fare.
func (t Trip) Complete(by LogActor, now time.Time, m Measured) (Trip, error) {
	next, err := t.drive(completing, by, now)
	if next.FinalFare = m.FinalFare; err == nil && m.FinalFare == nil {
		next.FinalFare, err = t.priced(m)
	}
	next.FinalFare = cmp.Or(next.FinalFare, t.EstimatedFare)
	at := next.UpdatedAt
	next.CancellationFee, next.NoShowFee = nil, nil
	next.ActualDistance, next.ActualDuration, next.CompletedAt = m.Distance, m.Duration, &at
	return next, err
}

// priced returns the fare of the measured ride. It returns nil if the trip has no prices,
// or if a measure that a price needs is missing: otherwise a phone that died would turn
// an hour into a minimum fare. Waiting counts until the start. Errors: a 400 if the fare
// is above m.Largest, because a phone may send metres for kilometres.
func (t Trip) priced(m Measured) (*money.Amount, error) {
	prices, ok := t.Prices.Prices()
	if !ok || m.Distance == nil && m.Duration == nil {
		return nil, nil //nolint:nilnil // neither a fare nor an error
	}
	var measures fare.Measures
	for _, one := range []struct {
		from *money.Amount
		to   **decimal.Decimal
	}{{m.Distance, &measures.Kilometres}, {m.Duration, &measures.Seconds}} {
		if one.from != nil {
			d := one.from.Decimal() // Measurements.Measured has checked the value
			*one.to = &d
		}
	}
	if since, ok := t.waitsSince(); ok && t.StartedAt != nil {
		if started, err := timestamp.Parse(*t.StartedAt); err == nil && started.After(since) {
			measures.Waiting = decimal.New(started.Sub(since).Milliseconds(), -3)
		}
	}
	amount, ok := prices.Of(measures, t.Currency)
	switch {
	case !ok:
		return nil, nil //nolint:nilnil // neither a fare nor an error
	case m.Largest != "" && amount.GreaterThan(m.Largest.Decimal()):
		field := "body.actualDistance"
		if m.Distance == nil {
			field = "body.actualDuration"
		}
		return nil, fault.Field(field, "the measured ride would cost %s, above the company's largest fare, %s; expected "+
			"kilometres and seconds, or a finalFare", money.Of(amount), m.Largest)
	}
	return money.Ptr(amount), nil
}

// waitsSince returns since when the driver waits for the rider: since the arrival, but
// not before the time for which the ride is booked.
func (t Trip) waitsSince() (since time.Time, ok bool) {
	for _, at := range []*string{t.ArrivedAt, t.ScheduledFor} {
		if at == nil {
			continue
		}
		parsed, err := timestamp.Parse(*at)
		if err != nil {
			return since, false
		}
		if parsed.After(since) {
			since = parsed
		}
	}
	return since, t.ArrivedAt != nil
}

// drive makes a transition that belongs to the assigned driver. The driver makes it, or
// an operator for the driver. Errors: 404 if who is another driver, 409 if the status does
// not allow it. The status of a trip without a driver never allows it.
func (t Trip) drive(by transition, who LogActor, now time.Time) (Trip, error) {
	if t.anothers(who) {
		return Trip{}, fault.NotFound()
	}
	return t.move(by, who, now)
}

// anothers reports whether the actor is a driver or rider to whom the trip does not
// belong. The result is false for an operator and the service.
func (t Trip) anothers(who LogActor) bool {
	switch who.Type {
	case string(authz.Driver):
		return t.DriverID != nil && *t.DriverID != who.ID
	case string(authz.Rider):
		return t.CustomerID != who.ID
	}
	return false
}

// Cancel ends the trip. Errors: 404 if it is another rider's trip, 409 if the status
// does not allow it. An operator may also cancel a ride that is under way, which then
// has no fare and no receipt. A rider who cancels while a driver has the trip owes its
// CancellationFee.
func (t Trip) Cancel(by LogActor, now time.Time, reason *string) (Trip, error) {
	return t.cancel(by, now, reason, by.Type == string(authz.Rider))
}

// CancelForFee ends the trip, and the rider owes the cancellation fee as if the rider had
// cancelled. Errors: as Cancel, and a 409 if a rider would owe nothing.
func (t Trip) CancelForFee(by LogActor, now time.Time, reason *string) (Trip, error) {
	next, err := t.cancel(by, now, reason, true)
	if err == nil && !next.Owes() {
		err = fault.InvalidState("The rider owes no fee. A fee is owed only while the trip is %s or %s, and only if the "+
			"company had one when the ride was requested. Cancel the trip without the fee.", Assigned, DriverArrived)
	}
	return next, err
}

// cancel ends the trip. owing says whether the rider owes the fee, if a driver has the
// trip.
func (t Trip) cancel(by LogActor, now time.Time, reason *string, owing bool) (Trip, error) {
	if t.anothers(by) {
		return Trip{}, fault.NotFound()
	}
	how := stopping
	if by.Type == string(authz.Rider) {
		how = cancelling
	}
	next, err := t.move(how, by, now)
	next.CancelReason, next.NoShowFee = reason, nil
	if !owing || t.DriverID == nil || t.Status != Assigned && t.Status != DriverArrived {
		next.CancellationFee = nil
	}
	return next, err
}

// Owes reports whether the trip is cancelled and its rider owes the cancellation fee.
func (t Trip) Owes() bool { return t.Status == Cancelled && t.CancellationFee != nil }

// Settles reports whether the trip must be settled: it was completed and not imported, or
// was cancelled for a fee.
func (t Trip) Settles() bool { return t.Status == Completed && !t.Imported || t.Owes() }

// Charged returns a cancelled trip with a fee as settlement treats it: with the fee as
// its fare, paid from the wallet at the time of the cancellation. It returns any other
// trip unchanged.
func (t Trip) Charged() Trip {
	if !t.Owes() || t.CompletedAt != nil {
		return t
	}
	at := t.UpdatedAt
	for _, p := range t.History { // UpdatedAt may be the time of a later note
		if p.Event == EventCancelled {
			at = p.At
		}
	}
	t.FinalFare, t.PaymentType, t.CompletedAt = t.CancellationFee, "WALLET", &at
	return t
}

// Assign gives the trip to the driver; a trip that has a driver is handed over.
// Errors: 409 if the trip is this driver's, or its status does not allow it.
// A hand-over goes back to ASSIGNED, because the new driver has not arrived, and
// AcceptedAt becomes its time. A ride that is IN_PROGRESS is not handed over: an
// operator completes it with the fare so far, or cancels it.
func (t Trip) Assign(by LogActor, driver string, now time.Time) (Trip, error) {
	how, data := assigning, LogData{DriverID: &driver}
	if t.DriverID != nil {
		if *t.DriverID == driver {
			return Trip{}, fault.InvalidState("The trip is assigned to this driver already.")
		}
		how, data.PreviousDriverID = handing, t.DriverID
	}
	next, err := t.step(how, by, data, now)
	at := next.UpdatedAt
	next.DriverID, next.AcceptedAt, next.ArrivedAt = &driver, &at, nil
	return next, err
}

// Unassign takes the trip from its driver, or the driver gives it back, and the
// search begins again. Errors: 404 if another driver gives it back, 409 if the
// status does not allow it.
// The trip becomes SEARCHING even if nothing is dispatched: any driver may accept it.
func (t Trip) Unassign(by LogActor, reason *string, now time.Time) (Trip, error) {
	how := unassigned
	if by.Type == string(authz.Driver) {
		how = releasing
	}
	if t.anothers(by) {
		return Trip{}, fault.NotFound()
	}
	next, err := t.step(how, by, LogData{PreviousDriverID: t.DriverID, Reason: reason}, now)
	next.DriverID, next.AcceptedAt, next.ArrivedAt = nil, nil, nil
	return next, err
}

// Search begins the search for a driver. Errors: 409 if the status does not allow it;
// Collect, Unanswered and Due return the same error.
func (t Trip) Search(by LogActor, now time.Time) (Trip, error) {
	return t.step(searching, by, LogData{}, now)
}

// Collect records that the trip is offered to several drivers at once.
func (t Trip) Collect(by LogActor, now time.Time) (Trip, error) {
	return t.step(collecting, by, LogData{}, now)
}

// Unanswered ends a search in which no driver took the trip. Anybody may still
// accept it.
func (t Trip) Unanswered(by LogActor, reason string, now time.Time) (Trip, error) {
	return t.step(unanswered, by, LogData{Reason: &reason}, now)
}

// Due makes a scheduled trip pending.
func (t Trip) Due(by LogActor, now time.Time) (Trip, error) {
	return t.step(becomesDue, by, LogData{}, now)
}

// step makes a transition that is stored in the trip's history. Errors: 409 if the status
// does not allow it.
func (t Trip) step(how transition, by LogActor, data LogData, now time.Time) (Trip, error) {
	if err := how.check(t); err != nil {
		return Trip{}, err
	}
	return t.past(how.event, by, how.to, data, now), nil
}

// Note adds an entry to the log of a trip whose status does not change.
func (t Trip) Note(event Event, by LogActor, data LogData, now time.Time) Trip {
	return t.past(event, by, t.Status, data, now)
}
