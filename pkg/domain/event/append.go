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

// Piece has the new events of one item of the table, and the item's next Emitted: the
// record of which of its events are in the feed.
type Piece struct {
	Stored table.Item // the item of the Emitted as it was read
	Next   Emitted
	Events []Event
}

// MaxAppended is the maximum number of events of one Append.
const MaxAppended = 40

// Heads reads the heads of the shards, strongly consistent, in the order of shards. A
// shard's head is the item that holds the number of its last event.
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

// Last returns the number of a shard's last event from the shard's head, 0 if the shard
// has none.
func Last(head table.Item) int64 { return head.Int("last") }

// The declarations of the items that hold an Emitted and an Event (table.Kind).
var _ = table.Kind[any]{Type: "emitted", Personal: "nothing"}
var _ = table.Kind[any]{Type: "event", Personal: "nothing", Once: "written once, kept for 30 days"}

// Append appends the events of the pieces to a shard of the feed and writes each piece's
// Emitted, in one transaction. head is the shard's head as it was read. Append returns
// table.ErrConflict if the head or an Emitted has changed since it was read.
func Append(ctx context.Context, t table.Tenant, shard int, head table.Item, pieces []Piece, now time.Time) error {
	tx, number := t.Write(), Last(head)
	// The expiry time never goes back, even if the clocks of two processes differ. So
	// events expire in the order of their numbers, and earliest can search by bisection.
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

// Newest returns the number of the last event of each shard that the tenant reads,
// strongly consistent. A reader that begins after these numbers gets only later events.
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

// SentKey returns the key of the item with a shard's Sent.
func SentKey(t table.Tenant, shard int) table.Key {
	return t.Key("EVENTS", strconv.Itoa(shard), "SENT", "SENT")
}

// Passed reads the Sent of each shard, strongly consistent: which events were passed to
// the queue of the function that sends webhooks.
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

// Sent records which events of a shard are in the queue of the function that sends webhooks
// (functions/deliver).
type Sent struct {
	Number int64 // number of the last event in the queue
	Book   int64 // version of the tenant's list of webhook endpoints (webhook.Book) at that time
}

// SentFromItem decodes a Sent. For an absent item it is zero: no event was sent.
func SentFromItem(it table.Item) Sent { return Sent{it.Int("sent"), it.Int("book")} }

// The declaration of the items that hold a Sent (table.Kind).
var _ = table.Kind[any]{Type: "sent", Personal: "nothing"}

// Item returns the stored form of s. was is the item at SentKey as it was read.
func (s Sent) Item(was table.Item) table.Item {
	return table.Item{Key: was.Key, Type: "sent", Attrs: map[string]any{"sent": s.Number, "book": s.Book},
		Preserve: was.Unknown()}
}
