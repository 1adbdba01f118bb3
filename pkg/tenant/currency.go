package tenant

import (
	"context"
	"fmt"

	"svc/pkg/authz"
	"svc/pkg/fault"
	"svc/pkg/table"
)

// ErrPriced is the fault of another currency for a tenant that has amounts.
var ErrPriced = fault.InvalidState("The tenant has trips or orders in its currency, so it stays.")

// priced is the attribute of a copy of the flags that says: amounts were
// written in the currency that the copy names.
const priced = "priced"

// Price adds to a transaction that writes the tenant's first amounts (a trip,
// an order) what makes its currency stay. Flags is the copy that the currency
// was read from. It is marked, on the condition that it still names that
// currency (else table.ErrConflict), and a copy that is marked costs nothing
// more: sixteen writes in a tenant's life. A change of the currency asks that
// no copy is marked, so of a first trip and such a change one wins.
func Price(tx *table.Tx, flags table.Item) {
	if flags.Flag(priced) {
		return
	}
	tx.Update(flags.Key, table.Change{Set: map[string]any{priced: true}}).
		If("'currency' = ?", flags.Text("currency")).Else(table.ErrConflict)
}

// Flags reads a copy of the tenant's flags, for changes made outside a request.
func Flags(ctx context.Context, t table.Tenant) (table.Item, error) {
	it, err := t.Get(ctx, authz.FlagsKey(t, 0))
	if err != nil {
		return table.Item{}, fmt.Errorf("flags: %w", err)
	}
	return it, nil
}

// KeepCurrency makes the tenant's currency stay, before amounts are written in
// bulk.
func KeepCurrency(ctx context.Context, t table.Tenant) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		flags, err := Flags(ctx, t)
		if err != nil {
			return err
		}
		tx := t.Write()
		Price(tx, flags)
		return tx.Commit(ctx)
	})
}
