package feed

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"svc/pkg/access/authz"
	"svc/pkg/base/ids"
	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/webhook"
)

// Types are the item types that the feed reports.
var Types = []string{"trip", "receipt", "driver", "customer", "order", "posting", "settings", "service", "zone",
	"branding", "webhooks", "redelivery", "withdrawal", "export", "import", "post", "business", "menuitem", "document",
	"membership", "tenant", "privacy"}

// Function appends events to the tenants' feeds from the table's stream.
type Function struct {
	DB  *table.DB
	Now func() time.Time
	// Send puts messages into the queue of the sender of webhooks; nil sends none.
	Send func(ctx context.Context, delay time.Duration, messages ...webhook.Message) error
}

// itemsPerStep is the maximum number of a tenant's items in one step. With a
// receipt for each, they fit into one batch read.
const itemsPerStep = 40

// Process processes a batch of the table's stream and returns the changes that failed.
func (f Function) Process(ctx context.Context, batch events.DynamoDBEvent) []stream.Failure {
	var order []string
	tenants := map[string][]stream.Change{}
	for _, c := range stream.Changes(batch) {
		t, ok := f.tenantOf(c)
		if !ok || !slices.Contains(Types, c.Type()) {
			continue
		}
		if tenants[t.ID()] == nil {
			order = append(order, t.ID())
		}
		tenants[t.ID()] = append(tenants[t.ID()], c)
	}
	// One tenant's items run one after the other, because they share the feed.
	failed := make([][]stream.Failure, len(order))
	var wait sync.WaitGroup
	for i, id := range order {
		wait.Go(func() {
			groups := slices.Collect(slices.Chunk(tenants[id], itemsPerStep))
			failed[i] = stream.Each(ctx, groups, 1, f.step)
		})
	}
	wait.Wait()
	return slices.Concat(failed...)
}

// Change appends the events of one change of a tenant's item.
func (f Function) Change(ctx context.Context, c stream.Change) error {
	return f.step(ctx, []stream.Change{c})
}

// tenantOf returns the tenant to whose feed a change belongs. A post on the roadmap
// belongs to the tenant of its author.
func (f Function) tenantOf(c stream.Change) (table.Tenant, bool) {
	if c.Type() == "post" {
		id := cmp.Or(c.New.Text("authorTenant"), c.Old.Text("authorTenant"))
		return f.DB.Tenant(id), id != ""
	}
	return stream.TenantOf(f.DB, c.Key)
}

// step appends the events of the changes of one tenant, and passes them to the
// sender of webhooks.
func (f Function) step(ctx context.Context, changes []stream.Change) error {
	t, _ := f.tenantOf(changes[0])
	out := outbox{shards: map[int]bool{}}
	err := table.Retry(ctx, func(ctx context.Context) error {
		for {
			left, err := f.round(ctx, t, changes, &out)
			if err != nil || !left {
				return err
			}
		}
	})
	if err == nil {
		err = f.dispatch(ctx, t, out, changes)
	}
	if err != nil {
		return fmt.Errorf("feed: %w", err)
	}
	return nil
}

// target is an item whose changes the feed reports, with what the records of the stream
// say about it.
type target struct {
	key     table.Key
	emitted table.Key
	old     table.Item // before the first record; not Found if the record created the item
	last    table.Item // the newest version in the records
	settled bool       // the trip has a receipt
}

// targetsOf returns the targets of the changes. The target of a receipt is its trip.
func targetsOf(t table.Tenant, changes []stream.Change) []target {
	var out []target
	for _, c := range changes {
		one := target{key: c.Key, old: c.Old, last: c.Last}
		if c.Type() == "receipt" {
			one = target{key: table.Key{PK: c.Key.PK, SK: "TRIP"}, settled: true}
		}
		one.emitted = event.EmittedKey(t, one.key)
		if i := slices.IndexFunc(out, func(t target) bool { return t.key == one.key }); i >= 0 {
			out[i].settled = out[i].settled || one.settled
			if one.last.Key == one.key {
				out[i].old, out[i].last = one.old, one.last
			}
			continue
		}
		out = append(out, one)
	}
	return out
}

