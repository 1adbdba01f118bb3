package trip

import (
	"encoding/json"

	"svc/pkg/access/authz"
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

// LogEntry is one entry of a trip's log, written in the transaction that changes
// the trip.
type LogEntry struct {
	ID    string   `json:"id" doc:"Identifier of the entry."`
	Type  Event    `json:"type" enum:"REQUESTED,ACCEPTED,ARRIVED,STARTED,COMPLETED,CANCELLED" doc:"What happened."`
	At    string   `json:"at" format:"date-time" doc:"When it happened."`
	Actor LogActor `json:"actor" doc:"Who did it."`
	From  *Status  `json:"from" doc:"The status before; null on creation."`
	To    Status   `json:"to" doc:"The status after."`
	Data  LogData  `json:"data" doc:"What came with it."`
}

// LogActor is who made the change that an entry records.
type LogActor struct {
	Type string `json:"type" enum:"dashboard,rider,driver" doc:"The audience of the actor's token."`
	ID   string `json:"id" doc:"Identifier of the actor."`
}

// LogData holds the details of a change. Only the details that it had are
// present.
type LogData struct {
	DriverID       *string      `json:"driverId,omitempty" doc:"The driver who accepted."`
	ServiceTypeID  *string      `json:"serviceTypeId,omitempty" doc:"The service type of the request."`
	Reason         *string      `json:"reason,omitempty" doc:"Why the trip was cancelled."`
	FinalFare      *json.Number `json:"finalFare,omitempty" doc:"Currency units."`
	ActualDistance *json.Number `json:"actualDistance,omitempty" doc:"Kilometres, as measured."`
	ActualDuration *json.Number `json:"actualDuration,omitempty" doc:"Seconds, as measured."`
}

// Requested returns the log entry of a trip's creation by its rider.
func Requested(t Trip, id string) LogEntry {
	return LogEntry{ID: id, Type: EventRequested, At: t.RequestedAt, Actor: LogActor{string(authz.Rider), t.CustomerID},
		To: t.Status, Data: LogData{ServiceTypeID: t.ServiceTypeID}}
}
