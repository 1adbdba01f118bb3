package payment

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/base/timestamp"
	"svc/pkg/data/audit"
	"svc/pkg/data/table"
)

// Most is the maximum number of payment methods of a rider.
const Most = 20

// Key returns the key of a rider's payment method.
func Key(t table.Tenant, rider, id string) table.Key {
	return t.Key("CUSTOMER", rider, "PAYMENT", "CARD#"+id)
}

// Kind says how a rider's payment method is stored.
var Kind = table.Kind[Method]{Type: "payment", Personal: "saved addresses, places, cards", Erasure: "deletes",
	Row: func(t table.Tenant, rider string, m Method) table.Item {
		return table.Item{Key: Key(t, rider, m.ID), Version: 1}
	}}

// List reads the rider's payment methods: the default first, then the newest
// first.
//
// Access pattern: T#t#CUSTOMER#c#PAYMENT backward, strongly consistent.
func List(ctx context.Context, t table.Tenant, rider string) ([]Method, error) {
	w, err := read(ctx, t, rider)
	return w.methods, err
}

// headKey returns the key of an item that every new method and every new default
// rewrites. So two such transactions conflict, even if they write no other item
// in common.
func headKey(t table.Tenant, rider string) table.Key {
	return t.Key("CUSTOMER", rider, "PAYMENT", "CARDS")
}

// held is what was read of a rider's payment methods: the methods, the default first and
// then the newest first; their items; and the item at headKey.
type held struct {
	methods []Method
	items   []table.Item
	head    table.Item
}

// read reads a rider's payment methods that were not removed.
//
// Access pattern: T#t#CUSTOMER#c#PAYMENT backward, strongly consistent.
func read(ctx context.Context, t table.Tenant, rider string) (held, error) {
	q := table.Query{Prefix: "CARD", Backward: true, Limit: 10 * Most, Consistent: true}
	page, err := t.Query(ctx, Key(t, rider, "").PK, q)
	if err != nil {
		return held{}, fmt.Errorf("payment methods: %w", err)
	}
	var out held
	if i := slices.IndexFunc(page.Items, func(it table.Item) bool { return it.Key == headKey(t, rider) }); i >= 0 {
		out.head = page.Items[i]
		page.Items = slices.Delete(page.Items, i, i+1)
	}
	// The item of a removed method has an expiry, and the table deletes it later.
	page.Items = slices.DeleteFunc(page.Items, func(it table.Item) bool { return !it.Expires.IsZero() })
	out.items = page.Items
	if out.methods, err = table.DecodeAll(page.Items, Kind.FromItem); err != nil {
		return held{}, err
	}
	slices.SortStableFunc(out.methods, func(a, b Method) int {
		switch {
		case a.IsDefault == b.IsDefault:
			return strings.Compare(b.ID, a.ID)
		case a.IsDefault:
			return -1
		}
		return 1
	})
	return out, nil
}

// commit is a function that commits the transaction of a change. The Method is the result
// of the change.
type commit = func(context.Context, *table.Tx, Method) error

// audited returns what an audit entry shows of a payment method: the method and its rider's
// id. By the id, an erasure finds the entries of methods that were removed.
func audited(rider string, m Method) any {
	return struct {
		Method
		CustomerID string `json:"customerId"`
	}{m, rider}
}

// plainly is the commit of a change that no API request made: it stores no response.
func plainly(ctx context.Context, tx *table.Tx, _ Method) error { return tx.Commit(ctx) }

// Add adds a payment method for the rider. It fills in ID and CreatedAt if they
// are empty. The first method becomes the default. A new default replaces the
// old one. Add returns fault.InvalidState if the rider has Most methods. It does
// not check that the rider exists.
func Add(ctx context.Context, t table.Tenant, by audit.By, rider string, m Method) (Method, error) {
	return add(ctx, t, by, rider, m, "", nil, plainly)
}

// add is Add with more parameters. token is the payment provider's token, "" for none.
// first has the rider's payment methods if the caller has read them, and is nil otherwise.
// done commits the transaction.
func add(ctx context.Context, t table.Tenant, by audit.By, rider string, m Method, token string, first *held,
	done commit) (Method, error) {
	if m.ID == "" {
		m.ID = ids.New(ids.Payment, by.At)
	}
	if m.CreatedAt == "" {
		m.CreatedAt = timestamp.Format(by.At)
	}
	if err := m.normalize(by.At); err != nil {
		return Method{}, err
	}
	wanted := m.IsDefault
	err := each(ctx, t, rider, first, func(ctx context.Context, have held) error {
		if len(have.methods) >= Most {
			return fault.InvalidState("A rider has at most %d payment methods.", Most)
		}
		m.IsDefault = wanted || len(have.methods) == 0
		tx := t.Write()
		it := Kind.Item(t, rider, m)
		if token != "" {
			it.Attrs = map[string]any{"token": token}
		}
		tx.Create(it)
		have.lock(tx, t, rider)
		if m.IsDefault {
			have.setDefault(tx, m.ID)
		}
		audit.Append(tx, t, by, "payment.add", m.ID, nil, audited(rider, m))
		return done(ctx, tx, m)
	})
	if err != nil {
		return Method{}, fmt.Errorf("add payment method: %w", err)
	}
	return m, nil
}

