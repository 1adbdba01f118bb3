// Package due owns what must happen at a later time: an offer ends, a webhook is
// sent again, a scheduled ride begins. Each such task is a row of the table, so it
// outlives any process. A row is written in the transaction of the change that
// needs it. A function on a schedule sweeps its book each minute. A delay in a
// queue may carry out a task earlier; the row then finds nothing to do.
//
// A task is carried out at least once. So its handler must be idempotent: it reads
// what the task is about, and does nothing if that has moved on.
//
// The partition DUE#<book>#<hour>#<shard> has the rows of one hour, and the row's
// range key is <time>#<tenant>#<kind>#<id>. So a sweep reads only what is due, and
// after a long stop only a few partitions for each hour. Each book has its own
// sweep, so a function carries out its own tasks only.
package due

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"svc/pkg/base/ids"
	"svc/pkg/base/panics"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
)

// Task is what is due: kind says what to do with which id of the tenant. None of
// the three may be empty, and only ID may contain "#".
type Task struct {
	Tenant, Kind, ID string
	At               time.Time
	Attempts         int // failed attempts so far
}

// Book is the tasks of one function.
type Book struct {
	DB   *table.DB
	Name string // without "#"
	Now  func() time.Time
}

const (
	shards  = 4 // of an hour
	hour    = "2006010215"
	perPage = 500 // rows that one request reads
	atOnce  = 16  // how many partitions, and how many tasks of each, run concurrently
	// grace is how far a sweep looks back behind what is swept. A transaction may
	// end after a sweep has passed the time of its row.
	grace = 2 * time.Minute
	// first is how far the first sweep of a book looks back.
	first = 24 * time.Hour
)

const (
	mostTries = 10
	deadLife  = 30 * 24 * time.Hour
)

// retries are the pauses after failed attempts. The last one repeats.
var retries = []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, time.Hour}

func (b Book) handle() table.Platform { return b.DB.Platform("DUE") }

func (b Book) key(k Task) table.Key {
	what := strings.Join([]string{k.Tenant, k.Kind, k.ID}, "#")
	return table.Key{PK: b.partition(k.At, ids.Pick(what, shards)), SK: timestamp.Format(k.At) + "#" + what}
}

func (b Book) partition(at time.Time, shard int) string {
	return b.handle().Partition("DUE", b.Name, at.UTC().Format(hour), strconv.Itoa(shard))
}

var _ = table.Kind[any]{Type: "due", Personal: "nothing", Once: "written once, then carried out and deleted"}

// Add adds the task to the transaction. A task that is due already counts as due
// now, so that the next sweep reads it.
func (b Book) Add(tx *table.Tx, k Task) {
	if now := b.Now(); k.At.Before(now) {
		k.At = now
	}
	it := table.Item{Key: b.key(k), Type: "due",
		Attrs: map[string]any{"attempts": k.Attempts, "written": rand.Text()}}
	tx.Covers(b.handle().Handle).Put(it)
}

// Remove deletes the task's row in the transaction. Without it the sweep carries
// the task out in vain.
func (b Book) Remove(tx *table.Tx, k Task) {
	tx.Covers(b.handle().Handle).Delete(b.key(k))
}

// ErrWaits is what a handler returns for a task that is under way elsewhere, or has to
// wait for others. The task is due again in a minute, and that is no failure.
var ErrWaits = errors.New("the task waits")

// Sweep carries out the tasks that are due. It deletes the row of a task after its
// handler has returned nil. The task of a handler that failed is due again after a
// pause. One that panics, or fails because of an item's data, is given up after
// mostTries: its row goes to the partition DUE#<book>#DEAD for deadLife.
// Sweep stops when the deadline of ctx is near, and the next one goes on there. Two
// sweeps at a time do no harm. After a long stop, one sweep carries out everything that
// was due meanwhile.
func (b Book) Sweep(ctx context.Context, do func(context.Context, Task) error) error {
	state, err := b.handle().Get(ctx, b.stateKey())
	if err != nil {
		return fmt.Errorf("due: %w", err)
	}
	now := b.Now()
	from := now.Add(-first)
	if swept, err := timestamp.Parse(state.Text("swept")); err == nil {
		from = swept.Add(-grace)
	}
	// A row's key is its time and a "#" with more text. "$" sorts after "#", so the rows of
	// now are included.
	q := table.Query{From: timestamp.Format(from), To: timestamp.Format(now) + "$", Limit: perPage, Consistent: true}
	group, each := panics.WithContext(ctx)
	group.SetLimit(atOnce)
	for at := from.Truncate(time.Hour); !at.After(now); at = at.Add(time.Hour) {
		for shard := range shards {
			group.Go(func() error { return b.sweep(each, b.partition(at, shard), q, do) })
		}
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("due: sweep of %s: %w", b.Name, err)
	}
	return b.remember(ctx, state, now)
}

