package trip

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"svc/pkg/base/fault"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/fare"
)

// Status is the state of a trip (specification, "Trip statuses").
type Status string

// The ten statuses.
const (
	Pending          Status = "PENDING"
	Searching        Status = "SEARCHING"
	CollectingOffers Status = "COLLECTING_OFFERS"
	WaitingCustomer  Status = "WAITING_CUSTOMER"
	Scheduled        Status = "SCHEDULED"
	Assigned         Status = "ASSIGNED"
	DriverArrived    Status = "DRIVER_ARRIVED"
	InProgress       Status = "IN_PROGRESS"
	Completed        Status = "COMPLETED"
	Cancelled        Status = "CANCELLED"
)

// Statuses lists all statuses.
var Statuses = []Status{Pending, Searching, CollectingOffers, WaitingCustomer, Scheduled, Assigned, DriverArrived,
	InProgress, Completed, Cancelled}

// Trip is a trip as the API shows it. Amounts are in units of Currency,
// coordinates in degrees, times in the format of timestamp.Format. Unknown
// values are null.
type Trip struct {
	ID             string       `json:"id" example:"trp_01JT7M4C6Q8V2N5X9B3D1F7H0K" doc:"Identifier of the trip."`
	TripCode       string       `json:"tripCode" example:"7K3M9QXZ" doc:"Short code for people: eight characters of Crockford base32."`
	Status         Status       `json:"status" enum:"PENDING,SEARCHING,COLLECTING_OFFERS,WAITING_CUSTOMER,SCHEDULED,ASSIGNED,DRIVER_ARRIVED,IN_PROGRESS,COMPLETED,CANCELLED" doc:"Where the trip stands."`
	DriverID       *string      `json:"driverId" doc:"The assigned driver."`
	CustomerID     string       `json:"customerId" doc:"The rider who requested the trip."`
	OriginAddress  string       `json:"originAddress" example:"12 Harbour Street" doc:"Where the ride begins."`
	OriginLat      json.Number  `json:"originLat" example:"40.7128" doc:"Degrees."`
	OriginLng      json.Number  `json:"originLng" example:"-74.006" doc:"Degrees."`
	DestAddress    *string      `json:"destAddress" doc:"Where the ride ends."`
	DestLat        *json.Number `json:"destLat" nullable:"true" doc:"Degrees."`
	DestLng        *json.Number `json:"destLng" nullable:"true" doc:"Degrees."`
	ServiceTypeID  *string      `json:"serviceTypeId" doc:"The service type of the request."`
	PaymentType    string       `json:"paymentType" enum:"CASH,CARD,WALLET" doc:"How the rider pays."`
	Notes          *string      `json:"notes" doc:"The rider's words to the driver."`
	EstimatedFare  *json.Number `json:"estimatedFare" nullable:"true" doc:"Estimated fare, currency units."`
	FinalFare      *json.Number `json:"finalFare" nullable:"true" doc:"Final fare, currency units; set on completion."`
	Currency       string       `json:"currency" example:"USD" doc:"ISO 4217 code."`
	RequestedAt    string       `json:"requestedAt" format:"date-time" doc:"When the rider requested the trip."`
	AcceptedAt     *string      `json:"acceptedAt" format:"date-time" doc:"When a driver accepted."`
	ArrivedAt      *string      `json:"arrivedAt" format:"date-time" doc:"When the driver arrived at the origin."`
	StartedAt      *string      `json:"startedAt" format:"date-time" doc:"When the ride began."`
	CompletedAt    *string      `json:"completedAt" format:"date-time" doc:"When the ride ended."`
	ActualDistance *json.Number `json:"actualDistance" nullable:"true" doc:"Kilometres, as measured."`
	ActualDuration *json.Number `json:"actualDuration" nullable:"true" doc:"Seconds, as measured."`
	CancelReason   *string      `json:"cancelReason" doc:"Why the trip was cancelled, in the words of the person who cancelled it."`
	UpdatedAt      string       `json:"updatedAt" format:"date-time" doc:"When the trip last changed."`

	// CommissionRate is the snapshot of the service type's rate, 0 to 1, taken
	// on creation; nil without a service type or rate. It is never shown.
	CommissionRate *json.Number `json:"-"`
	// Prices are those of the service type, taken on creation; "" without a
	// service type or prices. They are never shown.
	Prices fare.Snapshot `json:"-"`
	// Before maps an event to the status before it. It contains only the events
	// before which something other than a transition had set the status. Only
	// the log shows Before.
	Before map[Event]Status `json:"-"`
	// Operators maps an event to the user of the svc command who caused it in
	// place of the rider or driver. Only the log shows Operators.
	Operators map[Event]string `json:"-"`
	// Version counts the writes of the trip, starting with 1 on creation. Each
	// transition adds one to it.
	Version int64 `json:"-"`

	Preserve table.Unknown `json:"-"` // of the stored item
}

