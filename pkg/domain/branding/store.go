package branding

import (
	"context"

	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// Reader reads an item with a strongly consistent read.
type Reader = func(context.Context, table.Key) (table.Item, error)

// Change applies the patch to the tenant's branding and adds an audit entry.
// The write requires that the branding has not changed since it was read. So
// two concurrent patches of different fields both take effect. commit ends the
// transaction.
func Change(
	ctx context.Context, t table.Tenant, by audit.By, p Patch, commit func(context.Context, *table.Tx, Branding) error,
) (Branding, error) {
	return ChangeRead(ctx, t, t.Get, by, p, commit)
}

// ChangeRead is Change for a caller who may already have read the branding. The
// first attempt uses read; after a conflict ChangeRead reads the table.
func ChangeRead(
	ctx context.Context, t table.Tenant, read Reader, by audit.By, p Patch,
	commit func(context.Context, *table.Tx, Branding) error,
) (Branding, error) {
	return audit.Change[Branding]{Tenant: t, By: by, What: "branding.set", Subject: t.ID(),
		Key: Key(t), FromItem: FromItem, Read: read,
		Edit: func(b *Branding) (err error) {
			*b, err = b.Apply(p)
			return err
		},
		Item: func(_ table.Item, now Branding) table.Item {
			return table.Item{Key: Key(t), Type: "branding", Version: 1, Doc: now}
		},
		Commit: func(ctx context.Context, tx *table.Tx, _, now Branding) error { return commit(ctx, tx, now) }}.Run(ctx)
}
