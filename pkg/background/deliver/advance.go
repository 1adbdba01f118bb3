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

// mostPages is how many pages of an endpoint's deliveries advance reads.
const mostPages = 10

// advance puts the attempts of a sandbox into the queue that are due within the time
// ahead, one of each delivery. The attempt's own row then finds it made.
func (w Worker) advance(ctx context.Context, t table.Tenant, ahead time.Duration) error {
	items, err := t.Batch(ctx, webhook.Key(t), authz.FlagsKey(t, 0))
	if err != nil || !tenant.IsSandbox(items[1]) {
		return err
	}
	book, err := webhook.FromItem(items[0])
	if err != nil {
		return err
	}
	until := timestamp.Format(w.Now().Add(ahead))
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
					out = append(out, webhook.Message{Tenant: t.ID(), Endpoint: r.ID, Event: s.EventID, Shard: s.Shard,
						Number: s.Number, Attempt: s.Made + 1})
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
