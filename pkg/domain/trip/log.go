package trip

import (
	"context"
	"slices"

	"svc/pkg/base/ids"
	"svc/pkg/base/money"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
)

// Event is the type of an entry in a trip's log.
type Event string

// The events that are derived from the trip's fields: the creation, and the transitions
// that the specification has.
const (
	EventRequested Event = "REQUESTED"
	EventAccepted  Event = "ACCEPTED"
	EventArrived   Event = "ARRIVED"
	EventStarted   Event = "STARTED"
	EventCompleted Event = "COMPLETED"
	EventCancelled Event = "CANCELLED"
)

// The events that are stored in the trip's history, because its other fields do not show
// them.
const (
	EventBooked        Event = "BOOKED"            // an operator booked the trip for a rider who called
	EventDue           Event = "DUE"               // the scheduled trip became pending
	EventSearching     Event = "SEARCHING"         // the search for a driver began
	EventCollecting    Event = "COLLECTING_OFFERS" // several drivers were asked at once
	EventOffered       Event = "OFFERED"           // the trip was offered to a driver
	EventDeclined      Event = "DECLINED"          // a driver declined the offer
	EventUnanswered    Event = "UNANSWERED"        // no driver took the trip
	EventAssigned      Event = "ASSIGNED"          // a driver got the trip without having to accept it
	EventHandedOver    Event = "HANDED_OVER"       // the trip went from one driver to another
	EventUnassigned    Event = "UNASSIGNED"        // the trip was taken from its driver
	EventReleased      Event = "RELEASED"          // the driver gave the trip back
	EventRated         Event = "RATED"
	EventFareCorrected Event = "FARE_CORRECTED"
)

// LogEntry is one entry of a trip's log. Trip.Log derives the entries from the
// trip: from its history, and from the time and the author of each later change.
// Therefore an entry costs no write, and trip and log cannot differ. The entry of a
// late completion is an exception: it is also stored apart (LatePartition).
type LogEntry struct {
	ID    string   `json:"id" doc:"Identifier of the entry."`
	Type  Event    `json:"type" enum:"REQUESTED,ACCEPTED,ARRIVED,STARTED,COMPLETED,CANCELLED,BOOKED,DUE,SEARCHING,COLLECTING_OFFERS,OFFERED,DECLINED,UNANSWERED,ASSIGNED,HANDED_OVER,UNASSIGNED,RELEASED,RATED,FARE_CORRECTED" doc:"What happened. From BOOKED on they are extensions of the specification."`
	At    string   `json:"at" format:"date-time" doc:"When it happened."`
	Actor LogActor `json:"actor" doc:"Who did it."`
	From  *Status  `json:"from" enum:"PENDING,SEARCHING,COLLECTING_OFFERS,WAITING_CUSTOMER,SCHEDULED,ASSIGNED,DRIVER_ARRIVED,IN_PROGRESS,COMPLETED,CANCELLED" doc:"The status before; null on creation."`
	To    Status   `json:"to" enum:"PENDING,SEARCHING,COLLECTING_OFFERS,WAITING_CUSTOMER,SCHEDULED,ASSIGNED,DRIVER_ARRIVED,IN_PROGRESS,COMPLETED,CANCELLED" doc:"The status after."`
	Data  LogData  `json:"data" doc:"Details of the change."`
}

// LogActor is who made the change that an entry records.
type LogActor struct {
	Type string `json:"type" enum:"dashboard,rider,driver,system" doc:"The kind of actor. dashboard stands for an operator or a machine, system for the service itself."`
	ID   string `json:"id" doc:"Identifier of the rider, driver, operator or machine. For an operator who used the svc command it is svc: and the name of the person, for the service itself it is system."`
}

// LogData holds the details of a change. A detail that the change does not have
// is absent.
type LogData struct {
	DriverID         *string       `json:"driverId,omitempty" doc:"The driver who accepted, or to whom the trip was offered or given."`
	PreviousDriverID *string       `json:"previousDriverId,omitempty" doc:"The driver who had the trip before."`
	ServiceTypeID    *string       `json:"serviceTypeId,omitempty" doc:"The service type of the request."`
	ScheduledFor     *string       `json:"scheduledFor,omitempty" format:"date-time" doc:"When the rider wants to be picked up."`
	Reason           *string       `json:"reason,omitempty" doc:"Why the trip was cancelled, or why the change was made."`
	FinalFare        *money.Amount `json:"finalFare,omitempty" doc:"The final fare, currency units."`
	PreviousFare     *money.Amount `json:"previousFare,omitempty" doc:"The final fare before its correction, currency units."`
	ActualDistance   *money.Amount `json:"actualDistance,omitempty" doc:"Kilometres, as measured."`
	ActualDuration   *money.Amount `json:"actualDuration,omitempty" doc:"Seconds, as measured."`
	Rating           *int          `json:"rating,omitempty" doc:"The rating, 1 to 5."`
	Comment          *string       `json:"comment,omitempty" doc:"What the person who rated wrote."`
}

