package feed

import (
	"context"
	"maps"
	"slices"
	"strings"

	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/webhook"
)

// outbox says which shards of the feed have events for which a step must queue webhook
// messages.
type outbox struct {
	shards     map[int]bool // the shards of the step's items, also of those whose events were appended before
	readShards int          // 0 if the tenant is deleted
}

// perPage is the maximum number of events that one call passes on.
const perPage = 100

// dispatch puts a message for each new event and endpoint into the queue, and one for
// each request of an operator. A shard's item SENT says which events are in the queue,
// and for which endpoints. It is written after the messages. So if the process ends in
// between, the record comes again and the messages are sent again; the sender knows
// them by their number.
//
// It reads the endpoints after the step has appended its events. So if an endpoint is
// not enabled yet, these events are in the feed before it is. The step for the change
// that enables it finds them there.
func (f Function) dispatch(ctx context.Context, t table.Tenant, o outbox, changes []stream.Change) error {
	if f.Send == nil || o.readShards == 0 {
		return nil
	}
	shard := 0 // picks the copy of the endpoints to read; 0, after a change of them, reads the original
	if !slices.ContainsFunc(changes, func(c stream.Change) bool { return c.Key == webhook.Key(t) }) {
		for shard = range o.shards {
			break
		}
	}
	book, err := webhook.Read(ctx, t, shard)
	if err != nil {
		return err
	}
	asked, changed := asked(t, book, changes)
	if err := f.send(ctx, asked); err != nil {
		return err
	}
	if err := f.personal(ctx, t, changes); err != nil {
		return err
	}
	if changed { // an endpoint may have been enabled while another step appended
		for shard := range o.readShards {
			o.shards[shard] = true
		}
	}
	if len(f.starts(book)) == 0 {
		return nil
	}
	shards := slices.Sorted(maps.Keys(o.shards))
	keys := event.HeadKeys(t, shards)
	for _, shard := range shards {
		keys = append(keys, event.SentKey(t, shard))
	}
	items, err := t.Batch(ctx, keys...)
	if err != nil {
		return err
	}
	for i, shard := range shards {
		if err := f.drain(ctx, t, book, shard, items[i], items[len(shards)+i]); err != nil {
			return err
		}
	}
	return nil
}

// drain queues messages for the events of a shard that are not yet in the queue for every
// endpoint. A step that saw fewer endpoints may have queued the newest events already. An
// endpoint that was enabled since then gets all events after its Start.
func (f Function) drain(ctx context.Context, t table.Tenant, book webhook.Book, shard int,
	head, stored table.Item) error {
	sent, last := event.SentFromItem(stored), event.Last(head)
	after := last
	for _, one := range f.starts(book) {
		after = min(after, one.Since(shard, sent))
	}
	for after < last {
		entries, end, err := event.Between(ctx, t, shard, after, min(last, after+perPage))
		if err != nil {
			return err
		}
		var out []webhook.Message
		for _, number := range slices.Sorted(maps.Keys(entries)) {
			for _, r := range book.Endpoints {
				if e := entries[number]; number > r.Since(shard, sent) && r.Wants(e) {
					out = append(out, webhook.Message{Tenant: t.ID(), Endpoint: r.ID, Event: e.ID, Shard: shard, Number: number,
						Attempt: 1})
				}
			}
		}
		if book.Personal.Live(f.Now()) {
			persons, err := f.toPersons(ctx, t, shard, book.Personal.Since(shard, sent), entries)
			if err != nil {
				return err
			}
			out = append(out, persons...)
		}
		if err := f.send(ctx, out); err != nil {
			return err
		}
		if after = end; after < sent.Number {
			continue // newly enabled endpoints still lack older events
		}
		// Two steps may write SENT in the wrong order. Then events are sent again, which
		// the sender notices. A transaction would cost twice as much.
		if err := t.Load(ctx, event.Sent{Number: after, Book: book.Version}.Item(stored)); err != nil {
			return err
		}
	}
	return nil
}

// asked returns the messages for the requests of operators among the changes:
// challenges, tests and replays. changed reports whether the tenant's endpoints have
// changed.
func asked(t table.Tenant, book webhook.Book, changes []stream.Change) (out []webhook.Message, changed bool) {
	for _, c := range changes {
		switch c.Type() {
		case "webhooks":
			changed = changed || c.Key == webhook.Key(t)
		case "redelivery":
			_, request, _ := strings.Cut(c.Key.SK, "#")
			endpoint := c.Key.PK[strings.LastIndexByte(c.Key.PK, '#')+1:]
			var q webhook.Request
			if c.New.Found() && c.New.Decode(&q) == nil {
				out = append(out, webhook.Message{Tenant: t.ID(), Person: q.Person, Endpoint: endpoint, Request: request})
			}
		}
	}
	if changed {
		out = append(out, challenges(t, "", book)...)
	}
	return out, changed
}

// challenges returns the messages for the challenges to the endpoints of book that were
// requested and not begun.
func challenges(t table.Tenant, person string, book webhook.Book) (out []webhook.Message) {
	for _, r := range book.Endpoints {
		if r.Status == webhook.Pending && r.Challenged < r.Challenges {
			out = append(out, webhook.Message{Tenant: t.ID(), Person: person, Endpoint: r.ID, Challenge: r.Challenges})
		}
	}
	return out
}
