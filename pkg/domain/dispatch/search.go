package dispatch

import (
	"time"

	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
)

// Search is the state of a trip's search for a driver.
type Search struct {
	Wave  int      `json:"wave"`            // waves so far
	Until string   `json:"until,omitempty"` // when the last wave ends
	Now   []string `json:"now,omitempty"`   // the drivers of the last wave
	Asked []string `json:"asked,omitempty"` // the drivers of all waves, who are not asked again
	Ended bool     `json:"ended,omitempty"` // no driver took the trip
}

// SearchKey returns the key of the state of a trip's search.
func SearchKey(t table.Tenant, tripID string) table.Key { return t.Key("TRIP", tripID, "DISPATCH") }

var _ = table.Kind[Search]{Type: "dispatch", Personal: "nothing"}

// Put writes the state on the condition that it has not changed since it was read.
// Else the transaction fails with otherwise.
func (s Search) Put(tx *table.Tx, was table.Item, otherwise error) {
	it := table.Item{Key: was.Key, Type: "dispatch", Version: max(was.Version, 1), Doc: s, Preserve: was.Unknown()}
	if was.Found() {
		tx.Replace(it).Else(otherwise)
	} else {
		tx.Create(it).Else(otherwise)
	}
}

// Over reports whether the last wave has ended.
func (s Search) Over(now time.Time) bool { return s.Until <= timestamp.Format(now) }
