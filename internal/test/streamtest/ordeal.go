package streamtest

import (
	"context"
	"math/rand/v2"
	"testing"

	"svc/internal/test/testkit"
)

// Ordeal delivers the changes of a table to a function as a stream does at its
// worst: repeated, out of order, late, and to processes that are killed.
type Ordeal struct {
	Function func() Function // returns a new process of the function, one for each batch
	Rnd      *rand.Rand
	Wire     *testkit.Wire // the connection of the processes to the table
	Requests int           // a process is killed at one of its first Requests requests
	Crashes  int           // how many were killed
}

// Rounds calls change four times. After each call it delivers new records, half of
// them only after the next change. At the end it delivers all of them again, and
// returns them.
func (o *Ordeal) Rounds(t testing.TB, name string, change func()) (all []Record) {
	t.Helper()
	seen := 0
	for round := range 4 {
		change()
		all = Records(t, name)
		batches := Abuse(o.Rnd, all[seen:], 3, 15)
		if round%2 == 0 {
			batches = batches[:len(batches)/2]
		} else {
			seen = len(all)
		}
		o.Deliver(t, batches)
	}
	o.Deliver(t, Abuse(o.Rnd, all, 3, 40))
	return all
}

// Deliver delivers batches. The first two attempts of a batch may be killed.
func (o *Ordeal) Deliver(t testing.TB, batches [][]Record) {
	t.Helper()
	for _, batch := range batches {
		Deliver(t, o.Function(), batch, 4, func(attempt int) context.Context {
			if o.Wire.Revive() {
				o.Crashes++
			}
			if attempt < 2 && o.Rnd.IntN(2) == 0 {
				return o.Wire.CrashAt(t.Context(), o.Rnd.IntN(o.Requests), o.Rnd.IntN(2) == 0)
			}
			return t.Context()
		})
		o.Wire.Revive()
	}
}
