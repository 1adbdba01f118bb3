// Package reconcile owns what the checks of stored data share: the difference
// that they report, and the loop that looks at changing data until it is stable.
// A look is one read of the data and one comparison.
// The package knows no kind of item.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"svc/pkg/data/table"
)

// Difference is a stored value that does not match the items from which it is derived:
// What names the kind of the value, Want the value that follows from the items, and
// Have the stored one.
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
	// Trips, if not nil, receives how many more trips were read.
	Trips func(n int)
	// Wait, if not nil, replaces the waits between two looks.
	Wait func(context.Context, time.Duration) error

	mu sync.Mutex
}

// Report passes a difference to Found. For what, key, want and have see Difference.
func (r *Run) Report(what, key, want, have string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Found != nil {
		r.Found(Difference{What: what, Key: key, Want: want, Have: have})
	}
}

// Count says that the run has compared n more records of this kind. It calls r.Compared,
// which shows the progress, if that is set.
func (r *Run) Count(kind string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Compared != nil && n > 0 {
		r.Compared(kind, n)
	}
}

// Read tells r.Trips that so many more trips were read.
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
	looks    = 160 // the largest number of looks of Until, which take about 45 seconds
)

// Until calls look until look reports that it is done. It waits before each call but the
// first, up to 0.3 seconds. After too many looks it returns ErrMoving; name says in the
// error which data it was.
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

// pause waits before the look with this number, at most 0.3 seconds.
func (r *Run) pause(ctx context.Context, look int) error {
	if look == 0 {
		return ctx.Err()
	}
	return r.Pause(ctx, min(time.Duration(look)*20*time.Millisecond, 300*time.Millisecond))
}

// Pause waits for d, or calls Wait if it is set.
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

// Finding is what a look found wrong with one thing, such as a wallet. A look returns nil
// if the thing is right.
type Finding struct {
	wrong []Difference
	// Early makes Confirm look again, because the stream functions may still have
	// to process a change.
	Early bool
	// Off says by how much the thing is wrong. Looks with the same text confirm
	// each other.
	Off string
	// Steady, if not nil, reports whether the thing is as it was when the look began.
	// If it is not, Confirm ignores the finding.
	Steady func() (bool, error)
	// Certain, if not nil, is asked after enough looks confirmed each other. If it
	// returns false, Confirm looks again. If it returns true, later looks that find
	// the same Off need no confirmation and do not ask Steady: Off must be the same
	// whatever changes, and Correct must fail if the thing has changed.
	Certain func() (bool, error)
	// Correct corrects the thing, on the condition that it is still as it was. It
	// is nil if a person must decide.
	Correct func() error
	// Recheck makes Confirm look again after the correction.
	Recheck bool
}

// Wrong returns a finding of one difference. For what, key, want and have see Difference.
func Wrong(what, key, want, have string) *Finding { return new(Finding).Add(what, key, want, have) }

// Add adds a difference to f and returns f. For what, key, want and have see Difference.
func (f *Finding) Add(what, key, want, have string) *Finding {
	f.wrong = append(f.wrong, Difference{What: what, Key: key, Want: want, Have: have})
	return f
}

// Confirm returns a function for Until. It calls look until the thing is right, or until
// as many looks in a row as looks says found the same. Then it reports each difference,
// once. With Correct, it also corrects them. If another write overtakes the correction,
// it looks again.
func (r *Run) Confirm(looks int, look func(n int) (*Finding, error)) func(n int) (done bool, err error) {
	said, last, sure, times := map[[2]string]bool{}, "", "", 0
	return func(n int) (done bool, err error) {
		f, err := look(n)
		if err != nil || f == nil || f.Early {
			return err == nil && f == nil, err
		}
		if f.Certain == nil || f.Off == "" || f.Off != sure {
			if steady, err := asked(f.Steady); !steady {
				return false, err
			}
			if f.Off != last {
				last, times = f.Off, 0
			}
			if times++; times < looks {
				return false, nil
			}
			if certain, err := asked(f.Certain); !certain {
				return false, err
			}
			sure = f.Off
		}
		return r.settle(f, said)
	}
}

// asked calls the question and returns its answer; a nil question has the answer true.
func asked(question func() (bool, error)) (bool, error) {
	if question == nil {
		return true, nil
	}
	yes, err := question()
	return yes && err == nil, err
}

// settle reports the differences of f that are not in said and, with Correct, corrects
// them. It returns false if the caller must look again.
func (r *Run) settle(f *Finding, said map[[2]string]bool) (done bool, err error) {
	for _, d := range f.wrong {
		if key := [2]string{d.What, d.Key}; !said[key] {
			said[key] = true
			r.Report(d.What, d.Key, d.Want, d.Have)
		}
	}
	if !r.Correct || f.Correct == nil {
		return true, nil
	}
	err = f.Correct()
	if table.Overtaken(err) {
		return false, nil
	}
	return !f.Recheck, err
}

// Item is a check, with Confirm, of data that depends on one item. The first look gets
// the item Read, unless Read is nil; later looks read the item from the table. If the
// item does not exist, nothing is wrong.
type Item struct {
	Name   string // what errors call the data
	Handle table.Handle
	Key    table.Key
	Read   *table.Item
	Looks  int // how many looks in a row must find the same
}

// Check calls look until enough looks found the same, or nothing is wrong. It sets Steady
// of each finding.
func (i Item) Check(ctx context.Context, r *Run, look func(n int, it table.Item) (*Finding, error)) error {
	return r.Until(ctx, i.Name, r.Confirm(i.Looks, func(n int) (f *Finding, err error) {
		var it table.Item
		if n == 0 && i.Read != nil {
			it = *i.Read
		} else if it, err = i.Handle.Get(ctx, i.Key); err != nil || !it.Found() {
			return nil, err
		}
		if f, err = look(n, it); f != nil {
			f.Steady = func() (bool, error) {
				again, err := i.Handle.Get(ctx, i.Key)
				return again.Version == it.Version && again.Found() == it.Found(), err
			}
		}
		return f, err
	}))
}

// Each calls look until all things are right. look returns a finding for each thing,
// nil for one that is right. From look number patience on, Each reports what is wrong
// and, with Correct, corrects it.
func Each[T any](ctx context.Context, r *Run, name string, patience int, things []T,
	look func(n int, things []T) ([]*Finding, error)) error {
	said := map[[2]string]bool{}
	return r.Until(ctx, name, func(n int) (done bool, err error) {
		found, err := look(n, things)
		if err != nil {
			return false, err
		}
		var left []T
		for i, f := range found {
			done := f == nil
			if !done && n >= patience {
				if done, err = r.settle(f, said); err != nil {
					return false, err
				}
			}
			if !done {
				left = append(left, things[i])
			}
		}
		things = left
		return len(things) == 0, nil
	})
}
