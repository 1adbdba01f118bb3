package due_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/pkg/data/due"
	"svc/pkg/data/table"
	"svc/pkg/local/testkit"
)

// desk is a book with a clock of its own, and what was carried out.
type desk struct {
	due.Book
	mu    sync.Mutex
	clock time.Time
	did   []string
	fail  func(due.Task) error
}

func newDesk(db *table.DB, name string) *desk {
	d := &desk{clock: time.Date(2026, 3, 1, 12, 0, 30, 0, time.UTC)}
	d.Book = due.Book{DB: db, Name: name, Now: func() time.Time { return d.clock }}
	return d
}

func (d *desk) add(t *testing.T, k due.Task) {
	t.Helper()
	tx := d.DB.Tenant(k.Tenant).Write()
	d.Add(tx, k)
	testkit.Must(t, tx.Commit(t.Context()))
}

func (d *desk) do(_ context.Context, k due.Task) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.did = append(d.did, fmt.Sprintf("%s %s %s %d", k.Tenant, k.Kind, k.ID, k.Attempts))
	if d.fail != nil {
		return d.fail(k)
	}
	return nil
}

// sweep sweeps after a while and checks what was carried out.
func (d *desk) sweep(t *testing.T, after time.Duration, want ...string) {
	t.Helper()
	d.clock, d.did = d.clock.Add(after), nil
	testkit.Must(t, d.Sweep(t.Context(), d.do))
	slices.Sort(d.did)
	if diff := cmp.Diff(want, d.did); diff != "" {
		t.Errorf("after %v: %s", after, diff)
	}
}

func TestSweep(t *testing.T) {
	db := testkit.Table(t)
	d, other := newDesk(db, "dispatch"), newDesk(db, "webhooks")
	at := func(after time.Duration) time.Time { return d.clock.Add(after) }
	d.add(t, due.Task{Tenant: "t1", Kind: "wave", ID: "trp_1", At: at(15 * time.Second)})
	d.add(t, due.Task{Tenant: "t2", Kind: "wave", ID: "trp_1#2", At: at(90 * time.Second)})
	d.add(t, due.Task{Tenant: "t2", Kind: "wake", ID: "trp_3", At: at(-time.Hour)})
	other.add(t, due.Task{Tenant: "t1", Kind: "send", ID: "x", At: at(0)})
	d.sweep(t, 0, "t2 wake trp_3 0")
	d.sweep(t, 10*time.Second)
	d.sweep(t, 10*time.Second, "t1 wave trp_1 0")
	d.sweep(t, time.Second)
	d.sweep(t, 3*24*time.Hour, "t2 wave trp_1#2 0") // nothing ran for three days
	other.sweep(t, time.Minute, "t1 send x 0")
	removed := due.Task{Tenant: "t1", Kind: "wave", ID: "trp_4", At: d.clock.Add(time.Minute)}
	d.add(t, removed)
	tx := db.Tenant("t1").Write()
	d.Remove(tx, removed)
	testkit.Must(t, tx.Commit(t.Context()))
	d.sweep(t, time.Hour)
}

// A task that fails is carried out again, later and later, and does not stop the
// others. A sweep that is cut short leaves its tasks to the next one.
func TestFailures(t *testing.T) {
	d := newDesk(testkit.Table(t), "dispatch")
	for _, id := range []string{"bad", "good", "worse"} {
		d.add(t, due.Task{Tenant: "t", Kind: "k", ID: id, At: d.clock})
	}
	d.fail = func(k due.Task) error {
		switch k.ID {
		case "bad":
			return errors.New("no")
		case "worse":
			panic("no")
		}
		return nil
	}
	d.sweep(t, 0, "t k bad 0", "t k good 0", "t k worse 0")
	d.sweep(t, 30*time.Second)
	d.sweep(t, time.Minute, "t k bad 1", "t k worse 1")
	d.fail = nil
	d.sweep(t, 6*time.Minute, "t k bad 2", "t k worse 2")
	d.add(t, due.Task{Tenant: "t", Kind: "k", ID: "cut", At: d.clock})
	ctx, cancel := context.WithCancel(t.Context())
	if err := d.Sweep(ctx, func(context.Context, due.Task) error { cancel(); return ctx.Err() }); err == nil {
		t.Error("a sweep that was cut short returned no error")
	}
	d.sweep(t, time.Second, "t k cut 0")
}

// A handler may add the same task again, also in the minute of the row that is
// carried out.
func TestAgain(t *testing.T) {
	d := newDesk(testkit.Table(t), "dispatch")
	times := 3
	d.fail = func(k due.Task) error {
		if times--; times > 0 {
			d.add(t, due.Task{Tenant: k.Tenant, Kind: k.Kind, ID: k.ID, At: d.clock})
		}
		return nil
	}
	d.add(t, due.Task{Tenant: "t", Kind: "k", ID: "x", At: d.clock})
	for range 3 {
		d.sweep(t, 0, "t k x 0")
	}
	d.sweep(t, time.Minute)
}

// Sweeps at the same time carry out each task at least once and lose none that is
// added meanwhile.
func TestSweepsAtOnce(t *testing.T) {
	d := newDesk(testkit.Table(t), "dispatch")
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			d.add(t, due.Task{Tenant: "t", Kind: "k", ID: fmt.Sprint(i), At: d.clock.Add(-time.Duration(i) * time.Second)})
		})
		if i%10 == 0 {
			wg.Go(func() { testkit.Must(t, d.Sweep(t.Context(), d.do)) })
		}
	}
	wg.Wait()
	testkit.Must(t, d.Sweep(t.Context(), d.do))
	slices.Sort(d.did)
	if got := len(slices.Compact(d.did)); got != 40 {
		t.Errorf("%d of 40 tasks were carried out", got)
	}
}
