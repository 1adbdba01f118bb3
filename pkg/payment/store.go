package payment

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"svc/pkg/audit"
	"svc/pkg/fault"
	"svc/pkg/ids"
	"svc/pkg/table"
	"svc/pkg/timestamp"
)

// Most is how many payment methods a rider may have.
const Most = 20

// Key is the key of a rider's payment method.
func Key(t table.Tenant, rider, id string) table.Key {
	return t.Key("CARD#"+id, "CUSTOMER", rider, "PAYMENT")
}

// List reads the rider's payment methods, the default first, then the newest.
//
// Access pattern: T#t#CUSTOMER#c#PAYMENT backward, strongly consistent.
func List(ctx context.Context, t table.Tenant, rider string) ([]Method, error) {
	out, _, err := read(ctx, t, rider)
	return out, err
}

func read(ctx context.Context, t table.Tenant, rider string) ([]Method, []table.Item, error) {
	page, err := t.Query(ctx, Key(t, rider, "").PK, table.Query{Prefix: "CARD#", Backward: true, Limit: 10 * Most, Consistent: true})
	if err != nil {
		return nil, nil, fmt.Errorf("payment methods: %w", err)
	}
	out := make([]Method, 0, len(page.Items))
	for _, it := range page.Items {
		m, err := Of(it)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, m)
	}
	slices.SortStableFunc(out, func(a, b Method) int {
		switch {
		case a.IsDefault == b.IsDefault:
			return strings.Compare(b.ID, a.ID)
		case a.IsDefault:
			return -1
		}
		return 1
	})
	return out, page.Items, nil
}

// Add gives the rider a payment method; ID (unless given) and CreatedAt are
// made. The first one is the default; a new default takes the place of the old.
func Add(ctx context.Context, t table.Tenant, by audit.By, rider string, m Method) (Method, error) {
	if m.ID == "" {
		m.ID = ids.New(ids.Payment, by.At)
	}
	if m.CreatedAt == "" {
		m.CreatedAt = timestamp.Format(by.At)
	}
	if err := m.normal(by.At); err != nil {
		return Method{}, err
	}
	err := table.Retry(ctx, func(ctx context.Context) error {
		have, items, err := read(ctx, t, rider)
		if err != nil {
			return err
		}
		if len(have) >= Most {
			return fault.InvalidState("A rider has at most %d payment methods.", Most)
		}
		m.IsDefault = m.IsDefault || len(have) == 0
		tx := t.Write()
		tx.Create(Item(t, rider, m))
		if m.IsDefault {
			undo(tx, items, m.ID)
		}
		audit.Append(tx, t, by, "payment.add", m.ID, nil, m)
		return tx.Commit(ctx)
	})
	if err != nil {
		return Method{}, fmt.Errorf("add payment method: %w", err)
	}
	return m, nil
}

// Set changes a rider's payment method; one that becomes the default takes the
// place of the old.
func Set(ctx context.Context, t table.Tenant, by audit.By, rider, id string, change func(*Method) error) (Method, error) {
	var now Method
	err := table.Retry(ctx, func(ctx context.Context) error {
		_, items, err := read(ctx, t, rider)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(items, func(it table.Item) bool { return it.Key == Key(t, rider, id) })
		if i < 0 {
			return fault.NotFound()
		}
		was, err := Of(items[i])
		if err != nil {
			return err
		}
		now = was
		if err := change(&now); err != nil {
			return err
		}
		now.ID, now.CreatedAt = was.ID, was.CreatedAt
		if err := now.normal(by.At); err != nil {
			return err
		}
		if was.IsDefault && !now.IsDefault {
			return fault.InvalidState("Make another payment method the default instead.")
		}
		if now == was {
			return nil
		}
		tx, next := t.Write(), Item(t, rider, now)
		next.Version = items[i].Version
		tx.Replace(next).Else(table.ErrConflict)
		if now.IsDefault {
			undo(tx, items, id)
		}
		audit.Append(tx, t, by, "payment.set", id, was, now)
		return tx.Commit(ctx)
	})
	if err != nil {
		return Method{}, fmt.Errorf("change payment method: %w", err)
	}
	return now, nil
}

// undo takes the default from the others.
func undo(tx *table.Tx, items []table.Item, except string) {
	for _, it := range items {
		m, err := Of(it)
		if err != nil || !m.IsDefault || m.ID == except {
			continue
		}
		m.IsDefault = false
		tx.Replace(table.Item{Key: it.Key, Type: it.Type, Version: it.Version, Doc: m}).Else(table.ErrConflict)
	}
}

// Item is the stored form of a payment method.
func Item(t table.Tenant, rider string, m Method) table.Item {
	return table.Item{Key: Key(t, rider, m.ID), Type: "payment", Version: 1, Doc: m}
}
