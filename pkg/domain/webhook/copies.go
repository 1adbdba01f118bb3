package webhook

import (
	"context"
	"strconv"

	"svc/pkg/access/authz"
	"svc/pkg/data/table"
)

// Copies is how many times the Book, the item with all endpoints of a tenant, is stored
// if the tenant's feed has several shards. Each event reads it, which is too much for one
// item of a large tenant. The first copy is the Book itself, at Key.
const Copies = authz.Copies

var _ = table.Kind[any]{Type: "webhookCopy", Personal: "nothing",
	Once: "copies an item of type webhooks as it is written, with what that preserves"}

// CopyKey returns the key of the copy of the tenant's Book, the item with all its webhook
// endpoints, that is read for the events of a shard of the feed.
func CopyKey(t table.Tenant, shard int) table.Key {
	if n := shard % Copies; n > 0 {
		return t.Key("WEBHOOK", "COPY", strconv.Itoa(n), "WEBHOOKS")
	}
	return Key(t)
}

// KeyFor returns the key of the Book to read for an event of a shard of the feed: a copy of
// the tenant's Book, or the Book of the person's subscriptions if person is not "".
func KeyFor(t table.Tenant, person string, shard int) table.Key {
	if person == "" {
		return CopyKey(t, shard)
	}
	return BookKey(t, person)
}

// PutCopies adds the copies of a changed Book, if it has any, to the transaction that
// writes the Book. An older build, which does not know copies, changes only the Book.
// pkg/background/deliver finds such a change and writes the copies again.
func (b Book) PutCopies(tx *table.Tx, t table.Tenant) {
	for n := 1; n < b.Copies; n++ {
		tx.Put(table.Item{Key: CopyKey(t, n), Type: "webhookCopy", Version: b.Version + 1, Doc: b, Preserve: b.preserve})
	}
}

// Read reads the tenant's Book for an event of a shard of the feed: the shard's copy, or the
// Book itself if it has no copies.
func Read(ctx context.Context, t table.Tenant, shard int) (Book, error) {
	it, err := t.Get(ctx, CopyKey(t, shard))
	if err == nil && !it.Found() && it.Key != Key(t) {
		it, err = t.Get(ctx, Key(t))
	}
	if err != nil {
		return Book{}, err
	}
	return Kind.FromItem(it)
}

// also returns the function audit.Change.Also for each change of a tenant's Book. The
// function writes the copies of the Book.
func also(t table.Tenant) func(context.Context, *table.Tx, Book, Book) error {
	return func(_ context.Context, tx *table.Tx, _, now Book) error {
		now.PutCopies(tx, t)
		return nil
	}
}
