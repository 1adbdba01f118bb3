package dispatch

import (
	"time"

	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
)

// Search is the state of the search for a trip's driver. The search works in waves: it
// offers the trip to some drivers at once, and to others when none of them has accepted.
type Search struct {
	Wave  int      `json:"wave"`            // waves so far
	Until string   `json:"until,omitempty"` // when the last wave ends
	Now   []string `json:"now,omitempty"`   // the drivers of the last wave
	Asked []string `json:"asked,omitempty"` // the drivers of all waves, who are not asked again
	Ended bool     `json:"ended,omitempty"` // no driver took the trip
}

// SearchKey returns the key of the state of a trip's search.
func SearchKey(t table.Tenant, tripID string) table.Key { return t.Key("TRIP", tripID, "DISPATCH") }

// The declaration of the items at SearchKey (table.Kind).
var _ = table.Kind[Search]{Type: "dispatch", Personal: "nothing"}

// Put adds the write of the state to the transaction. was is the item at SearchKey as it
// was read. If it has changed since, the transaction fails with the error otherwise.
func (s Search) Put(tx *table.Tx, was table.Item, otherwise error) {
	it := table.Item{Key: was.Key, Type: "dispatch", Version: max(was.Version, 1), Doc: s, Preserve: was.Unknown()}
	if was.Found() {
		tx.Replace(it).Else(otherwise)
	} else {
		tx.Create(it).Else(otherwise)
	}
}

// Over reports whether the last wave of the search has ended at the time now.
func (s Search) Over(now time.Time) bool { return s.Until <= timestamp.Format(now) }