// round appends events of the changed items that the feed lacks, at most
// event.MaxAppended to each shard. It adds these shards to sends. left reports whether
// more events must be appended.
func (f Function) round(ctx context.Context, t table.Tenant, changes []stream.Change, sends *outbox) (left bool,
	err error) {
	targets, now := targetsOf(t, changes), f.Now()
	keys := make([]table.Key, len(targets), len(targets)+1)
	for i, one := range targets {
		keys[i] = one.emitted
	}
	keys = append(keys, authz.FlagsKey(t, rand.IntN(authz.Copies))) //nolint:gosec // any copy will do
	stored, err := t.Batch(ctx, keys...)
	if err != nil {
		return false, err
	}
	flags := stored[len(targets)]
	if tenant.Gone(flags) {
		return false, nil
	}
	sends.readShards = max(1, int(flags.Int("readShards")))
	keys = keys[:0]
	for _, one := range targets {
		keys = append(keys, one.key)
		if one.settled {
			keys = append(keys, table.Key{PK: one.key.PK, SK: "RECEIPT"})
		}
	}
	items, err := table.Join(t.Handle, f.DB.Platform("POST").Handle).Batch(ctx, keys...)
	if err != nil {
		return false, err
	}
	shards := map[int][]event.Piece{}
	for i, one := range targets {
		s := subject{item: items[0], now: now}
		if items = items[1:]; one.settled {
			s.receipt, items = items[0], items[1:]
		}
		if !s.item.Found() && one.last.Raw() != "" {
			s.item, s.gone = one.last, true // the feed may lack what came before the deletion
		}
		p, err := s.piece(stored[i], one.old)
		if err != nil {
			return false, fmt.Errorf("%s %s: %w", one.key.PK, one.key.SK, err)
		}
		for n := range p.Events {
			p.Events[n].Livemode = !tenant.IsSandbox(flags)
		}
		shard := p.Next.Shard
		if !stored[i].Found() {
			shard = ids.Pick(one.emitted.PK+one.emitted.SK, int(flags.Int("writeShards")))
		}
		if sends.shards[shard] = true; len(p.Events) > 0 {
			shards[shard] = append(shards[shard], p)
		}
	}
	return f.append(ctx, t, shards, now)
}

// piece returns the events to append for the subject. stored is what the feed has of
// the item. If the feed has nothing of it, piece compares with old, the item before the
// change: the item may be older than the feed. The items of a dead letter may have no
// document (erasure.Letter).
func (s subject) piece(stored, old table.Item) (event.Piece, error) {
	out := event.Piece{Stored: stored}
	derive := derivers[s.item.Type]
	if !s.item.Found() || derive == nil || s.gone && !stored.Found() && deletions[s.item.Type] == nil {
		return out, nil
	}
	if stored.Found() {
		if err := stored.Decode(&s.was); err != nil {
			return out, err
		}
	} else if old.Raw() != "" {
		before, err := derive(subject{item: old, now: s.now})
		if err != nil {
			return out, stream.BadData(err)
		}
		s.was.Status, s.was.Sum = before.next.Status, before.next.Sum
	}
	if s.was.Gone && !s.gone { // the item was made anew under the same key
		s.was = event.Emitted{Events: s.was.Events, Shard: s.was.Shard}
	}
	r, err := derive(s)
	if err == nil && s.gone && !s.was.Gone && deletions[s.item.Type] != nil && len(r.events) < event.MaxAppended {
		deletions[s.item.Type](s, &r)
		r.next.Gone = true
	}
	out.Next, out.Events = r.next, r.events
	return out, stream.BadData(err)
}

// append appends the events of the pieces to their shards, for each shard as many as fit
// into one transaction. left reports whether there may be more to append.
func (f Function) append(ctx context.Context, t table.Tenant, shards map[int][]event.Piece, now time.Time) (left bool,
	err error) {
	if len(shards) == 0 {
		return false, nil
	}
	var numbers []int
	for shard := range shards {
		numbers = append(numbers, shard)
	}
	slices.Sort(numbers)
	heads, err := event.Heads(ctx, t, numbers)
	if err != nil {
		return false, err
	}
	for i, shard := range numbers {
		pieces, n, size := shards[shard], 0, 0
		for n < len(pieces) && (n == 0 || size+len(pieces[n].Events) <= event.MaxAppended) {
			size += len(pieces[n].Events)
			n++
		}
		if err := event.Append(ctx, t, shard, heads[i], pieces[:n], now); err != nil {
			return false, err
		}
		left = left || n < len(pieces) || size >= event.MaxAppended
	}
	return left, nil
}