// Begin says that nothing was due before now, which holds in a table that was just
// created. So the first sweep need not look back.
func (b Book) Begin(ctx context.Context) error {
	return b.remember(ctx, table.Item{Key: b.stateKey()}, b.Now())
}

func (b Book) stateKey() table.Key { return b.handle().Key("DUE", b.Name, "SWEPT") }

var _ = table.Kind[any]{Type: "swept", Personal: "nothing"}

// remember stores that everything up to now is swept. If another sweep has stored
// its own progress, that stays.
func (b Book) remember(ctx context.Context, state table.Item, now time.Time) error {
	tx := b.handle().Write()
	it := table.Item{Key: state.Key, Type: "swept", Version: max(state.Version, 1),
		Attrs: map[string]any{"swept": timestamp.Format(now)}, Preserve: state.Unknown()}
	if state.Found() {
		tx.Replace(it)
	} else {
		tx.Create(it)
	}
	err := tx.Commit(ctx)
	if table.Overtaken(err) {
		return nil
	}
	return err
}

// sweep carries out the tasks of one partition that are due.
func (b Book) sweep(ctx context.Context, partition string, q table.Query, do func(context.Context, Task) error) error {
	for items, err := range b.handle().Pages(ctx, partition, q) {
		if err != nil {
			return err
		}
		group := panics.NewGroup()
		group.SetLimit(atOnce)
		for _, it := range items {
			k, ok := taskOf(it)
			if !ok {
				slog.ErrorContext(ctx, "a due row cannot be read", "partition", it.PK, "item", it.SK)
				continue
			}
			group.Go(func() error { return b.carryOut(ctx, it, k, do) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// GiveUp keeps a task as dead that its handler would panic with again.
func (b Book) GiveUp(ctx context.Context, k Task) error {
	tx := b.handle().Write()
	b.giveUp(ctx, tx, k)
	return tx.Commit(ctx)
}

func (b Book) giveUp(ctx context.Context, tx *table.Tx, k Task) {
	slog.ErrorContext(ctx, "a due task was given up", "book", b.Name, "tenant", k.Tenant, "kind", k.Kind, "id", k.ID)
	it := table.Item{Key: b.key(k), Type: "due", Attrs: map[string]any{"attempts": k.Attempts},
		Expires: b.Now().Add(deadLife)}
	it.PK = b.graveyard()
	tx.Put(it)
}

func taskOf(it table.Item) (k Task, ok bool) {
	part := strings.SplitN(it.SK, "#", 4)
	if len(part) < 4 {
		return k, false
	}
	at, err := timestamp.Parse(part[0])
	return Task{Tenant: part[1], Kind: part[2], ID: part[3], At: at, Attempts: max(0, int(it.Int("attempts")))},
		err == nil
}

// carryOut runs the task. Then it deletes the row or, after a failure, replaces it
// by one that is due later, in one transaction. If the row was written anew
// meanwhile, for example by the handler itself, it stays.
func (b Book) carryOut(ctx context.Context, it table.Item, k Task, do func(context.Context, Task) error) error {
	failed := panics.Try(func() error { return do(ctx, k) })
	if ctx.Err() != nil {
		return ctx.Err() // the row stays
	}
	tx := b.handle().Write()
	tx.Delete(it.Key).If("written = ?", it.Text("written"))
	switch {
	case errors.Is(failed, ErrWaits):
		k.At = b.Now().Add(retries[0])
		b.Add(tx, k)
	case failed != nil:
		slog.ErrorContext(ctx, "a due task failed", "book", b.Name, "tenant", k.Tenant, "kind", k.Kind, "id", k.ID,
			"attempts", k.Attempts+1, "error", failed)
		pause := retries[min(k.Attempts, len(retries)-1)]
		k.At, k.Attempts = b.Now().Add(pause), k.Attempts+1
		if k.Attempts < mostTries || !panics.Panicked(failed) && !errors.Is(failed, table.ErrData) {
			b.Add(tx, k)
		} else {
			b.giveUp(ctx, tx, k)
		}
	}
	err := tx.Commit(ctx)
	if table.Overtaken(err) {
		return nil // another sweep has the row, or the next one
	}
	return err
}
