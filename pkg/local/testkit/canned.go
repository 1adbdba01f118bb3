package testkit

import "svc/pkg/local/tape"

// Record records the table's responses from now on.
func (w *Wire) Record() {
	w.set(func() {
		w.canned = &tape.Tape{Last: true}
		w.canned.Record()
	})
}

// Replay returns recorded responses instead of sending requests to the table, until
// Restore.
func (w *Wire) Replay() { w.canned.Replay() }
