package trip

import (
	"context"
	"encoding/json"
	"slices"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
)

// Event is the type of an entry in a trip's log.
type Event string

// The events: the creation, and one for each transition.
const (
	EventRequested Event = "REQUESTED"
	EventAccepted  Event = "ACCEPTED"
	EventArrived   Event = "ARRIVED"
	EventStarted   Event = "STARTED"
	EventCompleted Event = "COMPLETED"
	EventCancelled Event = "CANCELLED"
)

// LogEntry is one entry of a trip's log. Trip.entries derives the entries from
// the trip, which contains the time and the author of each change. Therefore an
// entry costs no write, and trip and log cannot differ. The entry of a late
// completion is an exception: it is also stored (LatePartition).
type LogEntry struct {
	ID    string   `json:"id" doc:"Identifier of the entry."`
	Type  Event    `json:"type" enum:"REQUESTED,ACCEPTED,ARRIVED,STARTED,COMPLETED,CANCELLED" doc:"What happened."`
	At    string   `json:"at" format:"date-time" doc:"When it happened."`
	Actor LogActor `json:"actor" doc:"Who did it."`
	From  *Status  `json:"from" doc:"The status before; null on creation."`
	To    Status   `json:"to" doc:"The status after."`
	Data  LogData  `json:"data" doc:"Details of the change."`
}

// LogActor is who made the change that an entry records.
type LogActor struct {
	Type string `json:"type" enum:"dashboard,rider,driver" doc:"The kind of actor. dashboard stands for a person who acted in place of the rider or driver."`
	ID   string `json:"id" doc:"Identifier of the rider or driver. For dashboard it is svc: and the name of the person."`
}

// LogData holds the details of a change. A detail that the change does not have
// is absent.
type LogData struct {
	DriverID       *string      `json:"driverId,omitempty" doc:"The driver who accepted."`
	ServiceTypeID  *string      `json:"serviceTypeId,omitempty" doc:"The service type of the request."`
	Reason         *string      `json:"reason,omitempty" doc:"Why the trip was cancelled."`
	FinalFare      *json.Number `json:"finalFare,omitempty" doc:"The final fare, currency units."`
	ActualDistance *json.Number `json:"actualDistance,omitempty" doc:"Kilometres, as measured."`
	ActualDuration *json.Number `json:"actualDuration,omitempty" doc:"Seconds, as measured."`
}

// entries derives the log from the trip, oldest entry first.
func (t Trip) entries() []LogEntry {
	rider, driver := LogActor{string(authz.Rider), t.CustomerID}, LogActor{Type: string(authz.Driver)}
	if t.DriverID != nil {
		driver.ID = *t.DriverID
	}
	log := []LogEntry{{Type: EventRequested, At: t.RequestedAt, Actor: rider, To: Pending,
		Data: LogData{ServiceTypeID: t.ServiceTypeID}}}
	add := func(by transition, at string, who LogActor) {
		from, unusual := t.Before[by.event]
		if !unusual {
			from = log[len(log)-1].To
		}
		log = append(log, LogEntry{Type: by.event, At: at, Actor: who, From: &from, To: by.to, Data: t.data(by.event)})
	}
	for _, made := range t.driven() {
		if made.at != nil {
			add(made.by, *made.at, driver)
		}
	}
	if t.Status == Cancelled { // the last change of a trip
		add(cancelling, t.UpdatedAt, rider)
	}
	for i := range log {
		e := &log[i]
		if who := t.Operators[e.Type]; who != "" {
			e.Actor = LogActor{string(authz.Dashboard), who}
		}
		e.ID = t.logID(e.Type, e.At)
	}
	return log
}

// Log returns the whole log of the trip, oldest entry first.
func (t Trip) Log() []LogEntry { return t.entries() }

// data returns the details of a change of the trip.
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

// logID returns the identifier of the trip's log entry. A trip has at most one
// entry of each type.
func (t Trip) logID(event Event, at string) string {
	parsed, _ := timestamp.Parse(at) // our own format
	return ids.Derived(ids.Log, parsed, t.ID+"#"+string(event))
}

// logShown is the maximum number of log entries that are shown.
const logShown = 100

// Log returns the last logShown entries of a trip's log, oldest first.
func Log(ctx context.Context, tenant table.Tenant, t Trip) ([]LogEntry, error) {
	stored, err := storedLog(ctx, tenant, t.ID)
	return t.log(stored), err
}

// storedLog reads the entries that are stored, oldest first. Older builds stored
// each entry. This build stores only that of a late completion (LatePartition).
//
// Access pattern: T#t#TRIP#id backward from the newest LOG#, eventually
// consistent.
func storedLog(ctx context.Context, tenant table.Tenant, id string) ([]LogEntry, error) {
	page, err := tenant.Query(ctx, tenant.Partition("TRIP", id),
		table.Query{Prefix: logPrefix, Backward: true, Limit: logShown})
	if err != nil {
		return nil, err
	}
	slices.Reverse(page.Items)
	return table.DecodeAll(page.Items, table.DecodeDoc[LogEntry])
}

// log merges the stored entries with those that are derived from the trip. A
// stored entry takes precedence. The stored entries may be older or newer than
// the trip, because both are read at the same time.
func (t Trip) log(stored []LogEntry) []LogEntry {
	if int64(len(stored)) >= min(t.Version, logShown) {
		return stored
	}
	out := t.entries()
	for _, e := range stored {
		if i := slices.IndexFunc(out, func(d LogEntry) bool { return d.Type == e.Type }); i >= 0 {
			out[i] = e
		} else {
			out = append(out, e)
		}
	}
	return out[max(0, len(out)-logShown):]
}
