package deliver

import (
	"context"
	"math/rand/v2"

	"svc/pkg/data/table"
	"svc/pkg/domain/webhook"
)

// spread returns the tenant's endpoints as they were read for a message. A large tenant
// has copies of them, one for each group of shards. If the copy for the event's shard is
// missing, spread writes all copies. If the message was read from the original, spread
// compares the original with one of the copies: an older version of this program changes
// only the original. If that copy is older, spread writes all copies again. This counts
// as a change of the endpoints, so events that were missed meanwhile are sent.
func (w Worker) spread(ctx context.Context, t table.Tenant, m webhook.Message, read table.Item) (webhook.Book, error) {
	book, err := webhook.Kind.FromItem(read)
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
