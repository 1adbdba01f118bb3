package due_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"svc/internal/test/testkit"
	"svc/pkg/data/due"
	"svc/pkg/data/table"
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

// The first sweep of a book that was begun does not look back, and misses nothing.
func TestBegin(t *testing.T) {
	d := newDesk(testkit.Table(t), "dispatch")
	testkit.Must(t, d.Begin(t.Context()))
	testkit.Must(t, d.Begin(t.Context())) // another start at the same time
	d.add(t, due.Task{Tenant: "t1", Kind: "wave", ID: "trp_1", At: d.clock.Add(-time.Hour)})
	d.add(t, due.Task{Tenant: "t1", Kind: "wave", ID: "trp_2", At: d.clock.Add(time.Minute)})
	ctx, meter := table.Metered(t.Context())
	testkit.Must(t, d.Sweep(ctx, d.do))
	if diff := cmp.Diff([]string{"t1 wave trp_1 0"}, d.did); diff != "" {
		t.Error(diff)
	}
	if n := meter.Usage().Requests; n > 12 { // four for each of two hours, what is swept, and the task
		t.Errorf("the sweep made %d requests, want a few", n)
	}
	d.sweep(t, time.Minute, "t1 wave trp_2 0")
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

// TestPanicIsGivenUp: a task that panics, and one whose item's data is wrong, are tried
// ten times and then kept as dead. One whose handler fails otherwise is tried on.
func TestPanicIsGivenUp(t *testing.T) {
	d := newDesk(testkit.Table(t), "dispatch")
	tries := map[string]int{}
	for _, id := range []string{"panics", "data", "fails"} {
		d.add(t, due.Task{Tenant: "t", Kind: "k", ID: id, At: d.clock})
	}
	d.fail = func(k due.Task) error {
		switch tries[k.ID]++; k.ID {
		case "panics":
			panic("no")
		case "data":
			return fmt.Errorf("trip: %w", table.ErrData)
		}
		return errors.New("no")
	}
	for range 15 {
		d.clock = d.clock.Add(2 * time.Hour)
		testkit.Must(t, d.Sweep(t.Context(), d.do))
	}
	if want := map[string]int{"panics": 10, "data": 10, "fails": 15}; !maps.Equal(tries, want) {
		t.Errorf("tried %v, want %v", tries, want)
	}
	p := d.DB.Platform("DUE")
	page, err := p.Query(t.Context(), p.Partition("DUE", "dispatch", "DEAD"), table.Query{Limit: 10})
	testkit.Must(t, err)
	if len(page.Items) != 2 || page.Items[0].Expires.Before(d.clock.AddDate(0, 0, 10)) {
		t.Errorf("dead: %+v", page.Items)
	}
	d.revivesAndDrops(t)
}

// revivesAndDrops: of the dead tasks, one is tried again from the beginning, and the
// other is dropped, each once.
func (d *desk) revivesAndDrops(t *testing.T) {
	t.Helper()
	dead, err := d.Dead(t.Context(), 10)
	if err != nil || len(dead) != 2 || dead[0].Attempts != 10 || dead[0].Tenant != "t" || dead[0].Kind != "k" {
		t.Fatalf("dead: %+v %v", dead, err)
	}
	testkit.Must(t, d.Revive(t.Context(), dead[0]))
	if err := d.Revive(t.Context(), dead[0]); !errors.Is(err, table.ErrCondition) {
		t.Errorf("a second time: %v", err)
	}
	tx := d.DB.Tenant("t").Write()
	d.Drop(tx, dead[1])
	testkit.Must(t, tx.Commit(t.Context()))
	if left, err := d.Dead(t.Context(), 10); err != nil || len(left) != 0 {
		t.Errorf("left: %+v %v", left, err)
	}
	d.fail = nil
	d.sweep(t, 0, "t k "+dead[0].ID+" 0")
}
