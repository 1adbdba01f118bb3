package trip

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/external"
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

// Acceptable reports whether a driver may accept a trip in the status.
func (s Status) Acceptable() bool { return slices.Contains(accepting.from, s) }

// Driven reports whether a driver is busy with a trip in the status.
func (s Status) Driven() bool {
	return slices.Contains([]Status{Assigned, DriverArrived, WaitingCustomer, InProgress}, s)
}

// Statuses lists all statuses.
var Statuses = []Status{Pending, Searching, CollectingOffers, WaitingCustomer, Scheduled, Assigned, DriverArrived,
	InProgress, Completed, Cancelled}

// Trip is a trip as the API shows it. Amounts are in units of Currency,
// coordinates in degrees, times in the format of timestamp.Format. Unknown
// values are null.
type Trip struct { //nolint:dupl // of document
	ID             string        `json:"id" example:"trp_01JT7M4C6Q8V2N5X9B3D1F7H0K" doc:"Identifier of the trip."`
	TripCode       string        `json:"tripCode" example:"7K3M9QXZ" doc:"Short code for people: eight characters of Crockford base32."`
	Status         Status        `json:"status" enum:"PENDING,SEARCHING,COLLECTING_OFFERS,WAITING_CUSTOMER,SCHEDULED,ASSIGNED,DRIVER_ARRIVED,IN_PROGRESS,COMPLETED,CANCELLED" doc:"Where the trip stands."`
	DriverID       *string       `json:"driverId" doc:"The assigned driver."`
	CustomerID     string        `json:"customerId" doc:"The rider who requested the trip."`
	OriginAddress  string        `json:"originAddress" example:"12 Harbour Street" doc:"Where the ride begins."`
	OriginLat      json.Number   `json:"originLat" example:"40.7128" doc:"Degrees."`
	OriginLng      json.Number   `json:"originLng" example:"-74.006" doc:"Degrees."`
	DestAddress    *string       `json:"destAddress" doc:"Where the ride ends."`
	DestLat        *json.Number  `json:"destLat" nullable:"true" doc:"Degrees."`
	DestLng        *json.Number  `json:"destLng" nullable:"true" doc:"Degrees."`
	ServiceTypeID  *string       `json:"serviceTypeId" doc:"The service type of the request."`
	PaymentType    string        `json:"paymentType" enum:"CASH,CARD,WALLET" doc:"How the rider pays."`
	Notes          *string       `json:"notes" doc:"The rider's words to the driver."`
	EstimatedFare  *money.Amount `json:"estimatedFare" nullable:"true" doc:"Estimated fare, currency units."`
	FinalFare      *money.Amount `json:"finalFare" nullable:"true" doc:"Final fare, currency units; set on completion."`
	Currency       string        `json:"currency" example:"USD" doc:"ISO 4217 code."`
	RequestedAt    string        `json:"requestedAt" format:"date-time" doc:"When the rider requested the trip."`
	AcceptedAt     *string       `json:"acceptedAt" format:"date-time" doc:"When a driver accepted."`
	ArrivedAt      *string       `json:"arrivedAt" format:"date-time" doc:"When the driver arrived at the origin."`
	StartedAt      *string       `json:"startedAt" format:"date-time" doc:"When the ride began."`
	CompletedAt    *string       `json:"completedAt" format:"date-time" doc:"When the ride ended."`
	ActualDistance *money.Amount `json:"actualDistance" nullable:"true" doc:"Kilometres, as measured."`
	ActualDuration *money.Amount `json:"actualDuration" nullable:"true" doc:"Seconds, as measured."`
	CancelReason   *string       `json:"cancelReason" doc:"Why the trip was cancelled, in the words of the person who cancelled it."`
	// CancellationFee is the company's fee when the trip was requested. A change that
	// ends the trip without charging the fee removes it.
	CancellationFee *money.Amount `json:"cancellationFee,omitempty" doc:"What the rider is charged who cancels while a driver has the trip (ASSIGNED, DRIVER_ARRIVED), currency units. If the trip is CANCELLED, what the rider owes. Absent for nothing. An extension of the specification."`
	NoShowFee       *money.Amount `json:"noShowFee,omitempty" doc:"What the rider owes in place of the cancellationFee if the driver ends the ride as a no-show, currency units. Absent if it is the same, and once the trip has ended. An extension of the specification."`
	ScheduledFor    *string       `json:"scheduledFor,omitempty" format:"date-time" doc:"When the rider wants to be picked up; absent for as soon as possible. An extension of the specification."`
	UpdatedAt       string        `json:"updatedAt" format:"date-time" doc:"When the trip last changed."`

	// CommissionRate is the snapshot of the service type's rate, 0 to 1, taken
	// on creation; nil without a service type or rate. It is never shown.
	CommissionRate *money.Amount `json:"-"`
	// Prices are those of the service type, taken on creation; "" without a
	// service type or prices. They are never shown.
	Prices fare.Snapshot `json:"-"`
	// History is the log up to the last change that the other fields do not show.
	// Only the log shows History, Before and Operators.
	History []Past `json:"-"`
	// Before maps an event after History to the status before it. It contains only
	// the events before which something other than a transition had set the status.
	Before map[Event]Status `json:"-"`
	// Operators maps an event after History to the operator who caused it in place
	// of the rider or driver.
	Operators map[Event]string `json:"-"`
	// Dispatched means that the trip was requested while the tenant's dispatch.mode
	// was not manual, or was pending when that began. It is never shown.
	Dispatched bool `json:"-"`
	// Imported means that another system made the ride. It moves no money and gets no
	// receipt, and the feed does not tell of it.
	Imported bool `json:"-"`
	// Engaged means that the trip made its driver BUSY. Its end, or another driver,
	// makes the driver ONLINE again, whatever the company's setting then is.
	Engaged bool `json:"-"`
	// Rated is the rider's rating of the driver, 1 to 5; 0 means none. Only the log
	// shows it, which drivers do not see.
	Rated int `json:"-"`
	// RatedRider is the driver's rating of the rider, as Rated.
	RatedRider int `json:"-"`
	// Version counts the writes of the trip, starting with 1 on creation. Each
	// transition adds one to it.
	Version int64 `json:"-"`

	Preserve table.Unknown `json:"-"` // of the stored item
	external.Members
}

// ahead is how long before the time of a booked trip its driver is taken.
const ahead = time.Hour

// Ahead reports whether the trip is booked for a time so far ahead that its driver may
// drive others until then.
func (t Trip) Ahead(now time.Time) (bool, error) {
	in, err := t.In(now)
	return in > ahead, err
}

// In returns the time until the one for which the trip is booked; 0 if it is not booked for
// a later time.
func (t Trip) In(now time.Time) (time.Duration, error) {
	if t.ScheduledFor == nil {
		return 0, nil
	}
	at, err := timestamp.Parse(*t.ScheduledFor)
	if err != nil {
		return 0, fmt.Errorf("the trip %s is booked for: %w", t.ID, err)
	}
	return at.Sub(now), nil
}
