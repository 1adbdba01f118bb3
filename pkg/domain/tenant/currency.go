package tenant

import (
	"context"
	"fmt"

	"svc/pkg/access/authz"
	"svc/pkg/base/fault"
	"svc/pkg/data/table"
)

// ErrPriced reports that the currency cannot change, because the tenant has amounts in
// it.
var ErrPriced = fault.InvalidState("The tenant has trips or orders in its currency, so the currency cannot change.")

// priced is an attribute of a copy of the tenant's flags. A copy that has the attribute
// means that amounts may exist in the copy's currency, so the currency is locked.
const priced = "priced"

// Price locks the tenant's currency in a transaction that writes amounts (a
// trip, an order). flags is the copy of the flags from which the caller read
// the currency. The transaction marks that copy on the condition that its
// currency is unchanged (else table.ErrConflict). Price does not write a copy that
// was marked when the caller read it, so it costs a tenant about sixteen writes in
// total. A change of the currency requires that no copy is marked. Therefore, if a
// first trip and such a change compete, only one succeeds.
func Price(tx *table.Tx, flags table.Item) {
	if flags.Flag(priced) {
		return
	}
	tx.Update(flags.Key, table.Change{Set: map[string]any{priced: true}}).
		If("'currency' = ?", flags.Text("currency")).Else(table.ErrConflict)
}

// Flags reads copy 0 of the tenant's flags, for reads and changes outside a
// request. The item is not Found if there is no such tenant.
func Flags(ctx context.Context, t table.Tenant) (table.Item, error) {
	it, err := t.Get(ctx, authz.FlagsKey(t, 0))
	if err != nil {
		return table.Item{}, fmt.Errorf("flags: %w", err)
	}
	return it, nil
}

// KeepCurrency locks the tenant's currency, for a caller that then writes many amounts.
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
