package feed

import (
	"context"
	"maps"
	"slices"

	"svc/pkg/data/stream"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/webhook"
)

// starts returns, for each enabled endpoint and for all persons' subscriptions together,
// the feed positions after which events are wanted.
func (f Function) starts(book webhook.Book) (out []webhook.Start) {
	for _, r := range book.Endpoints {
		if r.Status == webhook.Enabled {
			out = append(out, r.Start)
		}
	}
	if book.Personal.Live(f.Now()) {
		out = append(out, book.Personal.Start)
	}
	return out
}

// toPersons returns the messages for the subscriptions of riders and drivers. It takes
// the events above the number since, and for each person those that concern the person.
// It reads the subscriptions after the events. So a subscription that is not enabled yet
// is enabled after these events, and personal then passes on what is in the feed.
func (f Function) toPersons(ctx context.Context, t table.Tenant, shard int, since int64,
	entries map[int64]event.Event) ([]webhook.Message, error) {
	persons := map[string]int{} // by person's id: the index of the person's key in keys
	var keys []table.Key
	for number, e := range entries {
		for _, id := range []string{e.Data.CustomerID, e.Data.DriverID} {
			if _, known := persons[id]; id != "" && number > since && !known {
				persons[id], keys = len(keys), append(keys, webhook.BookKey(t, id))
			}
		}
	}
	items, err := t.BatchAll(ctx, keys...)
	if err != nil {
		return nil, err
	}
	var out []webhook.Message
	for id, i := range persons {
		book, err := webhook.Kind.FromItem(items[i])
		if err != nil {
			return nil, err
		}
		for _, r := range book.Endpoints {
			out = append(out, wanted(t, id, r, shard, max(since, r.At(shard)), entries)...)
		}
	}
	return out, nil
}

// wanted returns a message for each event above the number since that the person's
// subscription r asks for.
func wanted(t table.Tenant, person string, r webhook.Record, shard int, since int64,
	entries map[int64]event.Event) (out []webhook.Message) {
	for _, number := range slices.Sorted(maps.Keys(entries)) {
		if e := entries[number]; number > since && r.Wants(e) {
			out = append(out, webhook.Message{Tenant: t.ID(), Person: person, Endpoint: r.ID, Event: e.ID, Shard: shard,
				Number: number, Attempt: 1})
		}
	}
	return out
}

// personal queues the messages that follow from changed subscriptions of persons:
// challenges and, for a subscription that was enabled, the events that came into the feed
// since then. The step that appends later events queues the messages for those.
func (f Function) personal(ctx context.Context, t table.Tenant, changes []stream.Change) error {
	for _, c := range changes {
		person := webhook.PersonOf(t, c.Key)
		if c.Type() != "webhooks" || person == "" {
			continue
		}
		it, err := t.Get(ctx, c.Key)
		if err != nil {
			return err
		}
		book, err := webhook.Kind.FromItem(it)
		if err != nil {
			return err
		}
		if err := f.send(ctx, challenges(t, person, book)); err != nil {
			return err
		}
		for _, r := range book.Endpoints {
			if r.Status != webhook.Enabled || r.Enabling <= c.Old.Version {
				continue
			}
			if err := f.catchUp(ctx, t, person, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// catchUp queues a message for each wanted event that came into the feed since the
// person's subscription r was enabled.
func (f Function) catchUp(ctx context.Context, t table.Tenant, person string, r webhook.Record) error {
	newest, err := event.Newest(ctx, t)
	if err != nil {
		return err
	}
	for shard, last := range newest {
		for after := r.At(shard); after < last; {
			entries, end, err := event.Between(ctx, t, shard, after, min(last, after+perPage))
			if err != nil {
				return err
			}
			if err := f.send(ctx, wanted(t, person, r, shard, after, entries)); err != nil {
				return err
			}
			after = end
		}
	}
	return nil
}

// send puts messages into the queue of the sender of webhooks, if there are any.
func (f Function) send(ctx context.Context, messages []webhook.Message) error {
	if len(messages) == 0 {
		return nil
	}
	return f.Send(ctx, 0, messages...)
}
