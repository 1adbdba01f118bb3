package event

import (
	"context"
	"errors"
	"strconv"
	"time"

	"svc/pkg/data/audit"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
)

// Piece has the new events of one resource.
type Piece struct {
	Stored table.Item // Emitted as it was read
	Next   Emitted
	Events []Event
}

// MaxAppended is the maximum number of events of one Append.
const MaxAppended = 40

// Heads reads the heads of shards. The result has the order of the shards.
func Heads(ctx context.Context, t table.Tenant, shards []int) ([]table.Item, error) {
	return t.Batch(ctx, HeadKeys(t, shards)...)
}

// HeadKeys returns the keys of the shards' heads.
func HeadKeys(t table.Tenant, shards []int) []table.Key {
	keys := make([]table.Key, len(shards))
	for i, shard := range shards {
		keys[i] = headKey(t, shard)
	}
	return keys
}

// Last returns the last number that a head holds, 0 if the shard is empty.
func Last(head table.Item) int64 { return head.Int("last") }

var _ = table.Kind[any]{Type: "emitted", Personal: "nothing"}
var _ = table.Kind[any]{Type: "event", Personal: "nothing", Once: "written once, kept for 30 days"}

// Append appends the events of the pieces to a shard and records them as
// emitted, in one transaction. head is the shard's head as it was read. It
// returns table.ErrConflict if the head or the record of a resource has changed
// since it was read.
func Append(ctx context.Context, t table.Tenant, shard int, head table.Item, pieces []Piece, now time.Time) error {
	tx, number := t.Write(), Last(head)
	// The end of events never goes back, whatever the clocks of two processes say. So
	// the first number that has not expired can be searched for.
	until := max(now.Add(Kept).Unix(), head.Int("until"))
	for _, p := range pieces {
		p.Next.Shard = shard
		audit.Put(tx, p.Stored, table.Item{Key: p.Stored.Key, Type: "emitted", Version: 1, Doc: p.Next})
		for _, e := range p.Events {
			number++
			tx.Create(table.Item{Key: Key(t, shard, number), Type: "event", Doc: e, Expires: time.Unix(until, 0)})
		}
	}
	op := tx.Update(headKey(t, shard), table.Change{Default: map[string]any{"type": "feed", "v": 1},
		Set: map[string]any{"last": number, "until": until}})
	if head.Found() {
		op.If("'last' = ?", Last(head))
	} else {
		op.If("attribute_not_exists(pk)")
	}
	if err := tx.Commit(ctx); !errors.Is(err, table.ErrCondition) {
		return err
	}
	return table.ErrConflict
}

// Newest returns the positions after the newest events of every shard that the
// tenant reads, strongly consistent.
func Newest(ctx context.Context, t table.Tenant) ([]int64, error) {
	shards, err := tenant.ReadShards(ctx, t)
	if err != nil {
		return nil, err
	}
	heads, err := Heads(ctx, t, all(shards))
	if err != nil {
		return nil, err
	}
	out := make([]int64, shards)
	for i, head := range heads {
		out[i] = Last(head)
	}
	return out, nil
}

// SentKey returns the key of the item that says up to which number a shard's events
// were passed to the sender of webhooks.
func SentKey(t table.Tenant, shard int) table.Key {
	return t.Key("EVENTS", strconv.Itoa(shard), "SENT", "SENT")
}

// Passed reads what was passed to the sender of webhooks of each shard, strongly
// consistent.
func Passed(ctx context.Context, t table.Tenant, shards int) ([]Sent, error) {
	keys := make([]table.Key, shards)
	for shard := range keys {
		keys[shard] = SentKey(t, shard)
	}
	items, err := t.Batch(ctx, keys...)
	out := make([]Sent, len(items))
	for shard, it := range items {
		out[shard] = SentFromItem(it)
	}
	return out, err
}

// Sent is what was passed to the sender of webhooks of a shard.
type Sent struct {
	Number int64 // of the last event
	Book   int64 // version of the tenant's endpoints to which the events were passed
}

// SentFromItem decodes it. Nothing was passed if the item is absent.
func SentFromItem(it table.Item) Sent { return Sent{it.Int("sent"), it.Int("book")} }

var _ = table.Kind[any]{Type: "sent", Personal: "nothing"}

// Item returns the stored form. was is the item as it was read.
func (s Sent) Item(was table.Item) table.Item {
	return table.Item{Key: was.Key, Type: "sent", Attrs: map[string]any{"sent": s.Number, "book": s.Book},
		Preserve: was.Unknown()}
}
