package deliver

import (
	"context"
	"math/rand/v2"

	"svc/pkg/data/table"
	"svc/pkg/domain/webhook"
)

// spread returns the tenant's endpoints, decoded from the item read, which the attempt
// for message m has read. The endpoints of a large tenant are stored in several copies,
// one for each group of shards. If the copy for the event's shard is missing, spread
// writes all copies. If read is the original, spread compares it with one of the copies,
// because an older build of this program changes only the original. If the copy is older
// than the original, spread writes all copies again. This counts as a change of the
// endpoints, so events that were missed meanwhile are sent.
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
			return false // the attempt for another message has written the copies
		}
		now.Copies = webhook.Copies
		return true
	})
	if err != nil || own {
		return book, err
	}
	return webhook.Read(ctx, t, m.Shard)
}
