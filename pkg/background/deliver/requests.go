package deliver

import (
	"context"
	"encoding/json"
	"fmt"

	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/event"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/webhook"
)

// request carries out a stored request of an operator: a test event, one event again,
// or a range of events. It drops the request if the endpoint is not enabled.
func (w Worker) request(ctx context.Context, t table.Tenant, m webhook.Message) error {
	items, err := t.Batch(ctx, webhook.RequestKey(t, m.Endpoint, m.Request), webhook.BookKey(t, m.Person))
	if err != nil || !items[0].Live(w.Now()) {
		return err
	}
	q, err := table.DecodeDoc[webhook.Request](items[0])
	if err != nil {
		return err
	}
	book, err := webhook.Kind.FromItem(items[1])
	if err != nil {
		return err
	}
	r := book.Find(m.Endpoint)
	if r != nil {
		if waited, waits := r.Waits(w.Now(), retryFor); waits {
			return w.Later(ctx, min(pauseFor(waited), MaxDelay), m)
		}
	}
	switch {
	case r == nil || r.Status != webhook.Enabled:
		return nil
	case q.Test != nil:
		return w.test(ctx, t, r, *q.Test)
	case q.Event != "":
		shards, err := tenant.ReadShards(ctx, t)
		if err != nil {
			return err
		}
		it, err := webhook.FindDelivery(ctx, t, r.ID, shards, q.Event)
		if err != nil || !it.Found() {
			return err
		}
		sent, err := webhook.SentFromItem(it)
		if err != nil || sent.Test {
			return err
		}
		return w.send(ctx, t, webhook.Message{Tenant: m.Tenant, Endpoint: r.ID, Event: q.Event, Shard: sent.Shard,
			Number: sent.Number, Attempt: sent.Made + 1, Round: true})
	}
	return w.sendRange(ctx, t, r, m, q)
}

// test sends the test event e to an endpoint, unless it was sent before.
func (w Worker) test(ctx context.Context, t table.Tenant, r *webhook.Record, e event.Event) error {
	key := webhook.DeliveryKey(t, r.ID, 0, e.ID)
	if it, err := t.Get(ctx, key); err != nil || it.Found() {
		return err
	}
	secrets, err := r.Open(ctx, w.Secrets, t, w.Now())
	if err != nil {
		return fmt.Errorf("secret of %s: %w", r.ID, err)
	}
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	at := timestamp.Format(w.Now())
	out := w.post(ctx, t, r, e.ID, body, secrets, false)
	if out.err != nil {
		return out.err
	}
	sent := webhook.Sent{Delivery: webhook.Delivery{EventID: e.ID, Type: e.Type, Test: true, Status: webhook.Failed}}
	if out.word == webhook.Succeeded {
		sent.Status = webhook.Succeeded
	}
	return w.record(ctx, t, webhook.Message{Endpoint: r.ID, Attempt: 1}, sent,
		webhook.Attempt{At: at, Result: out.word, Millis: out.took.Milliseconds()}, nil)
}

// sendRange puts a message for each event in the range of the request q into the queue,
// one page for each call. If events are left, it also queues a message with which the
// next call continues.
func (w Worker) sendRange(ctx context.Context, t table.Tenant, r *webhook.Record, m webhook.Message,
	q webhook.Request) error {
	after := q.After
	if m.After != nil {
		after = m.After
	}
	var out []webhook.Message
	more := false
	next := make([]int64, len(q.Before))
	for shard, last := range q.Before {
		if shard < len(after) {
			next[shard] = after[shard]
		}
		if next[shard] >= last || len(out) >= perPage {
			more = more || next[shard] < last
			continue
		}
		entries, end, err := event.Between(ctx, t, shard, next[shard], min(last, next[shard]+perPage))
		if err != nil {
			return err
		}
		for number, e := range entries {
			if r.Wants(e) {
				out = append(out, webhook.Message{Tenant: m.Tenant, Person: m.Person, Endpoint: r.ID, Event: e.ID, Shard: shard,
					Number: number, Attempt: 1, Round: !q.Waited})
			}
		}
		next[shard] = end
		more = more || end < last
	}
	if !q.Waited {
		if err := w.number(ctx, t, out); err != nil {
			return err
		}
	}
	if more {
		out = append(out, webhook.Message{Tenant: m.Tenant, Person: m.Person, Endpoint: r.ID, Request: m.Request,
			After: next})
	}
	return w.Later(ctx, 0, out...)
}

// number sets the Attempt of each message to the number of the next attempt of its
// delivery: one more than the attempts that were made so far.
func (w Worker) number(ctx context.Context, t table.Tenant, messages []webhook.Message) error {
	keys := make([]table.Key, 0, 2*len(messages))
	for _, m := range messages { // older builds stored the delivery at the second key
		keys = append(keys, webhook.DeliveryKey(t, m.Endpoint, m.Shard, m.Event),
			webhook.DeliveryKey(t, m.Endpoint, 0, m.Event))
	}
	items, err := t.BatchAll(ctx, keys...)
	if err != nil {
		return err
	}
	for i := range messages {
		messages[i].Attempt = 1
		for _, it := range items[2*i : 2*i+2] {
			if !it.Found() {
				continue
			}
			sent, err := webhook.SentFromItem(it)
			if err != nil {
				return err
			}
			messages[i].Attempt = max(messages[i].Attempt, sent.Made+1)
		}
	}
	return nil
}
