package due

import (
	"context"
	"fmt"

	"svc/pkg/data/table"
)

// graveyard returns the partition of the dead tasks: those that were given up.
func (b Book) graveyard() string { return b.handle().Partition("DUE", b.Name, "DEAD") }

// Dead lists up to most dead tasks, which are those that were given up. They are in the
// order of their times (Task.At).
func (b Book) Dead(ctx context.Context, most int) (all []Task, err error) {
	for items, err := range b.handle().Pages(ctx, b.graveyard(), table.Query{Limit: perPage, Consistent: true}) {
		if err != nil {
			return nil, fmt.Errorf("due: %w", err)
		}
		for _, it := range items {
			if k, ok := taskOf(it); ok && it.Live(b.Now()) {
				all = append(all, k)
			}
			if len(all) == most {
				return all, nil
			}
		}
	}
	return all, nil
}

// Drop removes a dead task (Dead) in the transaction. If it is not listed as dead, the
// transaction fails with table.ErrCondition.
func (b Book) Drop(tx *table.Tx, k Task) {
	tx.Covers(b.handle().Handle).Delete(table.Key{PK: b.graveyard(), SK: b.key(k).SK}).If("attribute_exists(pk)")
}

// Revive makes a dead task (Dead) due now, as if it had never failed.
func (b Book) Revive(ctx context.Context, k Task) error {
	tx := b.handle().Write()
	b.Drop(tx, k)
	k.At, k.Attempts = b.Now(), 0
	b.Add(tx, k)
	return table.Retry(ctx, tx.Commit)
}
