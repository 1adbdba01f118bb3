package deliver

import (
	"context"
	"time"

	"svc/pkg/access/authz"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/table"
	"svc/pkg/domain/tenant"
	"svc/pkg/domain/webhook"
)

// mostPages is the maximum number of pages of an endpoint's deliveries that advance
// reads.
const mostPages = 10

// advance queues those webhook attempts of a sandbox that are due within the duration
// ahead, at most one for each delivery. It does so for the tenant's endpoints and for the
// subscriptions of persons' agents. When the due task of such an attempt runs later, it
// finds the attempt already made.
func (w Worker) advance(ctx context.Context, t table.Tenant, ahead time.Duration) error {
	items, err := t.Batch(ctx, webhook.Key(t), authz.FlagsKey(t, 0))
	if err != nil || !tenant.IsSandbox(items[1]) {
		return err
	}
	book, err := webhook.Kind.FromItem(items[0])
	if err != nil {
		return err
	}
	until := timestamp.Format(w.Now().Add(ahead))
	if err := w.advanceAll(ctx, t, "", book, until); err != nil || book.Personal == nil {
		return err
	}
	keys := make([]table.Key, len(book.Personal.Persons))
	for i, person := range book.Personal.Persons {
		keys[i] = webhook.BookKey(t, person)
	}
	if items, err = t.Batch(ctx, keys...); err != nil {
		return err
	}
	for i, person := range book.Personal.Persons {
		own, err := webhook.Kind.FromItem(items[i])
		if err == nil {
			err = w.advanceAll(ctx, t, person, own, until)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// advanceAll queues the attempts for the endpoints of book that are due at the timestamp
// until or earlier. person is the owner of the subscriptions in book, "" for the tenant's
// own endpoints.
func (w Worker) advanceAll(ctx context.Context, t table.Tenant, person string, book webhook.Book, until string) error {
	for _, r := range book.Endpoints {
		after := ""
		for range mostPages {
			page, next, err := webhook.Deliveries(ctx, t, r.ID, webhook.Waiting, after, perPage)
			if err != nil {
				return err
			}
			var out []webhook.Message
			for _, s := range page {
				if s.NextAt != nil && *s.NextAt <= until {
					out = append(out, webhook.Message{Tenant: t.ID(), Person: person, Endpoint: r.ID, Event: s.EventID,
						Shard: s.Shard, Number: s.Number, Attempt: s.Made + 1})
				}
			}
			if err := w.Later(ctx, 0, out...); err != nil {
				return err
			}
			if after = next; after == "" {
				break
			}
		}
	}
	return nil
}
