package deliver

import (
	"context"
	"math/rand/v2"

	"svc/pkg/data/table"
	"svc/pkg/domain/webhook"
)

// spread returns the endpoints that were read for a message. If the event is in a shard
// for which there is no copy, it writes the copies. The events that read the tenant's
// endpoints themselves also look at one of the copies: a version before copies may have
// changed the endpoints alone. Then spread writes all copies. That is a change of the
// endpoints, so the feed passes on what it missed.
func (w Worker) spread(ctx context.Context, t table.Tenant, m webhook.Message, read table.Item) (webhook.Book, error) {
	book, err := webhook.FromItem(read)
	own := read.Key == webhook.Key(t)
	if err != nil || m.Person != "" || own && book.Copies == 0 || !own && read.Found() {
		return book, err
	}
	if own {
		one, err := t.Get(ctx, webhook.CopyKey(t, 1+rand.IntN(webhook.Copies-1))) //nolint:gosec // any copy will do
		if err != nil || one.Version >= book.Version {
			return book, err
		}
	}
	err = edit(ctx, t, "", func(now *webhook.Book, _ *table.Tx) bool {
		if own && now.Version != book.Version || !own && (now.Version == 0 || now.Copies > 0) {
			return false // another message has done it
		}
		now.Copies = webhook.Copies
		return true
	})
	if err != nil || own {
		return book, err
	}
	return webhook.Read(ctx, t, m.Shard)
}
