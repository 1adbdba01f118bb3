package trip

import (
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
)

// Past is an entry of a trip's history, the stored part of its log. A trip gets a history
// with the first change that its other fields do not show, such as a hand-over. The
// history begins with the creation of the trip, unless older entries were dropped, and
// has no gaps. Entries after its last one are derived from the trip (Trip.Log).
type Past struct {
	Event Event   `json:"e"`
	At    string  `json:"t"`
	Who   string  `json:"a"` // id of the actor, as in LogActor.ID
	From  *Status `json:"f,omitempty"`
	To    Status  `json:"s"`
	Data  LogData `json:"d,omitzero"`
}

// maxWords is the maximum number of bytes of reasons and comments in a history. With it
// and logShown, the stored trip stays far below DynamoDB's limit of an item.
const maxWords = 64 << 10

// past makes a change that is stored in the trip's history: the status becomes to. The log
// so far becomes part of the history. If the history is too long, past drops the oldest
// entries.
func (t Trip) past(event Event, by LogActor, to Status, data LogData, now time.Time) Trip {
	from := t.Status
	log := append(t.Log(), LogEntry{Type: event, At: t.timeOf(now, true), Actor: by, From: &from, To: to, Data: data})
	words, first := 0, len(log)
	for first > 0 && len(log)-first < logShown && words <= maxWords {
		first--
		words += log[first].Data.words()
	}
	t.History = make([]Past, 0, len(log)-first)
	for _, e := range log[first:] {
		t.History = append(t.History, Past{e.Type, e.At, e.Actor.ID, e.From, e.To, e.Data})
	}
	t.Before, t.Operators = nil, nil
	t.Status, t.UpdatedAt = to, log[len(log)-1].At
	return t
}

// words returns the number of bytes in the texts that people wrote: reason and comment.
func (d LogData) words() int {
	n := 0
	for _, text := range []*string{d.Reason, d.Comment} {
		if text != nil {
			n += len(*text)
		}
	}
	return n
}

// system is both the kind and the identifier of the service itself as an actor.
const system = "system"

// ByDriver returns a driver as the actor of a change.
func ByDriver(id string) LogActor { return LogActor{string(authz.Driver), id} }

// ByRider returns a rider as the actor of a change.
func ByRider(id string) LogActor { return LogActor{string(authz.Rider), id} }

// ByOperator returns an operator as the actor of a change. id is that of a person, or
// svc: and the name of the person who runs the svc command.
func ByOperator(id string) LogActor { return LogActor{string(authz.Dashboard), id} }

// BySystem returns the service itself as the actor of a change.
func BySystem() LogActor { return LogActor{system, system} }

// actorOf returns the actor of a change from the identifier that the log has stored.
func actorOf(id string) LogActor {
	switch kind, _, _ := strings.Cut(id, "_"); {
	case id == system:
		return BySystem()
	case kind == ids.Driver:
		return ByDriver(id)
	case kind == ids.Customer:
		return ByRider(id)
	}
	return ByOperator(id)
}