// transition is a kind of change of a trip's status (specification, "Trip
// statuses"; for the arrival, docs/decisions.md, "The contract").
type transition struct {
	event Event
	verb  string // for the message of a 409
	from  []Status
	to    Status
}

var (
	accepting  = transition{EventAccepted, "accepted", []Status{Pending, Searching, CollectingOffers}, Assigned}
	arriving   = transition{EventArrived, "marked as arrived", []Status{Assigned}, DriverArrived}
	starting   = transition{EventStarted, "started", []Status{DriverArrived}, InProgress}
	completing = transition{EventCompleted, "completed", []Status{InProgress}, Completed}
	cancelling = transition{EventCancelled, "cancelled", []Status{Pending, Searching, Assigned, DriverArrived,
		WaitingCustomer, Scheduled}, Cancelled}
)

// move makes the transition. Errors: 409 if the status does not allow it.
func (t Trip) move(by transition, now time.Time) (Trip, error) {
	if !slices.Contains(by.from, t.Status) {
		return Trip{}, fault.InvalidState("A trip that is %s cannot be %s.", t.Status, by.verb)
	}
	led := Pending // the status that the last transition set
	for _, made := range t.driven() {
		if made.at != nil {
			led = made.by.to
		}
	}
	if t.Status != led {
		t.Before = with(t.Before, by.event, t.Status)
	}
	t.Status, t.UpdatedAt = by.to, max(timestamp.Format(now), t.UpdatedAt) // clocks differ; times must not go back
	return t, nil
}

// with returns a copy of the map with the member.
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

// driven returns the driver's transitions, in order.
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
	next, err := t.move(accepting, now)
	at := next.UpdatedAt
	next.DriverID, next.AcceptedAt = &driver, &at
	return next, err
}

// Arrive records that the assigned driver is at the origin. Errors: as drive.
func (t Trip) Arrive(driver string, now time.Time) (Trip, error) {
	next, err := t.drive(arriving, driver, now)
	at := next.UpdatedAt
	next.ArrivedAt = &at
	return next, err
}

// Start records that the rider has boarded. Errors: as drive.
func (t Trip) Start(driver string, now time.Time) (Trip, error) {
	next, err := t.drive(starting, driver, now)
	at := next.UpdatedAt
	next.StartedAt = &at
	return next, err
}

// Measured is what a driver reports on completion. A nil field was not
// reported.
type Measured struct {
	FinalFare *json.Number // currency units
	Distance  *json.Number // kilometres
	Duration  *json.Number // seconds
}

// Complete ends the trip. The fare is the measured fare, else what the prices give
// for the measured distance and duration, else the estimate, else null. Errors: as
// drive.
func (t Trip) Complete(driver string, now time.Time, m Measured) (Trip, error) {
	next, err := t.drive(completing, driver, now)
	next.FinalFare = cmp.Or(m.FinalFare, t.priced(m), t.EstimatedFare)
	at := next.UpdatedAt
	next.ActualDistance, next.ActualDuration, next.CompletedAt = m.Distance, m.Duration, &at
	return next, err
}

// priced returns the fare of the measured ride, or nil if the trip has no prices,
// nothing was measured, or a measure that a price needs is missing. Waiting counts
// from the arrival to the start.
func (t Trip) priced(m Measured) *json.Number {
	prices, ok := t.Prices.Prices()
	if !ok || m.Distance == nil && m.Duration == nil {
		return nil
	}
	var measures fare.Measures
	for _, one := range []struct {
		from *json.Number
		to   **decimal.Decimal
	}{{m.Distance, &measures.Kilometres}, {m.Duration, &measures.Seconds}} {
		if one.from != nil {
			d := money.Must(*one.from) // checked by Measurements.Measured
			*one.to = &d
		}
	}
	if t.ArrivedAt != nil && t.StartedAt != nil {
		arrived, err := timestamp.Parse(*t.ArrivedAt)
		started, err2 := timestamp.Parse(*t.StartedAt)
		if err == nil && err2 == nil {
			measures.Waiting = decimal.New(started.Sub(arrived).Milliseconds(), -3)
		}
	}
	amount, ok := prices.Of(measures, t.Currency)
	if !ok {
		return nil
	}
	return money.Ptr(amount)
}

// drive makes a transition that only the assigned driver may make. Errors: 404
// if the trip has a different driver, 409 if its status does not allow the
// transition. The status of a trip without a driver allows none of them.
func (t Trip) drive(by transition, driver string, now time.Time) (Trip, error) {
	if t.DriverID != nil && *t.DriverID != driver {
		return Trip{}, fault.NotFound()
	}
	return t.move(by, now)
}

// Cancel ends the trip at its rider's request. Errors: 404 if the trip has a
// different rider, 409 if its status does not allow it.
func (t Trip) Cancel(rider string, now time.Time, reason *string) (Trip, error) {
	if t.CustomerID != rider {
		return Trip{}, fault.NotFound()
	}
	next, err := t.move(cancelling, now)
	next.CancelReason = reason
	return next, err
}
