// Package due owns what must happen at a later time: an offer ends, a webhook is
// sent again, a scheduled ride begins. Each such task is a row (an item) of the
// table, so it outlives any process. A row is written in the transaction of the
// change that needs it. The tasks of one function are its book. Each minute the
// function sweeps its book: it carries out the tasks that are due. A delayed message
// of a queue may carry out a task earlier; then the sweep finds nothing left to do.
//
// A task is carried out at least once. So its handler must be idempotent: it reads
// what the task is about, and does nothing if that has moved on.
//
// The partition DUE#<book>#<hour>#<shard> has the rows of one hour, and the row's
// range key is <time>#<tenant>#<kind>#<id>. So a sweep reads only what is due, and
// after a long stop only a few partitions for each hour.
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

// Task is one thing that is due. Kind says what to do, and ID which resource of the
// tenant it concerns. Tenant, Kind and ID must not be empty; only ID may contain "#".
type Task struct {
	Tenant, Kind, ID string
	At               time.Time
	Attempts         int // failed attempts so far
}

// Book is the list of the tasks of one function.
type Book struct {
	DB   *table.DB
	Name string // name of the book, without "#"
	Now  func() time.Time
}

const (
	shards  = 4            // partitions among which the rows of an hour are divided
	hour    = "2006010215" // layout of the hour in a partition's name
	perPage = 500          // rows that one request reads
	atOnce  = 16           // how many partitions, and how many tasks of each, run concurrently
	// grace is how far a sweep looks back before the time of the previous sweep. A
	// transaction may end late, when a sweep has already passed the time of its row.
	grace = 2 * time.Minute
	// first is how far the first sweep of a book looks back.
	first = 24 * time.Hour
)

// mostTries is the number of failed attempts after which a task may be given up, and
// deadLife is how long such a task stays listed (Dead).
const (
	mostTries = 10
	deadLife  = 30 * 24 * time.Hour
)

// retries are the pauses after failed attempts. The last one repeats.
var retries = []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, time.Hour}

// handle returns the handle for the rows of all books.
func (b Book) handle() table.Platform { return b.DB.Platform("DUE") }

// key returns the key of a task's row. The shard follows from tenant, kind and id.
func (b Book) key(k Task) table.Key {
	what := strings.Join([]string{k.Tenant, k.Kind, k.ID}, "#")
	return table.Key{PK: b.partition(k.At, ids.Pick(what, shards)), SK: timestamp.Format(k.At) + "#" + what}
}

// partition returns the partition of the shard's rows that are due in the hour of at.
func (b Book) partition(at time.Time, shard int) string {
	return b.handle().Partition("DUE", b.Name, at.UTC().Format(hour), strconv.Itoa(shard))
}

// The declaration of the items that hold tasks (table.Kind).
var _ = table.Kind[any]{Type: "due", Personal: "nothing", Once: "written once, then carried out and deleted"}

// Add adds the row of a task to the transaction. A task whose time has passed gets the
// time now, so that the next sweep reads its row.
func (b Book) Add(tx *table.Tx, k Task) {
	if now := b.Now(); k.At.Before(now) {
		k.At = now
	}
	it := table.Item{Key: b.key(k), Type: "due",
		Attrs: map[string]any{"attempts": k.Attempts, "written": rand.Text()}}
	tx.Covers(b.handle().Handle).Put(it)
}

// Remove deletes the row of a task that is no longer needed, in the transaction. If
// nobody calls Remove, the sweep calls the task's handler, which has nothing to do.
func (b Book) Remove(tx *table.Tx, k Task) {
	tx.Covers(b.handle().Handle).Delete(b.key(k))
}

// ErrWaits is what a handler returns for a task that is still under way, or that cannot
// begin yet. The task is due again in a minute. This does not count as a failure.
var ErrWaits = errors.New("the task waits")

// Sweep carries out the tasks that are due. It deletes the row of a task after its
// handler has returned nil. The task of a handler that failed is due again after a
// pause. A task that panics, or fails because of an item's data (table.ErrData), is
// given up after mostTries: its row goes to the partition DUE#<book>#DEAD for deadLife.
// Sweep stops when ctx ends, and the next sweep finds the rows that are left. Two
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

// Begin stores that everything up to now is swept. It is for a table that was just
// created, in which the first sweep has nothing to look back for.
func (b Book) Begin(ctx context.Context) error {
	return b.remember(ctx, table.Item{Key: b.stateKey()}, b.Now())
}

// stateKey returns the key of the item with the time up to which all is swept.
func (b Book) stateKey() table.Key { return b.handle().Key("DUE", b.Name, "SWEPT") }

// The declaration of the items at stateKey (table.Kind).
var _ = table.Kind[any]{Type: "swept", Personal: "nothing"}

// remember stores that everything up to now is swept. state is the item at stateKey as it
// was read. If another sweep has changed the item since, remember changes nothing.
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

// sweep calls do for the tasks of one partition that are due: those that q selects.
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

// GiveUp stores a task as dead (Dead). It is for a task whose handler panicked, because
// another attempt would panic again.
func (b Book) GiveUp(ctx context.Context, k Task) error {
	tx := b.handle().Write()
	b.giveUp(ctx, tx, k)
	return tx.Commit(ctx)
}

// giveUp logs that the task was given up, and adds its row among the dead tasks (Dead) to
// the transaction.
func (b Book) giveUp(ctx context.Context, tx *table.Tx, k Task) {
	slog.ErrorContext(ctx, "a due task was given up", "book", b.Name, "tenant", k.Tenant, "kind", k.Kind, "id", k.ID)
	it := table.Item{Key: b.key(k), Type: "due", Attrs: map[string]any{"attempts": k.Attempts},
		Expires: b.Now().Add(deadLife)}
	it.PK = b.graveyard()
	tx.Put(it)
}

// taskOf decodes the row of a task that is due or dead. ok is false if the row's key is
// malformed.
func taskOf(it table.Item) (k Task, ok bool) {
	part := strings.SplitN(it.SK, "#", 4)
	if len(part) < 4 {
		return k, false
	}
	at, err := timestamp.Parse(part[0])
	return Task{Tenant: part[1], Kind: part[2], ID: part[3], At: at, Attempts: max(0, int(it.Int("attempts")))},
		err == nil
}

// carryOut calls do for the task k of the row it. Then, in one transaction, it deletes the
// row or, after a failure, replaces it by one that is due later. After too many failures
// it gives the task up. If the row was written again meanwhile, for example by the handler
// itself, carryOut leaves the row as it is.
func (b Book) carryOut(ctx context.Context, it table.Item, k Task, do func(context.Context, Task) error) error {
	failed := panics.Try(func() error { return do(ctx, k) })
	if ctx.Err() != nil {
		return ctx.Err() // the row stays for the next sweep
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
		return nil // another sweep has changed the row, or the next sweep carries the task out
	}
	return err
}