// Log returns the whole log of the trip, oldest entry first: its history, and the
// later entries, which are derived from the trip.
func (t Trip) Log() []LogEntry {
	log, since := make([]LogEntry, 0, len(t.History)+8), ""
	for _, p := range t.History {
		log = append(log, LogEntry{Type: p.Event, At: p.At, Actor: actorOf(p.Who), From: p.From, To: p.To, Data: p.Data})
		since = p.At
	}
	if len(log) == 0 {
		log = append(log, LogEntry{Type: EventRequested, At: t.RequestedAt, Actor: ByRider(t.CustomerID), To: Pending,
			Data: LogData{ServiceTypeID: t.ServiceTypeID}})
	}
	add := func(by transition, at string, who LogActor) {
		from, unusual := t.Before[by.event]
		if !unusual {
			from = log[len(log)-1].To
		}
		if operator := t.Operators[by.event]; operator != "" {
			who = actorOf(operator)
		}
		log = append(log, LogEntry{Type: by.event, At: at, Actor: who, From: &from, To: by.to, Data: t.data(by.event)})
	}
	driver := ByDriver("")
	if t.DriverID != nil {
		driver.ID = *t.DriverID
	}
	for _, made := range t.driven() {
		if made.at != nil && *made.at > since {
			add(made.by, *made.at, driver)
		}
	}
	if t.Status == Cancelled && t.UpdatedAt > since { // a cancellation is a trip's last transition
		add(cancelling, t.UpdatedAt, ByRider(t.CustomerID))
	}
	for i := range log {
		log[i].ID = t.logID(log[i].Type, log[i].At)
	}
	return log
}

// data returns the details of the log entry that is derived from the trip for the event.
func (t Trip) data(event Event) LogData {
	switch event {
	case EventAccepted:
		return LogData{DriverID: t.DriverID}
	case EventCompleted:
		return LogData{FinalFare: t.FinalFare, ActualDistance: t.ActualDistance, ActualDuration: t.ActualDuration}
	case EventCancelled:
		return LogData{Reason: t.CancelReason}
	default:
		return LogData{}
	}
}

// logID returns the identifier of a log entry, derived from the trip, the event and the
// time. A trip has at most one entry of each type at a time.
func (t Trip) logID(event Event, at string) string {
	parsed, _ := timestamp.Parse(at) // the service wrote at, so it is valid
	return ids.Derived(ids.Log, parsed, t.ID+"#"+string(event))
}

// logShown is the maximum number of log entries that are shown, and of entries in a
// history.
const logShown = 100

// Log returns the last logShown entries of a trip's log, oldest first.
func Log(ctx context.Context, tenant table.Tenant, t Trip) ([]LogEntry, error) {
	stored, err := storedLog(ctx, tenant, t.ID)
	return t.log(stored), err
}

// storedLog reads the log entries that are stored as items, oldest first. Older builds
// stored each entry. This build stores only those in LatePartition.
//
// Access pattern: T#t#TRIP#id backward from the newest LOG#, eventually consistent.
func storedLog(ctx context.Context, tenant table.Tenant, id string) ([]LogEntry, error) {
	page, err := tenant.Query(ctx, tenant.Partition("TRIP", id),
		table.Query{Prefix: logPrefix, Backward: true, Limit: logShown})
	if err != nil {
		return nil, err
	}
	slices.Reverse(page.Items)
	return table.DecodeAll(page.Items, table.DecodeDoc[LogEntry])
}

// log merges the stored log entries with those that are derived from the trip. A
// stored entry takes precedence. The stored entries may be older or newer than
// the trip, because both are read in parallel.
func (t Trip) log(stored []LogEntry) []LogEntry {
	if int64(len(stored)) >= min(t.Version, logShown) {
		return stored
	}
	out := t.Log()
	for _, e := range stored {
		if i := slices.IndexFunc(out, func(d LogEntry) bool { return d.Type == e.Type }); i >= 0 {
			out[i] = e
		} else {
			out = append(out, e)
		}
	}
	return out[max(0, len(out)-logShown):]
}
