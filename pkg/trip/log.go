package trip

import (
	"encoding/json"

	"svc/pkg/authz"
)

// Event says what an entry of a trip's log tells.
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

// LogActor is who did what an entry tells.
type LogActor struct {
	Type string `json:"type" enum:"dashboard,rider,driver" doc:"The audience of the actor's token."`
	ID   string `json:"id"`
}

// LogData is what came with a change; only what did is there.
type LogData struct {
	DriverID       *string      `json:"driverId,omitempty"`
	ServiceTypeID  *string      `json:"serviceTypeId,omitempty"`
	Reason         *string      `json:"reason,omitempty"`
	FinalFare      *json.Number `json:"finalFare,omitempty"`
	ActualDistance *json.Number `json:"actualDistance,omitempty"`
	ActualDuration *json.Number `json:"actualDuration,omitempty"`
}

// Requested is the entry of a trip's creation by its rider.
func Requested(t Trip, id string) LogEntry {
	return LogEntry{ID: id, Type: EventRequested, At: t.RequestedAt, Actor: LogActor{string(authz.Rider), t.CustomerID},
		To: t.Status, Data: LogData{ServiceTypeID: t.ServiceTypeID}}
}
