package due

import (
	"context"
	"fmt"

	"svc/pkg/data/table"
)

// graveyard is the partition of the tasks that were given up.
func (b Book) graveyard() string { return b.handle().Partition("DUE", b.Name, "DEAD") }

// Dead lists the tasks that were given up, by the time at which they were due, at most the
// given number.
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

// Drop removes a dead task in the transaction, which fails with ErrCondition if there is
// none.
func (b Book) Drop(tx *table.Tx, k Task) {
	tx.Covers(b.handle().Handle).Delete(table.Key{PK: b.graveyard(), SK: b.key(k).SK}).If("attribute_exists(pk)")
}

// Revive makes a dead task due now, as if it had never failed.
func (b Book) Revive(ctx context.Context, k Task) error {
	tx := b.handle().Write()
	b.Drop(tx, k)
	k.At, k.Attempts = b.Now(), 0
	b.Add(tx, k)
	return table.Retry(ctx, tx.Commit)
}