// each runs attempt with the rider's payment methods, and again if its transaction
// conflicts. The first attempt gets first, if first is not nil. For any other attempt, each
// reads the methods.
func each(ctx context.Context, t table.Tenant, rider string, first *held,
	attempt func(context.Context, held) error) error {
	return table.Retry(ctx, func(ctx context.Context) error {
		have := first
		if first = nil; have == nil {
			now, err := read(ctx, t, rider)
			if err != nil {
				return err
			}
			have = &now
		}
		return attempt(ctx, *have)
	})
}

// remove removes a rider's payment method and returns it. If it was the default, the
// newest other method becomes the default. first and done are those of add. Errors:
// fault.NotFound if there is no such method.
func remove(ctx context.Context, t table.Tenant, by audit.By, rider, id string, first *held,
	done commit) (gone Method, err error) {
	return gone, each(ctx, t, rider, first, func(ctx context.Context, have held) error {
		i := slices.IndexFunc(have.methods, func(m Method) bool { return m.ID == id })
		if i < 0 {
			return fault.NotFound()
		}
		gone = have.methods[i]
		tx := t.Write()
		tx.Update(Key(t, rider, id), table.Change{Add: map[string]any{"version": 1}, Expires: by.At.Unix()}).
			If("attribute_exists(pk)").Else(table.ErrConflict)
		have.lock(tx, t, rider)
		if rest := slices.Delete(slices.Clone(have.methods), i, i+1); gone.IsDefault && len(rest) > 0 {
			have.items = slices.DeleteFunc(slices.Clone(have.items), func(it table.Item) bool {
				return it.Key == Key(t, rider, id)
			})
			have.setDefault(tx, rest[0].ID)
		}
		audit.Append(tx, t, by, "payment.remove", id, audited(rider, gone), nil)
		return done(ctx, tx, gone)
	})
}

// choose makes a rider's payment method the default and returns it. first and done are
// those of add. Errors: fault.NotFound if there is no such method.
func choose(ctx context.Context, t table.Tenant, by audit.By, rider, id string, first *held,
	done commit) (chosen Method, err error) {
	return chosen, each(ctx, t, rider, first, func(ctx context.Context, have held) error {
		i := slices.IndexFunc(have.methods, func(m Method) bool { return m.ID == id })
		if i < 0 {
			return fault.NotFound()
		}
		was := have.methods[i]
		chosen = was
		chosen.IsDefault = true
		tx := t.Write()
		if !was.IsDefault {
			have.lock(tx, t, rider)
			have.setDefault(tx, id)
			audit.Append(tx, t, by, "payment.set", id, audited(rider, was), audited(rider, chosen))
		}
		return done(ctx, tx, chosen)
	})
}

// Set changes a rider's payment method. A new default replaces the old one.
// Errors: fault.NotFound if there is no such method, a 400 if the changed method
// is not valid, fault.InvalidState if edit clears IsDefault of the default method.
func Set(
	ctx context.Context, t table.Tenant, by audit.By, rider, id string, edit func(*Method) error,
) (Method, error) {
	return audit.Change[Method]{Tenant: t, By: by, What: "payment.set", Subject: id,
		Key: Key(t, rider, id), Kind: &Kind, In: rider, Edit: edit,
		Shown: func(m Method) any { return audited(rider, m) },
		Check: func(was Method, now *Method) error {
			now.ID, now.CreatedAt = was.ID, was.CreatedAt
			if was.IsDefault && !now.IsDefault {
				return fault.InvalidState("Make another payment method the default instead.")
			}
			return now.normalize(by.At)
		},
		Also: func(ctx context.Context, tx *table.Tx, _, now Method) error {
			if !now.IsDefault {
				return nil
			}
			have, err := read(ctx, t, rider)
			have.lock(tx, t, rider)
			have.clearDefault(tx, id)
			return err
		}}.Run(ctx)
}

// The declaration of the items at headKey (table.Kind).
var _ = table.Kind[any]{Type: "payments", Personal: "nothing"}

// lock makes the transaction fail with table.ErrConflict if another transaction has added
// a payment method or changed the default since have was read.
func (have held) lock(tx *table.Tx, t table.Tenant, rider string) {
	audit.Put(tx, have.head, table.Item{Key: headKey(t, rider), Type: "payments", Version: 1})
}

// setDefault makes the payment method with the id the only default, in the transaction. It
// writes the items whose IsDefault changes.
func (have held) setDefault(tx *table.Tx, id string) {
	for _, it := range have.items {
		m, err := Kind.FromItem(it)
		if err != nil || m.IsDefault == (m.ID == id) {
			continue
		}
		m.IsDefault = m.ID == id
		audit.Put(tx, it, table.Item{Key: it.Key, Type: it.Type, Doc: m})
	}
}

// clearDefault clears IsDefault of all payment methods except the one with the id except,
// in the transaction.
func (have held) clearDefault(tx *table.Tx, except string) {
	others := have
	others.items = slices.DeleteFunc(slices.Clone(have.items), func(it table.Item) bool {
		return strings.HasSuffix(it.SK, "#"+except)
	})
	others.setDefault(tx, "")
}
