package webhook

import (
	"context"
	"strconv"

	"svc/pkg/access/authz"
	"svc/pkg/data/table"
)

// Copies is how many times the endpoints of a tenant are stored whose feed has several
// shards. One item cannot bear the reads of each event of a large tenant. The first
// copy is the Book itself, at Key.
const Copies = authz.Copies

var _ = table.Kind[any]{Type: "webhookCopy", Personal: "nothing",
	Once: "copies an item of type webhooks as it is written, with what that preserves"}

// CopyKey returns the key of the copy that is read for the events of a shard.
func CopyKey(t table.Tenant, shard int) table.Key {
	if n := shard % Copies; n > 0 {
		return t.Key("WEBHOOK", "COPY", strconv.Itoa(n), "WEBHOOKS")
	}
	return Key(t)
}

// KeyFor returns the key at which the endpoints are read for an event of a shard: those
// of the tenant, or the subscriptions of a person.
func KeyFor(t table.Tenant, person string, shard int) table.Key {
	if person == "" {
		return CopyKey(t, shard)
	}
	return BookKey(t, person)
}

// PutCopies adds the copies of a changed book to the transaction that writes it, if it
// has copies. A version before copies changes the book alone. Spread then corrects them.
func (b Book) PutCopies(tx *table.Tx, t table.Tenant) {
	for n := 1; n < b.Copies; n++ {
		tx.Put(table.Item{Key: CopyKey(t, n), Type: "webhookCopy", Version: b.Version + 1, Doc: b, Preserve: b.preserve})
	}
}

// Read reads the copy for the events of a shard, or the book if it has no copies.
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

// also is audit.Change.Also of every change of a book.
func also(t table.Tenant) func(context.Context, *table.Tx, Book, Book) error {
	return func(_ context.Context, tx *table.Tx, _, now Book) error {
		now.PutCopies(tx, t)
		return nil
	}
}
