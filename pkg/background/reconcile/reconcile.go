// Package reconcile owns what the checks of stored data share: the difference
// that they report, and the loop that looks at changing data until it is stable.
// The package knows no item and no table.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Difference is a stored value that does not match the items from which it is
// derived.
type Difference struct {
	Tenant string `json:"tenant,omitempty"`
	What   string `json:"what"`
	Key    string `json:"key"`
	Want   string `json:"want"`
	Have   string `json:"have"`
}

// Run is one run of a check. With Correct, the check also corrects what it finds.
// Its methods may be called concurrently.
type Run struct {
	Correct bool
	// Found, if not nil, receives the differences, one at a time.
	Found func(Difference)
	// Compared, if not nil, receives how many things of a kind were compared.
	Compared func(kind string, n int)
	// Trips, if not nil, receives how many trips more were read.
	Trips func(n int)
	// Wait, if not nil, replaces the waits between two looks.
	Wait func(context.Context, time.Duration) error

	mu sync.Mutex
}

// Report passes a difference to Found.
func (r *Run) Report(what, key, want, have string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Found != nil {
		r.Found(Difference{What: what, Key: key, Want: want, Have: have})
	}
}

// Count passes a number of compared things to Compared.
func (r *Run) Count(kind string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Compared != nil && n > 0 {
		r.Compared(kind, n)
	}
}

// Read passes a number of trips to Trips.
func (r *Run) Read(trips int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Trips != nil {
		r.Trips(trips)
	}
}

// ErrMoving means that the data changed during every look.
var ErrMoving = errors.New("kept changing while the check read it; run the check again when less changes")

const (
	// Patience is the number of looks that let the stream functions process a
	// change. The waits before them take about three seconds together.
	Patience = 16
	looks    = 160 // the last waits take 0.3 s each: about 45 seconds
)

// Until calls look until it reports that it is done. It waits before each call
// but the first, up to 0.3 seconds. After too many looks it returns ErrMoving
// for the data that name describes.
func (r *Run) Until(ctx context.Context, name string, look func(n int) (done bool, err error)) error {
	for n := range looks {
		if err := r.pause(ctx, n); err != nil {
			return err
		}
		if done, err := look(n); done || err != nil {
			return err
		}
	}
	return fmt.Errorf("%s %w", name, ErrMoving)
}

func (r *Run) pause(ctx context.Context, look int) error {
	if look == 0 {
		return ctx.Err()
	}
	return r.Pause(ctx, min(time.Duration(look)*20*time.Millisecond, 300*time.Millisecond))
}

// Pause waits.
func (r *Run) Pause(ctx context.Context, d time.Duration) error {
	if r.Wait != nil {
		return r.Wait(ctx, d)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Stable counts how often in a row looks found the same.
type Stable struct {
	last  string
	times int
}

// Again returns how many looks in a row have found this, the present one
// included.
func (s *Stable) Again(found string) int {
	if found != s.last {
		s.last, s.times = found, 0
	}
	s.times++
	return s.times
}
