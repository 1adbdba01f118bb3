package branding

import (
	"context"
	"fmt"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"svc/pkg/audit"
	"svc/pkg/table"
)

// Schema is a text that may be null.
func (Field) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Nullable: true}
}

// Reader gives an item as it is, strongly consistent.
type Reader = func(context.Context, table.Key) (table.Item, error)

// Change applies the patch to the tenant's branding with an audit entry, on the
// condition that it is the one that was read; so two patches of different
// fields at once both hold. commit ends the transaction.
func Change(ctx context.Context, t table.Tenant, by audit.By, p Patch, commit func(context.Context, *table.Tx, Branding) error) (Branding, error) {
	return ChangeRead(ctx, t, t.Get, by, p, commit)
}

// ChangeRead is Change for a caller who may have read the branding already:
// read gives it the first time, the table after a conflict.
func ChangeRead(ctx context.Context, t table.Tenant, read Reader, by audit.By, p Patch, commit func(context.Context, *table.Tx, Branding) error) (Branding, error) {
	var now Branding
	err := table.Retry(ctx, func(ctx context.Context) error {
		it, err := read(ctx, Key(t))
		if err != nil {
			return err
		}
		read = t.Get
		was, err := Of(it)
		if err != nil {
			return err
		}
		if now, err = was.Apply(p); err != nil || (it.Found() && reflect.DeepEqual(was, now)) {
			return err
		}
		tx, next := t.Write(), table.Item{Key: Key(t), Type: "branding", Version: 1, Doc: now}
		if it.Found() {
			next.Version = it.Version
			tx.Replace(next).Else(table.ErrConflict)
		} else {
			tx.Create(next).Else(table.ErrConflict)
		}
		audit.Append(tx, t, by, "branding.set", t.ID(), was, now)
		return commit(ctx, tx, now)
	})
	if err != nil {
		return Branding{}, fmt.Errorf("change branding: %w", err)
	}
	return now, nil
}
