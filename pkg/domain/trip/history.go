package trip

import (
	"strings"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
)

// Past is an entry of the stored part of a trip's log. A trip has such a part as
// soon as a change was made that its other fields do not show, such as a hand-over.
// The part is complete: it begins with the creation of the trip, unless older
// entries were dropped. What happened after its last entry is derived.
type Past struct {
	Event Event   `json:"e"`
	At    string  `json:"t"`
	Who   string  `json:"a"` // LogActor.ID
	From  *Status `json:"f,omitempty"`
	To    Status  `json:"s"`
	Data  LogData `json:"d,omitzero"`
}

// maxWords is the maximum number of bytes in the reasons and comments of a history.
// With logShown entries the stored trip stays far below the largest item.
const maxWords = 64 << 10

// past makes a change that only the history shows. The history then has the whole
// log, of which the oldest entries are dropped if it is too long.
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

// words returns how many bytes of the entry people wrote.
func (d LogData) words() int {
	n := 0
	for _, text := range []*string{d.Reason, d.Comment} {
		if text != nil {
			n += len(*text)
		}
	}
	return n
}

// system is the kind of the service as an actor, and its identifier.
const system = "system"

// ByDriver names a driver as the actor.
func ByDriver(id string) LogActor { return LogActor{string(authz.Driver), id} }

// ByRider names a rider as the actor.
func ByRider(id string) LogActor { return LogActor{string(authz.Rider), id} }

// ByOperator is the operator with the identifier: that of a person, or svc: and the
// name of the person who runs the svc command.
func ByOperator(id string) LogActor { return LogActor{string(authz.Dashboard), id} }

// BySystem is the service itself.
func BySystem() LogActor { return LogActor{system, system} }

// actorOf returns the actor with the identifier of a log.
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
