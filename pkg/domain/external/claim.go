package external

import (
	"context"

	"svc/pkg/base/fault"
	"svc/pkg/base/ids"
	"svc/pkg/data/table"
)

// Kind is a kind of record that has Members.
type Kind struct {
	Name string // in the key of a claim; those of riders and drivers are their audiences
	Key  func(t table.Tenant, id string) table.Key
}

var _ = table.Kind[any]{Type: "imported", Personal: "hash of a phone number or external identifier", Erasure: "deletes",
	Once: "leads to one record for good"}

// RowKey returns the key of the row that leads from a value to a record. It has a hash,
// because a key of the table must not show who is in it.
func RowKey(t table.Tenant, kind, member, value string) table.Key {
	return t.Key("IMPORTED", kind, member, ids.Hash(t.ID()+"\x00"+value), "IMPORTED")
}

// Row returns a row that leads to a record.
func Row(key table.Key, record string) table.Item {
	return table.Item{Key: key, Type: "imported", Attrs: map[string]any{"actor": record}}
}

// Claim returns the key of the row that claims an identifier for a record.
func (k Kind) Claim(t table.Tenant, external string) table.Key {
	return RowKey(t, k.Name, "externalId", external)
}

// Move adds to the transaction what frees the identifier that a record had and claims the
// one that it gets. Either may be "". The transaction must also write the record, on the
// condition that it has not changed. Errors: a 409 that names the record that has the
// identifier.
func (k Kind) Move(ctx context.Context, tx *table.Tx, t table.Tenant, record, was, now string) error {
	if was == now {
		return nil
	}
	rows, err := t.Batch(ctx, k.Claim(t, was), k.Claim(t, now))
	if err != nil {
		return err
	}
	if Free(tx, rows[0], record); now == "" {
		return nil
	}
	next, holder := Row(rows[1].Key, record), rows[1].Text("actor")
	if !rows[1].Found() {
		tx.Create(next).Else(table.ErrConflict)
		return nil
	}
	if holder != record {
		held, err := t.Get(ctx, k.Key(t, holder))
		if err != nil {
			return err
		}
		var doc struct {
			ErasedAt *string `json:"erasedAt"`
		}
		if held.Found() && (held.Decode(&doc) != nil || doc.ErasedAt == nil) {
			return taken(holder)
		}
	}
	tx.Put(next).If("'actor' = ?", holder).Else(table.ErrConflict)
	return nil
}

// Free deletes a row that was read, if it leads to the record.
func Free(tx *table.Tx, row table.Item, record string) {
	if row.Found() && row.Text("actor") == record {
		tx.Delete(row.Key).If("'actor' = ?", record).Else(table.ErrConflict)
	}
}

// Release frees the identifier of a record that is in no import of an older build: a trip
// or an order.
func (k Kind) Release(tx *table.Tx, t table.Tenant, record string, it table.Item) error {
	id, err := IDOf(it)
	if id != "" {
		tx.Delete(k.Claim(t, id)).If("attribute_not_exists(pk) OR 'actor' = ?", record).Else(table.ErrConflict)
	}
	return err
}

// IDOf returns the identifier that the item of a record has in another system, "" for none.
func IDOf(it table.Item) (string, error) {
	m, err := table.DecodeOr(it, Members{})
	return m.ExternalID, err
}

func taken(holder string) error {
	f := fault.InvalidState("%s has this externalId. Change that record, or choose another externalId.", holder)
	f.Details = []fault.Detail{{Field: "body.externalId", Message: holder}}
	return f
}
